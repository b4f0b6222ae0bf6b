"""An arm as text."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.errors import UsageError
from phpdyno.server_files.fastcgi import http_request, nginx_params, request_params
from phpdyno.server_files.nginx import render_nginx
from phpdyno.server_files.php import STATUS_PATH, as_written, ini_value, render_fpm, render_ini, scan_path


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
    assert b"HTTPS" not in params
    assert params[b"SCRIPT_FILENAME"] == b"/srv/index.php"
    assert params[b"QUERY_STRING"] == b"b=c"
    assert params[b"HTTP_HOST"] == b"shop.test"
    assert not [value for value in params.values() if value.startswith(b"$")]


def test_http_request_is_complete() -> None:
    request = http_request(path="/a?b=c", host="shop.test")
    assert request.startswith(b"GET /a?b=c HTTP/1.1\r\nHost: shop.test\r\n")
    assert request.endswith(b"\r\n\r\n")


POST: dict[str, Any] = {
    "path": "/login?next=%2F",
    "host": "shop.test",
    "method": "POST",
    "headers": {"X-Api": "1", "Cookie": "sid=1; a=b"},
    "body": b"user=ada",
}


def test_a_request_with_a_body() -> None:
    assert http_request(**POST) == (
        b"POST /login?next=%2F HTTP/1.1\r\nHost: shop.test\r\nUser-Agent: phpdyno\r\nAccept: */*\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nX-Api: 1\r\nCookie: sid=1; a=b\r\nContent-Length: 8\r\n\r\nuser=ada"
    )


def test_the_same_request_as_parameters() -> None:
    params = dict(request_params(docroot=Path("/srv"), script="/index.php", **POST))
    assert params[b"REQUEST_METHOD"] == b"POST"
    assert params[b"CONTENT_TYPE"] == params[b"HTTP_CONTENT_TYPE"] == b"application/x-www-form-urlencoded"
    assert params[b"CONTENT_LENGTH"] == params[b"HTTP_CONTENT_LENGTH"] == b"8"
    assert (params[b"HTTP_COOKIE"], params[b"HTTP_X_API"], params[b"QUERY_STRING"]) == (b"sid=1; a=b", b"1", b"next=%2F")


def test_a_header_of_the_target_wins_over_ours_whatever_its_case() -> None:
    headers = {"user-agent": "curl", "content-type": "application/json"}
    request = http_request(path="/", host="h", method="PUT", headers=headers, body=b"{}")
    assert b"user-agent: curl\r\n" in request
    assert b"content-type: application/json\r\n" in request
    assert b"phpdyno" not in request
    assert b"urlencoded" not in request
    params = dict(request_params(path="/", host="h", docroot=Path("/srv"), script="/i.php", method="PUT", headers=headers, body=b"{}"))
    assert params[b"CONTENT_TYPE"] == b"application/json"


def test_an_empty_body_is_said_and_none_is_not() -> None:
    assert http_request(path="/", host="h", method="POST", body=b"").endswith(b"Accept: */*\r\nContent-Length: 0\r\n\r\n")
    assert b"Content-Length" not in http_request(path="/", host="h", method="HEAD")
    assert dict(request_params(path="/", host="h", docroot=Path("/"), script="/i.php"))[b"CONTENT_LENGTH"] == b""


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
    for part in (
        "listen 127.0.0.1:8080;",
        "fastcgi_pass unix:/run/x.sock;",
        'root "/srv";',
        r"location ~ \.php(/|$)",
        "worker_processes 1;",
    ):
        assert part in text
    assert "client_body_buffer_size 1m;" in text


def nginx_with(fastcgi: str = "unix:/run/x.sock", **web: str) -> list[str]:
    text = render_nginx(
        listen="127.0.0.1:8080",
        fastcgi=fastcgi,
        docroot=Path("/srv"),
        front_controller="index.php",
        prefix=Path("/live/n"),
        marker="t0ken",
        web=web,
    )
    return [line.strip() for line in text.splitlines()]


def test_nginx_keeps_no_connection_and_no_log_unless_an_arm_says_so() -> None:
    lines = nginx_with()
    assert "access_log off;" in lines
    assert "fastcgi_pass unix:/run/x.sock;" in lines
    assert not [line for line in lines if "upstream" in line or "keep_conn" in line or "buffers" in line]
    assert nginx_with(fastcgi_keepalive="0", access_log="off") == lines


def test_nginx_keeps_connections_to_the_pool() -> None:
    for address in ("unix:/run/x.sock", "127.0.0.1:9000"):
        lines = nginx_with(address, fastcgi_keepalive="3")
        assert f"upstream phpdyno {{ server {address}; keepalive 3; }}" in lines
        assert lines.index("fastcgi_keep_conn on;") == lines.index("fastcgi_pass phpdyno;") + 1


def test_nginx_buffers_and_access_log() -> None:
    lines = nginx_with(fastcgi_buffers=" 16 16k", fastcgi_buffer_size="16k", access_log="On")
    for line in ("fastcgi_buffers 16 16k;", "fastcgi_buffer_size 16k;", "access_log /live/n/access.log combined;"):
        assert line in lines
    assert "access_log /live/n/access.log combined buffer=64k flush=5s;" in nginx_with(access_log="buffered")


def test_a_value_of_a_running_pool_is_a_text_whatever_it_looks_like() -> None:
    rendered = render_fpm("/s", {"php_value[a]": "None", "php_value[b]": "on"}, {"php_value[a]"})
    assert "php_value[a] = 'None'\nphp_value[b] = on\n" in rendered
    assert render_ini({"a": "off", "b": "off"}, texts={"a"}) == "a = 'off'\nb = off\n"


def test_the_value_of_an_arm_is_a_text_even_where_it_could_name_a_constant() -> None:
    assert render_ini({"a": "E_ALL", "b": "Lax", "c": "UTF-8", "d": "128M"}) == "a = 'E_ALL'\nb = 'Lax'\nc = UTF-8\nd = 128M\n"
    assert ini_value('"None"') == '"None"', "a quoted keyword is a text"
    assert ini_value('"a b"') == "'\"a b\"'", "any other quotation marks are part of the value"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("E_ALL & ~E_NOTICE", "E_ALL & ~E_NOTICE"),
        ("E_ALL", "E_ALL"),
        ('"a;b"', '"a;b"'),
        ("${HOME}/x", "${HOME}/x"),
        ("128M", "128M"),
        ("On", "On"),
        ("", "''"),
        ("a=href,area=href", "'a=href,area=href'"),
        ("{db_socket}", "{db_socket}"),
    ],
)
def test_php_ini_text_is_left_to_the_parser_of_php(text: str, written: str) -> None:
    assert as_written(text) == written


def test_spare_workers_of_no_number() -> None:
    with pytest.raises(UsageError, match=r"pool\.pm\.max_children is no number"):
        render_fpm("/s", {"pm": "dynamic", "pm.max_children": ""})


def test_a_status_page_is_rendered_only_where_it_is_asked_for() -> None:
    assert "status" not in render_fpm("/s", {})
    own = render_fpm("/s", {"pm.status_path": "/theirs"}, status="/run/status.sock")
    assert f"pm.status_listen = /run/status.sock\npm.status_path = {STATUS_PATH}\n" in own
    assert "/theirs" not in own
    assert "status_listen" not in render_fpm("/s", {}, status="")
    assert f"pm.status_path = {STATUS_PATH}\n" in render_fpm("/s", {}, status="")
