<?php
// Runs before each request of the pass that samples PHP functions (auto_prepend_file): starts php-excimer's sampling, and appends the stacks
// that it found to a file when the request ends. Its settings lie beside it: `into` (directory), `next` (the auto_prepend_file that the arm
// has without us, '' for none), `user_ini` (whether a .user.ini may name another one, as without us). The file `period` has the seconds from
// sample to sample, which change once requests have shown how long they take.
declare(strict_types=1);

final class PhpdynoProfile
{
    /** The script that is to run before the request without us; '' for none. */
    public static string $next = '';
    private static string $into = '';
    /** @var array<string, ExcimerProfiler> by clock */
    private static array $profilers = [];

    public static function start(array $settings): void
    {
        self::$into = $settings['into'];
        self::$next = $settings['user_ini'] ? self::ofUserIni($settings['next']) : $settings['next'];
        $period = (float) file_get_contents(__DIR__ . '/period');
        foreach (['wall' => EXCIMER_REAL, 'cpu' => EXCIMER_CPU] as $clock => $type) {
            $profiler = new ExcimerProfiler();
            $profiler->setEventType($type);
            $profiler->setPeriod($period);
            self::$profilers[$clock] = $profiler;
        }
        // Ours is called first of all; what it registers then comes after whatever the app registers.
        register_shutdown_function([self::class, 'ending']);
        foreach (self::$profilers as $profiler) {
            $profiler->start();
        }
    }

    public static function ending(): void
    {
        register_shutdown_function([self::class, 'end']);
    }

    public static function end(): void
    {
        foreach (self::$profilers as $clock => $profiler) {
            $profiler->stop();
        }
        foreach (self::$profilers as $clock => $profiler) {
            $log = $profiler->getLog();
            if (count($log) > 0) {
                file_put_contents(self::$into . "/$clock." . getmypid(), $log->formatCollapsed() . "\n", FILE_APPEND);
            }
        }
        self::$profilers = [];
    }

    /** What PHP would have taken from the .user.ini files between the document root and the script; the innermost counts. */
    private static function ofUserIni(string $otherwise): string
    {
        $name = (string) ini_get('user_ini.filename');
        $script = dirname((string) ($_SERVER['SCRIPT_FILENAME'] ?? ''));
        $root = rtrim((string) ($_SERVER['DOCUMENT_ROOT'] ?? ''), '/');
        if ($name === '' || $script === '.') {
            return $otherwise;
        }
        $places = [$script];
        while ($root !== '' && $script !== $root && strncmp("$script/", "$root/", strlen($root) + 1) === 0) {
            $script = dirname($script);
            $places[] = $script;
        }
        foreach ($places as $place) {
            $found = is_file("$place/$name") ? @parse_ini_file("$place/$name") : false;
            if (is_array($found) && isset($found['auto_prepend_file'])) {
                return (string) $found['auto_prepend_file'];
            }
        }
        return $otherwise;
    }
}

if (class_exists('ExcimerProfiler', false)) { // else PHP has said why it does not load it, which is read from its log
    PhpdynoProfile::start(require __DIR__ . '/settings.php');
}
if (PhpdynoProfile::$next !== '' && PhpdynoProfile::$next !== 'none') {
    require PhpdynoProfile::$next;
}
