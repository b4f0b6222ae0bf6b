<?php
// What the server block says, seen from PHP.
header('X-Front: 1');
$names = ['SHOP_TIER', 'SHOP_TONE', 'HTTPS', 'REQUEST_SCHEME', 'SERVER_NAME', 'SERVER_PORT', 'QUERY_STRING', 'PATH_INFO', 'DOCUMENT_ROOT'];
foreach ($names as $name) {
    echo $name, '=', str_replace(dirname(__DIR__), '', $_SERVER[$name] ?? '-'), "\n";
}
