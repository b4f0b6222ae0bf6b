"""httpd.conf of an arm as text."""

from pathlib import Path

import pytest

from phpdyno.errors import UsageError
from phpdyno.model.arm import APACHE, Arm, PhpBuild
from phpdyno.server_files.apache import check_apache, ini_at_start, is_apache, of_both_kinds, processes_of, render_apache

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36")


def rendered(
    pool: dict[str, str] | None = None,
    *,
    docroot: Path = Path("/srv/shop"),
    variables: tuple[str, ...] = (),
    front_controller: str = "index.php",
) -> list[str]:
    text = render_apache(
        listen="127.0.0.1:8080",
        modules=Path("/usr/lib/apache2/modules"),
        mod_php=Path("/usr/lib/apache2/modules/libphp8.2.so"),
        php_ini="/etc/php/8.2/fpm/php.ini",
        docroot=docroot,
        front_controller=front_controller,
        run=Path("/live/i1/run"),
        probe_path="/.phpdyno/t0ken.php",
        probe=Path("/live/probe/probe.php"),
        pool=pool or {},
        variables=variables,
    )
    return text.splitlines()


def test_php_runs_in_prefork_processes_and_reads_the_ini_that_is_named() -> None:
    lines = rendered()
    for line in (
        'LoadModule mpm_prefork_module "/usr/lib/apache2/modules/mod_mpm_prefork.so"',
        'LoadModule php_module "/usr/lib/apache2/modules/libphp8.2.so"',
        'PHPIniDir "/etc/php/8.2/fpm/php.ini"',
        'PidFile "/live/i1/run/apache.pid"',
        'DefaultRuntimeDir "/live/i1/run"',
        "Listen 127.0.0.1:8080",
        "ListenBacklog 511",
        'DocumentRoot "/srv/shop"',
        "DirectoryIndex index.php index.html",
        "    FallbackResource /index.php",
        "    CGIPassAuth On",
        "AllowEncodedSlashes On",
        'Alias "/.phpdyno/t0ken.php" "/live/probe/probe.php"',
        "    SetHandler application/x-httpd-php",
    ):
        assert line in lines, line
    assert not any(line.startswith(("CustomLog", "TransferLog", "User ", "Group ")) for line in lines)


@pytest.mark.parametrize(
    ("pool", "processes"),
    [
        ({}, (1, 1, 1, 1)),
        ({"pm": "static", "pm.max_children": "5"}, (5, 5, 5, 5)),
        ({"pm": "dynamic", "pm.max_children": "5"}, (5, 2, 1, 3)),
        ({"pm": "dynamic", "pm.max_children": "300", "pm.start_servers": "7", "pm.max_spare_servers": "9"}, (300, 7, 1, 9)),
    ],
)
def test_a_worker_of_the_pool_is_a_process(pool: dict[str, str], processes: tuple[int, ...]) -> None:
    lines = rendered(pool)
    most, start, least, spare = processes
    for line in (f"ServerLimit {most}", f"MaxRequestWorkers {most}", f"StartServers {start}"):
        assert line in lines
    assert {f"MinSpareServers {least}", f"MaxSpareServers {spare}", "MaxConnectionsPerChild 0"} <= set(lines)


def test_the_pools_own_php_settings_and_the_environment() -> None:
    lines = rendered(
        {
            "php_admin_value[memory_limit]": "64M",
            "php_value[mail.x]": 'say "hi" \\',
            "php_flag[display_errors]": "yes",
            "php_admin_flag[log_errors]": "off",
            "listen.backlog": "64",
        },
        variables=("APP_DEBUG", "DSN"),
    )
    for line in (
        'php_admin_value memory_limit "64M"',
        'php_value mail.x "say \\"hi\\" \\\\"',
        "php_flag display_errors On",
        "php_admin_flag log_errors Off",
        "ListenBacklog 64",
        'PassEnv "APP_DEBUG"',
        'PassEnv "DSN"',
    ):
        assert line in lines, line


def test_a_front_controller_is_a_url_path() -> None:
    lines = rendered(front_controller="my app/front page.php")
    assert "DirectoryIndex my%20app/front%20page.php index.html" in lines
    assert "    FallbackResource /my%20app/front%20page.php" in lines


def test_an_empty_setting_is_none_to_apache_and_none_belongs_into_php_ini() -> None:
    """Apache refuses an empty argument; `none` is mod_php's word for one, so a cookie's
    SameSite=None would be lost."""
    pool = {
        "php_admin_value[open_basedir]": "",
        "php_value[session.cookie_samesite]": "None",
        "php_admin_value[disable_functions]": "exec,passthru",
        "php_admin_flag[log_errors]": "none",
    }
    assert ini_at_start(pool) == {"session.cookie_samesite": "None", "disable_functions": "exec,passthru"}
    own = [line for line in rendered(pool) if line.startswith("php_")]
    assert own == ["php_admin_flag log_errors Off", "php_admin_value open_basedir none"]


@pytest.mark.parametrize(("backlog", "rendered_as"), [("64", "64"), ("-1", "65535")])
def test_a_backlog_without_end(backlog: str, rendered_as: str) -> None:
    assert f"ListenBacklog {rendered_as}" in rendered({"listen.backlog": backlog})


@pytest.mark.parametrize(
    ("pool", "sure"),
    [
        ({}, 1),
        ({"pm.max_children": "5"}, 5),
        ({"pm": "dynamic", "pm.max_children": "5"}, 2),
        ({"pm": "dynamic", "pm.max_children": "9", "pm.start_servers": "6", "pm.max_spare_servers": "4"}, 4),
    ],
)
def test_processes_that_are_there_at_any_moment(pool: dict[str, str], sure: int) -> None:
    assert processes_of(pool).sure == sure


@pytest.mark.parametrize("docroot", ["/srv/${HOME}", "/srv/a\nInclude /etc/passwd"])
def test_what_a_configuration_cannot_hold(docroot: str) -> None:
    with pytest.raises(UsageError, match="cannot hold"):
        rendered(docroot=Path(docroot))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"web.socket": "tcp"}, "web.socket=tcp means nothing to Apache"),
        ({"web.workers": "2"}, "set pool.pm.max_children"),
        ({"web.fastcgi_keepalive": "2"}, "PHP runs in the web server itself"),
        ({"web.fastcgi_buffers": "16 16k"}, "PHP runs in the web server itself"),
        ({"web.access_log": "on"}, "our Apache writes none"),
        ({"pool.pm": "ondemand"}, "use static or dynamic"),
        ({"pool.pm.max_requests": "500"}, "Apache counts connections"),
        ({"pool.pm.process_idle_timeout": "10s"}, "leave it out"),
        ({"pool.php_admin_value[a b]": "1"}, "php_admin_value"),
        ({"pool.php_admin_value[extension]": "redis"}, "load it with ext.NAME=PATH"),
        ({"pool.listen.backlog": "0"}, "at least 1"),
    ],
)
def test_settings_that_mean_nothing_to_apache(settings: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match="mine: ") as caught:
        check_apache(settings, settings, where="mine")
    assert says in str(caught.value)


def test_what_a_pool_brought_along_does_not_matter() -> None:
    check_apache({"web.socket": "unix", "pool.pm": "dynamic", "pool.pm.max_requests": "0"}, {"web.server": APACHE}, where="mine")


@pytest.mark.parametrize(("settings", "is_one"), [({}, False), ({"web.server": "nginx"}, False), ({"web.server": "Apache-mod_php "}, True)])
def test_who_serves_an_arm(settings: dict[str, str], is_one: bool) -> None:
    assert is_apache(Arm("mine", PHP, settings)) is is_one


def test_servers_of_both_kinds() -> None:
    nginx, apache = Arm("one", PHP), Arm("two", PHP, {"web.server": APACHE})
    assert of_both_kinds([nginx, apache, nginx])
    assert not of_both_kinds([nginx, nginx])
    assert not of_both_kinds([apache])
