<?php
// Which php.ini settings are in force in a request of the app: before its first line, and after its last. A file that is prepended to one
// request (after measuring) calls what this returns with the names, and with the path that the answer is written to, as JSON.
declare(strict_types=1);

return static function (string $into, array $names, string $prepended): string {
    // Functions may be disabled, and classes hardly ever are.
    $value = static function (string $name): ?string {
        if ($name === 'error_reporting' && function_exists('error_reporting')) {
            return (string) error_reporting();
        }
        if (function_exists('ini_get')) {
            $found = ini_get($name);
            return $found === false ? null : (string) $found;
        }
        $prefix = strstr($name, '.', true);
        foreach (array_unique([...($prefix ? [$prefix, 'Zend OPcache'] : []), 'Core', 'standard', 'date', 'session', 'zlib']) as $extension) {
            try {
                $known = (new ReflectionExtension($extension))->getINIEntries();
            } catch (ReflectionException) {
                continue;
            }
            if (array_key_exists($name, $known)) {
                return (string) $known[$name];
            }
        }
        return null;
    };
    $values = static function () use ($names, $value): array {
        $found = [];
        foreach ($names as $name) {
            $one = $value($name);
            if ($one !== null) {
                $found[$name] = $one;
            }
        }
        return $found;
    };
    // The files of the directories from the document root down to the script's, as php-fpm reads them.
    $own = [];
    $file = (string) $value('user_ini.filename');
    $root = rtrim((string) ($_SERVER['DOCUMENT_ROOT'] ?? ''), '/');
    $place = dirname((string) ($_SERVER['SCRIPT_FILENAME'] ?? ''));
    if ($file !== '' && function_exists('parse_ini_file')) {
        $places = [$place];
        if ($root !== '' && strncmp("$place/", "$root/", strlen($root) + 1) === 0) {
            $places = [$root];
            foreach (array_filter(explode('/', substr($place, strlen($root)))) as $part) {
                $places[] = end($places) . "/$part";
            }
        }
        foreach ($places as $each) {
            foreach ((array) @parse_ini_file("$each/$file") as $name => $given) {
                if (is_scalar($given)) {
                    $own[$name] = ["$each/$file", (string) $given];
                }
            }
        }
    }
    $told = [
        'begun' => (object) $values(),
        'ended' => null,
        'user_ini' => (object) array_map(static fn(array $each): string => $each[0], array_intersect_key($own, array_flip($names))),
        'takes_gzip' => preg_match('/\bgzip\b/i', (string) ($_SERVER['HTTP_ACCEPT_ENCODING'] ?? '')) === 1,
        'session' => false,
    ];
    $write = static function () use ($into, &$told): void {
        $text = json_encode($told, JSON_INVALID_UTF8_SUBSTITUTE);
        if (function_exists('file_put_contents')) {
            @file_put_contents($into, $text);
        } else {
            (new SplFileObject($into, 'w'))->fwrite($text);
        }
    };
    $end = static function () use (&$told, $values, $write): void {
        $told['ended'] = (object) $values();
        // One that the app has closed again leaves its id.
        $told['session'] = function_exists('session_id') && session_id() !== '' && session_id() !== false;
        $write();
    };
    $write();
    if (function_exists('register_shutdown_function')) {
        // Behind what the app registers, and after exit() too.
        register_shutdown_function(static function () use ($end): void {
            register_shutdown_function($end);
        });
    } else {
        $GLOBALS['phpdyno_in_app'] = new class ($end) {
            public function __construct(private Closure $end)
            {
            }

            public function __destruct()
            {
                ($this->end)();
            }
        };
    }
    return $own['auto_prepend_file'][1] ?? $prepended;
};
