<?php
// Facts of the process that runs it. Asked for over FastCGI it prints them as JSON (it lies outside every document root), and the names of
// the environment variables to report come in QUERY_STRING: env[]=NAME (root=DIR: count the known files in it, list=1: and name the cached scripts). script_host.php includes it, names in $names, and takes what it returns.
declare(strict_types=1);

$ini = [];
foreach (ini_get_all(null, false) as $name => $value) {
    $ini[$name] = $value === null ? '' : (string) $value;
}
if (isset($ini['error_reporting'])) {
    $ini['error_reporting'] = (string) error_reporting(); // the number at work, whatever the text
}
$asked = PHP_SAPI === 'cli' ? $names : (array) ($_GET['env'] ?? []);
$env = [];
foreach ($asked as $name) {
    $value = getenv((string) $name);
    if ($value !== false) {
        $env[(string) $name] = $value;
    }
}
$status = function_exists('opcache_get_status') ? @opcache_get_status(false) : false;
$opcache = null;
if (is_array($status) && ($status['opcache_enabled'] ?? false)) {
    $jit = $status['jit'] ?? null;
    $strings = $status['interned_strings_usage'] ?? null; // absent without a buffer
    $opcache = [
        'hits' => $status['opcache_statistics']['hits'],
        'misses' => $status['opcache_statistics']['misses'],
        'scripts' => $status['opcache_statistics']['num_cached_scripts'],
        'used_bytes' => $status['memory_usage']['used_memory'],
        'free_bytes' => $status['memory_usage']['free_memory'],
        'wasted_bytes' => $status['memory_usage']['wasted_memory'],
        'keys' => $status['opcache_statistics']['num_cached_keys'],
        'most_keys' => $status['opcache_statistics']['max_cached_keys'],
        'strings_bytes' => $strings['buffer_size'] ?? 0,
        'strings_free_bytes' => $strings['free_memory'] ?? 0,
        'preloaded_scripts' => count($status['preload_statistics']['scripts'] ?? []),
        'restarts' => $status['opcache_statistics']['oom_restarts'] + $status['opcache_statistics']['hash_restarts']
            + $status['opcache_statistics']['manual_restarts'],
        'full' => $status['cache_full'],
        'jit' => $jit === null ? null : [
            'enabled' => $jit['enabled'],
            'on' => $jit['on'],
            'kind' => $jit['kind'],
            'buffer_size_bytes' => $jit['buffer_size'],
            'buffer_free_bytes' => $jit['buffer_free'],
        ],
    ];
}
$root = (string) ($_GET['root'] ?? '');
$served = [];
$listed = [];
if ($root !== '') {
    // Both caches: opcache may be off, and open_basedir switches the realpath cache off.
    $scripts = is_array($status) ? (@opcache_get_status(true)['scripts'] ?? []) : [];
    foreach ([$scripts, realpath_cache_get()] as $known) {
        foreach ($known as $path => $_) {
            if (strncmp((string) $path, $root . '/', strlen($root) + 1) === 0) {
                $served[$path] = true;
                if (isset($_GET['list'], $scripts[$path])) {
                    $listed[] = substr((string) $path, strlen($root) + 1);
                }
            }
        }
    }
}
// The heap has huge pages in the chunks of 2 MiB that a request takes, and may give them back when it ends: so they are looked at in a
// request that holds some.
$memory = '';
if (in_array('USE_ZEND_ALLOC_HUGE_PAGES', $asked, true)) {
    $held = [];
    while (count($held) < 96) {
        $held[] = str_repeat('x', 65000);
    }
    $memory = function_exists('file_get_contents') ? (string) @file_get_contents('/proc/self/smaps_rollup') : ''; // open_basedir may forbid it
}
$facts = [
    'pid' => getmypid(),
    'php_version' => PHP_VERSION,
    'ini' => (object) $ini,
    'env' => (object) $env,
    'extensions' => get_loaded_extensions(),
    'realpath_cache_bytes' => realpath_cache_size(),
    'ini_files' => [(string) php_ini_loaded_file(), ...array_map('trim', array_filter(explode(',', (string) php_ini_scanned_files())))],
    'served_files' => count($served),
    'memory' => $memory,
    'scripts' => array_values(array_unique($listed)),
    'opcache' => $opcache,
];
if (PHP_SAPI === 'cli') {
    return $facts;
}
header('Content-Type: application/json');
echo json_encode($facts, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
