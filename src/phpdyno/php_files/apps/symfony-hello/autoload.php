<?php
/* Debian's packages bring their own class maps, one for each component; vendor/ is their /usr/share/php. */

declare(strict_types=1);

foreach (['Symfony/Bundle/FrameworkBundle', 'Symfony/Bundle/TwigBundle'] as $package) {
    require_once __DIR__ . "/vendor/$package/autoload.php";
}
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'App\\') && is_file($file = __DIR__ . '/src/' . strtr(substr($class, 4), '\\', '/') . '.php')) {
        require $file;
    }
});
