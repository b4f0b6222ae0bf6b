<?php
// The app's prepare command: everything that a request tries, and a mess that the run has to live with and to clear up.
declare(strict_types=1);

require __DIR__ . '/attempts.php';

echo "prepare is at work\n";
Hostile\tell(Hostile\everything(__DIR__, 'prepare'), \STDOUT, 'prepare');
Hostile\leave_a_mess(__DIR__);
