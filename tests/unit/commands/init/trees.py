"""Small trees after the layouts of real frameworks."""

from pathlib import Path

WP_CONFIG = """<?php
/**
 * The base configuration. Don't edit what isn't yours.
 *
 * @package WordPress
 */
/** The name of the database for WordPress */
define( 'DB_NAME', 'shop_wp' );
define( "DB_USER", 'wp' );
define( 'DB_PASSWORD', 'hunter2\\'s' ); // DB_HOST below
define( 'DB_HOST', 'db.example:3307' );
define('WP_HOME', 'https://shop.example');
$table_prefix = 'wp_';
if ( ! defined( 'ABSPATH' ) ) { define( 'ABSPATH', __DIR__ . '/' ); }
require_once ABSPATH . 'wp-settings.php';
"""
WORDPRESS = {"index.php": "<?php", "wp-load.php": "<?php", "wp-includes/version.php": "<?php", "wp-config.php": WP_CONFIG}
BEDROCK = {
    "web/index.php": "<?php",
    "web/wp-config.php": "<?php require_once dirname(__DIR__) . '/vendor/autoload.php';",
    "web/wp/wp-load.php": "<?php",
    "web/wp/wp-includes/version.php": "<?php",
    "config/application.php": "<?php",
    "composer.json": "{}",
    ".env": "DB_NAME='shop'\nDB_USER='wp'\nDB_PASSWORD='hunter2'\nWP_ENV='development'\nWP_HOME='http://shop.example'\nWP_SITEURL=\"${WP_HOME}/wp\"\n",
}
LARAVEL = {
    "artisan": "#!/usr/bin/env php\n<?php",
    "composer.json": "{}",
    "bootstrap/app.php": "<?php",
    "public/index.php": "<?php require __DIR__.'/../vendor/autoload.php';",
    "vendor/autoload.php": "<?php",
    ".env": 'APP_NAME="The Shop"\nAPP_ENV=local\nAPP_KEY=base64:c2VjcmV0\nAPP_DEBUG=true\nAPP_URL=https://shop.example:8443\n\n'
    'DB_CONNECTION=mysql\nDB_HOST=10.0.0.5\nDB_PORT=3306\nDB_DATABASE=shop\nDB_USERNAME=shop\nDB_PASSWORD="hunter2 # not a comment"\n'
    "CACHE_STORE=redis\nREDIS_HOST=redis.internal\nREDIS_PASSWORD=hunter2\nREDIS_PORT=6380\n"
    'MAIL_MAILER=smtp\nMAIL_HOST=smtp.example.org\nMAIL_PORT=587\nMAIL_FROM_NAME="${APP_NAME}"\n',
}
SYMFONY = {
    "bin/console": "#!/usr/bin/env php",
    "symfony.lock": "{}",
    "composer.json": "{}",
    "config/bundles.php": "<?php return [];",
    "public/index.php": "<?php require_once dirname(__DIR__).'/vendor/autoload_runtime.php';",
    "vendor/autoload_runtime.php": "<?php",
    "vendor/autoload.php": "<?php",
    ".env": "APP_ENV=dev\nAPP_SECRET=\nDB_PW=hunter2\n"
    'DATABASE_URL="postgresql://app:${DB_PW}@127.0.0.1:5433/app?serverVersion=16&charset=utf8"\nMAILER_DSN=null://null\n',
    ".env.local": "REDIS_URL=redis://:hunter2@cache:6379/1\n",
}
DRUPAL = {
    "composer.json": "{}",
    "web/index.php": "<?php $autoloader = require_once 'autoload.php';",
    "web/autoload.php": "<?php return require __DIR__ . '/../vendor/autoload.php';",
    "web/core/lib/Drupal.php": "<?php",
    "vendor/autoload.php": "<?php",
    "web/sites/default/settings.php": "<?php\n$databases = [];\n$settings['hash_salt'] = 'hunter2';\n"
    "$databases['default']['default'] = array (\n  'database' => 'drupal',\n  'username' => 'drupal',\n  'password' => 'hunter2',\n"
    "  'prefix' => '',\n  'host' => 'mariadb',\n  'port' => '3306',\n  'isolation_level' => 'READ COMMITTED',\n"
    "  'driver' => 'mysql',\n  'namespace' => 'Drupal\\\\mysql\\\\Driver\\\\Database\\\\mysql',\n);\n"
    "$settings['trusted_host_patterns'] = ['^www\\.shop\\.example$'];\n"
    "if (file_exists($app_root . '/settings.local.php')) { include $app_root . '/settings.local.php'; }\n",
}
MAGENTO = {
    "bin/magento": "#!/usr/bin/env php",
    "composer.json": "{}",
    "app/bootstrap.php": "<?php",
    "pub/index.php": "<?php require __DIR__ . '/../app/bootstrap.php';",
    "app/etc/env.php": "<?php\nreturn [\n 'backend' => ['frontName' => 'admin_x'],\n 'crypt' => ['key' => 'hunter2'],\n"
    " 'db' => ['table_prefix' => '', 'connection' => ['default' => ['host' => 'localhost', 'dbname' => 'magento',\n"
    "  'username' => 'magento', 'password' => 'hunter2', 'active' => '1']]],\n 'MAGE_MODE' => 'default',\n"
    " 'session' => ['save' => 'redis', 'redis' => ['host' => '127.0.0.1', 'port' => '6379', 'password' => '', 'database' => '2']],\n"
    " 'cache' => ['frontend' => ['default' => ['backend' => 'Magento\\\\Framework\\\\Cache\\\\Backend\\\\Redis',\n"
    "  'backend_options' => ['server' => '127.0.0.1', 'port' => '6380']]]],\n];\n",
}
CODEIGNITER = {
    "spark": "#!/usr/bin/env php",
    "composer.json": "{}",
    "app/Config/Paths.php": "<?php",
    "public/index.php": "<?php define('FCPATH', __DIR__ . DIRECTORY_SEPARATOR); require FCPATH . '../app/Config/Paths.php';",
    ".env": "# CI_ENVIRONMENT = production\nCI_ENVIRONMENT = development\napp.baseURL = 'http://shop.example/'\n"
    "database.default.hostname = localhost\ndatabase.default.database = ci4\ndatabase.default.username = root\n"
    "database.default.password = hunter2\ndatabase.default.DBDriver = MySQLi\ndatabase.default.port = 3306\n",
}
YII_BASIC = {
    "yii": "#!/usr/bin/env php",
    "composer.json": "{}",
    "web/index.php": "<?php defined('YII_DEBUG') or define('YII_DEBUG', true); require __DIR__ . '/../vendor/autoload.php';",
    "vendor/autoload.php": "<?php",
    "config/db.php": "<?php\nreturn [\n 'class' => 'yii\\db\\Connection',\n 'dsn' => 'mysql:host=localhost;dbname=yii2basic',\n"
    " 'username' => 'root',\n 'password' => 'hunter2',\n 'charset' => 'utf8',\n];",
}
YII_ADVANCED = {
    "yii": "#!/usr/bin/env php",
    "composer.json": "{}",
    "frontend/web/index.php": "<?php require __DIR__ . '/../../vendor/autoload.php';",
    "vendor/autoload.php": "<?php",
    "common/config/main-local.php": "<?php\nreturn ['components' => ['db' => ['class' => \\yii\\db\\Connection::class,\n"
    " 'dsn' => 'pgsql:host=pg.internal;port=5433;dbname=advanced', 'username' => 'yii', 'password' => 'hunter2'],\n"
    " 'mailer' => ['class' => \\yii\\symfonymailer\\Mailer::class, 'useFileTransport' => true]]];",
}
PLAIN = {
    "index.php": "<?php require 'config/config.php'; echo 'x';",
    "config/config.php": "<?php // $dsn = 'mysql://no';\n$config['db'] = 'mysqli://shop:hunter2@localhost/shop';",
}

TREES: dict[str, tuple[dict[str, str], str, str]] = {
    "wordpress": (WORDPRESS, "WordPress", "."),
    "bedrock": (BEDROCK, "WordPress (Bedrock)", "web"),
    "laravel": (LARAVEL, "Laravel", "public"),
    "symfony": (SYMFONY, "Symfony", "public"),
    "drupal": (DRUPAL, "Drupal", "web"),
    "magento": (MAGENTO, "Magento 2", "pub"),
    "codeigniter": (CODEIGNITER, "CodeIgniter 4", "public"),
    "yii-basic": (YII_BASIC, "Yii 2", "web"),
    "yii-advanced": (YII_ADVANCED, "Yii 2", "frontend/web"),
    "plain": (PLAIN, "plain PHP", "."),
}
"""By a short name: files, what it is called, and its document root."""


def plant(top: Path, files: dict[str, str]) -> Path:
    """Write the files of a tree below a directory, and give that back."""
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top
