<?php
// Facts of the worker that answers, as JSON. Asked for over FastCGI only: it lies outside every document root.
// The names of the environment variables to report come in QUERY_STRING: env[]=NAME.
declare(strict_types=1);

$ini = [];
foreach (ini_get_all(null, false) as $name => $value) {
    $ini[$name] = $value === null ? '' : (string) $value;
}
$env = [];
foreach ((array) ($_GET['env'] ?? []) as $name) {
    $value = getenv((string) $name);
    if ($value !== false) {
        $env[(string) $name] = $value;
    }
}
$status = function_exists('opcache_get_status') ? @opcache_get_status(false) : false;
$opcache = null;
if (is_array($status) && ($status['opcache_enabled'] ?? false)) {
    $jit = $status['jit'] ?? null;
    $opcache = [
        'hits' => $status['opcache_statistics']['hits'],
        'misses' => $status['opcache_statistics']['misses'],
        'scripts' => $status['opcache_statistics']['num_cached_scripts'],
        'used_bytes' => $status['memory_usage']['used_memory'],
        'free_bytes' => $status['memory_usage']['free_memory'],
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
header('Content-Type: application/json');
echo json_encode([
    'pid' => getmypid(),
    'php_version' => PHP_VERSION,
    'ini' => (object) $ini,
    'env' => (object) $env,
    'extensions' => get_loaded_extensions(),
    'realpath_cache_bytes' => realpath_cache_size(),
    'opcache' => $opcache,
], JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
