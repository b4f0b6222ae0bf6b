<?php
/* Fills the cache of one mode, so that no request writes to it: php warm.php APP (APP_DEBUG=1 for the debug mode's) */

declare(strict_types=1);

require ($argv[1] ?? '.') . '/autoload.php';

$debug = getenv('APP_DEBUG') === '1';
$kernel = new App\Kernel('prod', $debug);
$kernel->boot();
$warmer = $kernel->getContainer()->get('cache_warmer');
$warmer->enableOptionalWarmers();
$warmer->warmUp($kernel->getCacheDir());
echo 'warmed ', $kernel->getCacheDir(), "\n";
