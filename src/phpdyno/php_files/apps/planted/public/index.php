<?php
/* The `planted` app: nothing but the spin, and an answer that does not depend on it. */

declare(strict_types=1);

require __DIR__ . '/spin.php';

header('Content-Type: text/plain; charset=UTF-8');
echo "planted\n";
