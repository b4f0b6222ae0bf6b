from pathlib import Path

import pytest

from phpdyno.commands.init.found import Configuration, ServiceFound
from phpdyno.commands.init.reading.configurations import read_configuration
from phpdyno.commands.init.reading.layouts import find_layout
from tests.unit.commands.init.trees import LARAVEL, MAGENTO, TREES, WORDPRESS, plant

SERVICES = {
    "wordpress": [("db", "mariadb", "db.example:3307", "shop_wp", "wp")],
    "bedrock": [("db", "mariadb", "localhost", "shop", "wp")],
    "laravel": [
        ("db", "mariadb", "10.0.0.5", "shop", "shop"),
        ("cache", "redis", "redis.internal:6380", "", ""),
        ("mail", "smtp-sink", "smtp.example.org:587", "", ""),
    ],
    "symfony": [("db", "postgresql", "127.0.0.1:5433", "app", "app"), ("cache", "redis", "cache", "", "")],
    "drupal": [("db", "mariadb", "mariadb", "drupal", "drupal")],
    "magento": [
        ("db", "mariadb", "localhost", "magento", "magento"),
        ("cache", "redis", "127.0.0.1", "", ""),
        ("cache2", "redis", "127.0.0.1:6380", "", ""),
    ],
    "codeigniter": [("db", "mariadb", "localhost", "ci4", "root")],
    "yii-basic": [("db", "mariadb", "localhost", "yii2basic", "root")],
    "yii-advanced": [("db", "postgresql", "pg.internal:5433", "advanced", "yii")],
    "plain": [("db", "mariadb", "localhost", "shop", "shop")],
}


def configured(top: Path, files: dict[str, str]) -> Configuration:
    return read_configuration(find_layout(plant(top / "shop", files)), "shop")


def brief(each: ServiceFound) -> tuple[str, str, str, str, str]:
    return each.name, each.kind, each.at[0], each.database, each.user


@pytest.mark.parametrize("name", TREES)
def test_services_are_those_of_the_configuration(tmp_path: Path, name: str) -> None:
    assert [brief(each) for each in configured(tmp_path, TREES[name][0]).services] == SERVICES[name]


@pytest.mark.parametrize(
    ("name", "env", "host"),
    [
        ("wordpress", {}, "shop.example"),
        ("bedrock", {"WP_ENV": "production"}, "shop.example"),
        ("laravel", {"APP_ENV": "production", "APP_DEBUG": "false"}, "shop.example:8443"),
        ("symfony", {"APP_ENV": "prod", "APP_DEBUG": "0"}, ""),
        ("drupal", {}, "www.shop.example"),
        ("codeigniter", {"CI_ENVIRONMENT": "production"}, "shop.example"),
    ],
)
def test_what_is_set_beside_the_app_s_own_files(tmp_path: Path, name: str, env: dict[str, str], host: str) -> None:
    found = configured(tmp_path, TREES[name][0])
    assert (found.env, found.host) == (env, host)


def test_a_dump_lies_beside_the_root_and_the_command_names_everything_but_the_password(tmp_path: Path) -> None:
    (service,) = configured(tmp_path, WORDPRESS).services
    assert service.dump_file == tmp_path / "shop.sql.gz"
    assert service.made_by.partition(" ")[2] == (
        "--single-transaction --quick --no-tablespaces --host=db.example --port=3307 --user=wp --password shop_wp "
        f"| gzip > {tmp_path}/shop.sql.gz"
    )


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("localhost", "localhost"),
        ("localhost:/run/mysqld/mysqld.sock", "/run/mysqld/mysqld.sock"),
        (":/tmp/my.sock", "/tmp/my.sock"),
        ("p:10.0.0.1", "10.0.0.1"),
        ("db:3306", "db"),
        ("[2001:db8::1]:3307", "[2001:db8::1]:3307"),
        ("2001:db8::1", "[2001:db8::1]"),
    ],
)
def test_wordpress_has_many_ways_to_write_a_host(tmp_path: Path, written: str, at: str) -> None:
    config = WORDPRESS["wp-config.php"].replace("db.example:3307", written)
    (service,) = configured(tmp_path, {**WORDPRESS, "wp-config.php": config}).services
    assert service.at == (at,)


def test_constants_that_only_running_would_tell_are_said_to_be_unknown(tmp_path: Path) -> None:
    config = "<?php define('DB_NAME', getenv('DB')); define('DB_HOST', $_ENV['H']); require_once 'x.php';"
    found = configured(tmp_path, {**WORDPRESS, "wp-config.php": config})
    assert found.services == ()
    assert any("DB_NAME and DB_HOST" in each for each in found.remarks)


def test_an_address_of_the_site_comes_from_the_dump(tmp_path: Path) -> None:
    config = WORDPRESS["wp-config.php"].replace("define('WP_HOME', 'https://shop.example');", "")
    (tmp_path / "shop.sql").write_text("INSERT INTO `wp_options` VALUES (1,'siteurl','https://blog.example','yes');")
    assert configured(tmp_path, {**WORDPRESS, "wp-config.php": config}).host == "blog.example"


def test_an_object_cache_is_a_service(tmp_path: Path) -> None:
    config = WORDPRESS["wp-config.php"] + "define('WP_REDIS_HOST', 'redis'); define('WP_REDIS_PASSWORD', 'hunter2');"
    found = configured(tmp_path, {**WORDPRESS, "wp-config.php": config, "wp-content/object-cache.php": "<?php"})
    assert [brief(each)[:3] for each in found.services][1:] == [("cache", "redis", "redis")]
    assert found.secrets == {"WP_REDIS_PASSWORD": "hunter2"}


def test_a_cached_configuration_is_made_again_in_the_copy(tmp_path: Path) -> None:
    found = configured(tmp_path, {**LARAVEL, "bootstrap/cache/config.php": "<?php return [];"})
    assert found.prepare[1:] == ("artisan", "config:cache")
    assert configured(tmp_path / "other", LARAVEL).prepare == ()


def test_what_symfony_dumped_for_production_wins(tmp_path: Path) -> None:
    dumped = "<?php return ['APP_ENV' => 'prod', 'DATABASE_URL' => 'mysql://a:b@db/prod'];"
    found = configured(tmp_path, {**TREES["symfony"][0], ".env.local.php": dumped})
    assert [brief(each)[:4] for each in found.services] == [("db", "mariadb", "db", "prod")]
    assert found.env == {}


def test_sqlite_needs_no_service(tmp_path: Path) -> None:
    env = "APP_ENV=production\nDB_CONNECTION=sqlite\nDB_DATABASE=/srv/x.sqlite\nREDIS_HOST=127.0.0.1\n"
    assert configured(tmp_path, {**LARAVEL, ".env": env}).services == ()


def test_nothing_of_this_process_s_environment_goes_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_HOST", "leaked")
    env = LARAVEL[".env"].replace("10.0.0.5", "${SECRET_HOST}")
    assert all("leaked" not in each.at[0] for each in configured(tmp_path, {**LARAVEL, ".env": env}).services)


@pytest.mark.parametrize("text", ["", "<?php return [", "<?php return foo();", "\x00\xff", "<?php return ['db' => [['a', 'b' => ];"])
def test_a_broken_configuration_names_nothing(tmp_path: Path, text: str) -> None:
    assert configured(tmp_path, {**MAGENTO, "app/etc/env.php": text}).services == ()
