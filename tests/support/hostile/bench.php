<?php
// The same as a script that is measured: its first operation tries everything, later ones hash.
declare(strict_types=1);

require __DIR__ . '/attempts.php';

return static function (): string {
    static $tried = false;
    if (!$tried) {
        $tried = true;
        Hostile\tell(Hostile\everything(__DIR__, 'script'), \fopen('php://stderr', 'w'), 'script');
    }
    return \hash('sha256', \str_repeat('x', 50_000));
};
