"""A server block of production, made fit for our nginx."""

from pathlib import Path

import pytest

from phpdyno.config.nginx_conf import read_nginx
from phpdyno.errors import UsageError
from phpdyno.model.nginx import NginxSite
from phpdyno.server_files.nginx import render_nginx
from phpdyno.server_files.nginx_site import fit, text_of

PHP = "location ~ \\.php$ { fastcgi_pass unix:/run/php/a.sock; }"


def site_of(tmp_path: Path, text: str, *, host: str = "localhost", pool: str = "", docroot: str = "/srv/shop/public") -> NginxSite:
    path = tmp_path / "site.conf"
    path.write_text(text)
    return fit(read_nginx(path, base=tmp_path), str(path), root=Path("/srv/shop"), docroot=Path(docroot), host=host, pool=pool)


def rendered(site: NginxSite, **web: str) -> str:
    return render_nginx(
        listen="127.0.0.1:8080",
        fastcgi="unix:/run/x.sock",
        docroot=Path("/live/app/public"),
        front_controller="index.php",
        prefix=Path("/live/n"),
        marker="t0ken",
        web=web,
        scheme="https",
        site=site,
        root=Path("/live/app"),
        host="shop.example",
    )


def test_places_of_the_site_are_those_of_the_run(tmp_path: Path) -> None:
    text = f"""server {{ root /var/www/shop/public; {PHP}
      location /a/ {{ alias /var/www/shop/storage/; }} location /b/ {{ root /srv/shop/other; }}
      location /c/ {{ root /var/www/shop/public/c; }}
      location /d/ {{ alias /mnt/nfs/; }} fastcgi_param SCRIPT_FILENAME /var/www/shop/public$fastcgi_script_name; }}"""
    site = site_of(tmp_path, text)
    conf = rendered(site)
    for line in (
        "root /live/app/public;",
        "alias /live/app/storage/;",
        "root /live/app/other;",
        "root /live/app/public/c;",
        "fastcgi_param SCRIPT_FILENAME /live/app/public$fastcgi_script_name;",
        "fastcgi_pass unix:/run/x.sock;",
        "server_name t0ken.phpdyno.invalid;",
    ):
        assert line in conf, line
    assert "/mnt/nfs" not in conf
    assert "left out: alias (/mnt/nfs/ lies outside the app's root)" in site.notes


def test_variables_of_how_the_client_came_say_what_the_app_is_to_believe(tmp_path: Path) -> None:
    site = site_of(
        tmp_path,
        f"map $scheme $front {{ https on; }}\nserver {{ {PHP} if ($scheme = http) {{ return 301 https://$host; }} "
        "set $https_only $https; fastcgi_param P $server_port; add_header S ${scheme}s; }",
    )
    conf = rendered(site)
    for line in ("map $phpdyno_scheme $front", "if ($phpdyno_scheme = http)", "set $https_only $phpdyno_https;", "P $phpdyno_server_port;"):
        assert line in conf, line
    assert "${phpdyno_scheme}s" in conf
    assert 'map "" $phpdyno_scheme { default "https"; }' in conf


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("access_log /x; error_log /y;", "left out: access_log, error_log (web.access_log says what is logged)"),
        ("ssl_certificate /x; http2 on;", "left out: ssl_certificate, http2 (nothing of ours is encrypted)"),
        ("limit_req zone=a; limit_conn b 1;", "left out: limit_req, limit_conn (it would limit the load)"),
        ("fastcgi_cache a; fastcgi_cache_valid 1m;", "left out: fastcgi_cache, fastcgi_cache_valid (it would answer in the place of PHP)"),
        ("auth_basic x; auth_basic_user_file /y;", "left out: auth_basic, auth_basic_user_file (nobody is asked for a password)"),
        ("proxy_set_header a b;", "left out: proxy_set_header (no other server is asked)"),
        ("geoip_country /x;", "left out: geoip_country (it needs a module that our nginx does not load)"),
        ("more_set_headers 'a: b';", "left out: more_set_headers (our nginx does not know it)"),
        ("location /x { proxy_pass http://b; }", "location /x answers 502: proxy_pass http://b leads elsewhere"),
        ("location = /y { content_by_lua_block { ngx.say(1) } }", "location = /y answers 502: content_by_lua_block leads elsewhere"),
        ("keepalive_timeout 5;", "left out: keepalive_timeout (it belongs to the whole server)"),
    ],
)
def test_what_cannot_be_had_is_told(tmp_path: Path, text: str, note: str) -> None:
    site = site_of(tmp_path, f"server {{ {text} {PHP} gzip on; }}")
    assert any(each.startswith(note) or each == note for each in site.notes), site.notes
    conf = rendered(site)
    assert "gzip on;" in conf
    assert text.split(maxsplit=1)[0] == "location" or text.split(maxsplit=1)[0] not in text_of(site.server)
    assert "return 502;" in conf or text.split(maxsplit=1)[0] != "location"


def test_of_two_blocks_of_one_site_the_one_with_tls_is_taken(tmp_path: Path) -> None:
    text = f"""server {{ listen 80; server_name a.example; {PHP} add_header N one; }}
      server {{ listen 443 ssl; server_name a.example; {PHP} add_header N two; }}
      server {{ listen 443 ssl; server_name b.example; root /srv/shop/public; {PHP} add_header N three; }}"""
    assert "N two" in text_of(site_of(tmp_path, text, host="a.example").server)
    assert "N three" in text_of(site_of(tmp_path, text, host="b.example").server)
    assert "N three" in text_of(site_of(tmp_path, text, host="localhost").server)
    with pytest.raises(UsageError, match=r"3 server blocks pass requests to PHP: a\.example, a\.example, b\.example"):
        site_of(tmp_path, text, host="localhost", docroot="/srv/shop/web")


def test_the_pool_decides_also_by_the_name_of_an_upstream(tmp_path: Path) -> None:
    text = """upstream up { server unix:/run/b.sock; }
      server { server_name a; location / { fastcgi_pass unix:/run/a.sock; } }
      server { server_name b; location / { fastcgi_pass up; } }
      server { server_name c; location / { fastcgi_pass localhost:9001; } }"""
    for pool, name in (("unix:/run/b.sock", "up"), ("unix:/run/a.sock", "unix:/run/a.sock"), ("tcp:127.0.0.1:9001", "localhost:9001")):
        assert f"fastcgi_pass {name}" in site_of(tmp_path, text, pool=pool).notes[0]
    with pytest.raises(UsageError, match=r"no server block passes requests to the pool at tcp:127\.0\.0\.1:9000"):
        site_of(tmp_path, text, pool="tcp:127.0.0.1:9000")


def test_locations_alone_are_a_server_block_and_http_may_stand_around(tmp_path: Path) -> None:
    assert "fastcgi_pass" in text_of(site_of(tmp_path, f"gzip on; {PHP}").server)
    whole = f"user www-data; events {{}} http {{ sendfile off; types {{ a/b c; }} gzip on; server {{ {PHP} }} }}"
    conf = rendered(site_of(tmp_path, whole))
    assert conf.count("sendfile") == conf.count("types {") == 1
    assert "user www-data" not in conf


def test_an_arm_s_buffers_win_and_fit_the_site_s(tmp_path: Path) -> None:
    site = site_of(tmp_path, "server { location ~ x { fastcgi_buffers 4 8k; fastcgi_busy_buffers_size 16k; fastcgi_pass a; } }")
    assert "fastcgi_buffers 4 8k;" in rendered(site)
    conf = rendered(site, fastcgi_buffer_size="32k")
    assert conf.count("fastcgi_buffers ") == 1
    assert "fastcgi_buffers 9 8k;" in conf
    assert "16k" not in conf
