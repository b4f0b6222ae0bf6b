<?php
/* Renders one page as a visitor would get it, so that what WordPress writes on a first visit is written: php visit.php DOCROOT PATH */

declare(strict_types=1);

[, $docroot, $path] = $argv + ['', '', '/'];
if (!is_file("$docroot/wp-blog-header.php")) {
    fwrite(STDERR, "usage: php visit.php DOCROOT PATH (no WordPress in '$docroot')\n");
    exit(2);
}
parse_str((string) parse_url($path, PHP_URL_QUERY), $_GET);
$_REQUEST = $_GET;
$_SERVER = [
    'HTTP_HOST' => 'localhost',
    'SERVER_NAME' => 'localhost',
    'SERVER_PORT' => '80',
    'SERVER_PROTOCOL' => 'HTTP/1.1',
    'REQUEST_METHOD' => 'GET',
    'REQUEST_URI' => $path,
    'QUERY_STRING' => (string) parse_url($path, PHP_URL_QUERY),
    'SCRIPT_NAME' => '/index.php',
    'PHP_SELF' => '/index.php',
    'SCRIPT_FILENAME' => "$docroot/index.php",
    'DOCUMENT_ROOT' => $docroot,
    'REMOTE_ADDR' => '127.0.0.1',
] + $_SERVER;

register_shutdown_function(static function () use ($path): void {
    $length = ob_get_length();
    while (ob_get_level() > 0) {
        ob_end_clean();
    }
    $status = http_response_code() ?: 200; // the command line has none until one is set
    echo "$path: status $status, $length bytes\n";
    if ($status !== 200 || $length < 1000) {
        exit(1);
    }
});
ob_start();
chdir($docroot);
require "$docroot/index.php";
