<?php
/* Leaves nothing for a measured request to write: php settle.php DOCROOT

   The theme's global styles are cached in transients of one minute, so once a minute one request, of whichever arm comes by, would
   compute them anew and write them into the database. Without an expiry they stay. */

declare(strict_types=1);

$docroot = $argv[1] ?? '';
$_SERVER['HTTP_HOST'] = 'localhost';
$_SERVER['REQUEST_URI'] = '/';
require "$docroot/wp-load.php";

$prefix = '_transient_timeout_';
$names = $wpdb->get_col("SELECT option_name FROM $wpdb->options WHERE option_name LIKE '\\_transient\\_timeout\\_%'");
foreach ($names as $option) {
    $name = substr($option, strlen($prefix));
    $value = get_option("_transient_$name");
    delete_transient($name);
    set_transient($name, $value, 0);
}
$wpdb->query("UPDATE $wpdb->posts SET post_date = '2024-03-01 08:00:00', post_date_gmt = '2024-03-01 08:00:00',
    post_modified = '2024-03-01 08:00:00', post_modified_gmt = '2024-03-01 08:00:00' WHERE post_type = 'page'");
echo count($names), " transients kept\n";
