<?php

declare(strict_types=1);

// Works with Composer's autoloader and without it. The variables name the autoloaders of optional libraries.
if (is_file(__DIR__ . '/../vendor/autoload.php')) {
    require __DIR__ . '/../vendor/autoload.php';
}
spl_autoload_register(static function (string $class): void {
    $roots = ['Phpdyno\\Tarantool\\Tests\\' => __DIR__ . '/', 'Phpdyno\\Tarantool\\' => __DIR__ . '/../src/'];
    foreach ($roots as $prefix => $directory) {
        $file = $directory . str_replace('\\', '/', substr($class, strlen($prefix))) . '.php';
        if (str_starts_with($class, $prefix) && is_file($file)) {
            require $file;

            return;
        }
    }
});
foreach (['TARANTOOL_PHP_CLIENT', 'REVOLT', 'PSR_LOG'] as $variable) {
    $autoloader = getenv($variable);
    if ($autoloader !== false && is_file($autoloader)) {
        require_once $autoloader;
    }
}
