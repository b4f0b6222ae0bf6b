<?php
/* phpdyno's copy of WordPress: private database (any user is let in), nothing runs on its own, nothing leaves the machine. */

define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost'); // with mysqli.default_socket this is our own socket, never the host's database
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');

/* Equal to the Host header of every request: canonical redirects would otherwise answer 301. */
define('WP_HOME', 'http://localhost');
define('WP_SITEURL', 'http://localhost');

define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_AUTO_UPDATE_CORE', false);
define('DISALLOW_FILE_MODS', true);

/* app.debug: what is found goes to PHP's log, so that the page stays the same. */
define('WP_DEBUG', getenv('WP_DEBUG') === '1');
define('WP_DEBUG_DISPLAY', false);

/* Fixed, because nobody logs in here, and so that two arms make equal nonces within one tick. */
define('AUTH_KEY', 'phpdyno-auth-key');
define('SECURE_AUTH_KEY', 'phpdyno-secure-auth-key');
define('LOGGED_IN_KEY', 'phpdyno-logged-in-key');
define('NONCE_KEY', 'phpdyno-nonce-key');
define('AUTH_SALT', 'phpdyno-auth-salt');
define('SECURE_AUTH_SALT', 'phpdyno-secure-auth-salt');
define('LOGGED_IN_SALT', 'phpdyno-logged-in-salt');
define('NONCE_SALT', 'phpdyno-nonce-salt');

$table_prefix = 'wp_';

if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
