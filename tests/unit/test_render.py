"""An arm as text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.errors import UsageError
from phpdyno.render.fastcgi import http_request, nginx_params, request_params
from phpdyno.render.nginx import render_nginx
from phpdyno.render.php import ini_value, render_fpm, render_ini, scan_path


def test_plain_values_stay_bare_and_others_are_quoted() -> None:
    assert ini_value("on") == "on"
    assert ini_value("64M") == "64M"
    assert ini_value("/a/b-c.d") == "/a/b-c.d"
    assert ini_value("E_ALL & ~E_NOTICE") == "'E_ALL & ~E_NOTICE'"
    assert ini_value("${HOME}") == "'${HOME}'"
    assert ini_value('it\'s \\ "x"') == '"it\'s \\\\ \\"x\\""'
    assert ini_value("") == "''"


@given(st.text(st.characters(blacklist_categories=("Cc", "Cs"))))
def test_a_value_never_escapes_its_quotes(value: str) -> None:
    rendered = ini_value(value)
    if rendered.startswith('"'):
        inner = rendered[1:-1].replace("\\\\", "").replace('\\"', "")
        assert '"' not in inner
        assert not inner.endswith("\\")
    elif rendered.startswith("'"):
        assert "'" not in rendered[1:-1]


def test_ini_is_sorted_and_carries_the_extension_directory() -> None:
    assert render_ini({"b": "2", "a": "1"}, "/ext") == "a = 1\nb = 2\nextension_dir = /ext\n"


def test_our_fragment_is_scanned_after_the_distributions() -> None:
    assert scan_path(Path("/live/ini")) == ":/live/ini"
    assert scan_path(Path("/live/ini"), "/opt/conf.d") == "/opt/conf.d:/live/ini"


def test_extensions_are_loaded_in_their_own_order_and_before_what_sets_them() -> None:
    assert render_ini({"a": "1"}, None, ["extension = /z.so", "extension = /b.so"]) == "extension = /z.so\nextension = /b.so\na = 1\n"


def test_a_php_value_of_the_pool_is_quoted_and_its_own_words_are_not() -> None:
    text = render_fpm("/run/x.sock", {"php_admin_value[mail.x]": "a;b", "php_flag[display_errors]": "1", "pm.process_idle_timeout": "10s"})
    for line in ("php_admin_value[mail.x] = 'a;b'", "php_flag[display_errors] = 1", "pm.process_idle_timeout = 10s"):
        assert line in text.splitlines()


def test_a_dynamic_pool_gets_the_spares_that_php_fpm_insists_on() -> None:
    text = render_fpm("/run/x.sock", {"pm": "dynamic", "pm.max_children": "5"})
    for line in ("listen = /run/x.sock", "pm.start_servers = 2", "pm.min_spare_servers = 1", "pm.max_spare_servers = 3"):
        assert line in text
    assert "start_servers" not in render_fpm("/run/x.sock", {})


def test_our_client_sends_every_parameter_that_nginx_sends() -> None:
    params = dict(request_params(path="/a?b=c", host="shop.test", docroot=Path("/srv"), script="/index.php"))
    assert {name.encode() for name, _ in nginx_params()} <= params.keys()
    assert params[b"SCRIPT_FILENAME"] == b"/srv/index.php"
    assert params[b"QUERY_STRING"] == b"b=c"
    assert params[b"HTTP_HOST"] == b"shop.test"
    assert not [value for value in params.values() if value.startswith(b"$")]


def test_http_request_is_complete() -> None:
    request = http_request(path="/a?b=c", host="shop.test")
    assert request.startswith(b"GET /a?b=c HTTP/1.1\r\nHost: shop.test\r\n")
    assert request.endswith(b"\r\n\r\n")


def test_nginx_serves_the_docroot_through_the_pool() -> None:
    text = render_nginx(
        listen="127.0.0.1:8080",
        fastcgi="unix:/run/x.sock",
        docroot=Path("/srv"),
        front_controller="index.php",
        prefix=Path("/live/n"),
        marker="t0ken",
        web={},
    )
    for part in ("listen 127.0.0.1:8080;", "fastcgi_pass unix:/run/x.sock;", 'root "/srv";', r"location ~ \.php$", "worker_processes 1;"):
        assert part in text


def test_a_value_of_a_running_pool_is_a_text_whatever_it_looks_like() -> None:
    rendered = render_fpm("/s", {"php_value[a]": "None", "php_value[b]": "on"}, {"php_value[a]"})
    assert "php_value[a] = 'None'\nphp_value[b] = on\n" in rendered
    assert render_ini({"a": "E_ALL", "b": "E_ALL"}, texts={"a"}) == "a = 'E_ALL'\nb = E_ALL\n"


def test_spare_workers_of_no_number() -> None:
    with pytest.raises(UsageError, match=r"pool\.pm\.max_children is no number"):
        render_fpm("/s", {"pm": "dynamic", "pm.max_children": ""})
