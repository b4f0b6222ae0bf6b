"""PHP is told by our servers what Debian's nginx tells it, through each transport; a script with
something behind its name gets it as PATH_INFO."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from phpdyno.drive.driver import NativeDriver
from phpdyno.drive.requests import native_targets
from phpdyno.model.plan import Transport
from phpdyno.model.workload import BROWSER_ENCODING, Target, Workload
from phpdyno.servers.bench import Bench
from phpdyno.servers.instance import Instance
from phpdyno.servers.launching import free_port
from phpdyno.servers.programs.finding import find_program, nginx_number, program_path
from tests.support.real.stack import plain_arm, plain_bench

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not Path("/etc/nginx/snippets/fastcgi-php.conf").is_file(), reason="Debian's nginx-common is not installed"),
]

TELL = "<?php header('Content-Type: application/json'); ksort($_SERVER); echo json_encode($_SERVER);"
TARGETS = (
    Target("/?a=1", cookies={"sid": "1"}),
    Target("/no/such/page?b=2"),
    Target("/index.php/catalog/7"),
    Target("/report.php/2026/q%33?c=3"),
    Target("/report.php", headers={"Authorization": "Basic YWRhOnNlY3JldA=="}),
    Target("/report.php", method="POST", writes=True, body="user=ada"),
)
PER_REQUEST = frozenset({"REQUEST_TIME", "REQUEST_TIME_FLOAT"})
DRAWN = frozenset({"REMOTE_PORT", "SERVER_PORT"})
"""Drawn anew for each connection or instance by a real server: ours are fixed, so that pages that
show them stay equal."""
APACHES_OWN = frozenset(
    {
        *("CONTEXT_DOCUMENT_ROOT", "CONTEXT_PREFIX", "SERVER_ADMIN", "SERVER_SIGNATURE", "SERVER_SOFTWARE", "UNIQUE_ID"),
        *(
            "REDIRECT_URL",
            "REDIRECT_STATUS",
            "REDIRECT_QUERY_STRING",
            "PATH",
            "LANG",
            "PHP_INI_SCAN_DIR",
            "REMOTE_PORT",
            "PATH_TRANSLATED",
            "SCRIPT_URI",
            "SCRIPT_URL",
        ),
        *("FCGI_ROLE", "DOCUMENT_URI", "USER", "HOME", "HTTP_CONTENT_TYPE", "HTTP_CONTENT_LENGTH", "AUTH_TYPE", "REDIRECT_HANDLER"),
        # What Apache leaves out where there is nothing, nginx hands over empty.
        *("PATH_INFO", "CONTENT_TYPE", "CONTENT_LENGTH", "REMOTE_USER"),
    }
)


def told(answer: Any) -> dict[str, Any]:
    assert answer.status == 200, (answer.status, answer.body[:200])
    found: dict[str, Any] = msgspec.json.decode(answer.body)
    return {name: value for name, value in found.items() if name not in PER_REQUEST}


def asked(bench: Bench, address: str, transport: Transport) -> list[dict[str, Any]]:
    workload = Workload(TARGETS, "shop.test", bench.app.workload.scheme, accept_encoding=BROWSER_ENCODING)
    targets = native_targets(workload, transport, docroot=bench.app.docroot, front_controller="index.php", lengths={}, nginx=nginx_number())
    driver = NativeDriver(address, targets, keep_alive=False)
    return [told(driver.fetch(number)) for number in range(len(TARGETS))]


@contextmanager
def debians_nginx(bench: Bench, instance: Instance) -> Iterator[str]:
    """nginx with Debian's own files in front of the instance's pool; its address."""
    place = bench.supervisor.directory("debian")
    own = bench.supervisor.live / "etc-nginx"
    shutil.copytree("/etc/nginx", own, symlinks=True)
    port = free_port()
    temporary = " ".join(f"{kind}_temp_path {place}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (own / "debian.conf").write_text(
        f"""pid {place}/pid; error_log stderr; events {{}}
http {{ {temporary} access_log off;
  server {{
    listen 127.0.0.1:{port}; server_name shop.test; root {bench.app.docroot}; index index.php;
    location / {{ try_files $uri $uri/ /index.php$is_args$args; }}
    location ~ \\.php(/|$) {{ include snippets/fastcgi-php.conf; fastcgi_pass {instance.fastcgi}; }}
  }}
}}"""
    )
    argv = [find_program("nginx"), "-p", str(place), "-c", str(own / "debian.conf"), "-e", "stderr", "-g", "daemon off;"]
    child = bench.supervisor.spawn("debian-nginx", argv, cwd=place)
    try:
        address = f"tcp:127.0.0.1:{port}"
        any_page = native_targets(Workload((Target("/"),)), "http", docroot=place, front_controller="", lengths={})
        deadline = time.monotonic() + 20
        while not NativeDriver(address, any_page, keep_alive=False).fetch(0).status:
            assert child.alive(), child.tail()
            assert time.monotonic() < deadline
        yield address
    finally:
        child.stop(timeout_s=3.0)


def test_every_variable_of_debians_nginx_is_handed_over_by_each_transport(tmp_path: Path) -> None:
    with plain_bench(tmp_path, index=TELL, report=TELL) as bench, bench.running([plain_arm("control")]) as (instance,):
        with debians_nginx(bench, instance) as address:
            theirs = asked(bench, address, "http")
        through_nginx = asked(bench, instance.http, "http")
        straight = asked(bench, instance.fastcgi, "fastcgi")
    assert theirs[2]["PATH_INFO"] == "/catalog/7"
    assert theirs[3]["PATH_INFO"] == "/2026/q3"
    assert theirs[4]["REMOTE_USER"] == "ada"
    for target, one, two, three in zip(TARGETS, theirs, through_nginx, straight, strict=True):
        assert two == three, target.label
        assert one.keys() == two.keys(), target.label
        assert {name: value for name, value in one.items() if name not in DRAWN} == {k: v for k, v in two.items() if k not in DRAWN}
    assert (through_nginx[0]["SERVER_PORT"], through_nginx[0]["REMOTE_PORT"].isdigit()) == ("80", True)


@pytest.mark.skipif(shutil.which("apache2", path=program_path()) is None, reason="Apache is not installed")
def test_apache_hands_over_the_same_but_what_is_its_own(tmp_path: Path) -> None:
    arms = [plain_arm("control"), plain_arm("apache", {"web.server": "apache-mod_php"})]
    with plain_bench(tmp_path, index=TELL, report=TELL) as bench, bench.running(arms) as (nginx, apache):
        ours, theirs = asked(bench, nginx.http, "http"), asked(bench, apache.http, "http")
    assert [each.get("PATH_INFO", "") for each in theirs] == [each["PATH_INFO"] for each in ours]
    for target, one, two in zip(TARGETS, ours, theirs, strict=True):
        mine = {name: value for name, value in one.items() if name not in APACHES_OWN}
        other = {name: value for name, value in two.items() if name not in APACHES_OWN}
        assert other == mine, target.label


def test_an_app_behind_https_is_told_so_by_every_server(tmp_path: Path) -> None:
    arms = [plain_arm("control")]
    if shutil.which("apache2", path=program_path()):
        arms.append(plain_arm("apache", {"web.server": "apache-mod_php"}))
    with plain_bench(tmp_path, index=TELL, report=TELL) as bench:
        bench.app = structs.replace(bench.app, workload=structs.replace(bench.app.workload, scheme="https"))
        with bench.running(arms) as instances:
            answers = [asked(bench, each.http, "http") for each in instances] + [asked(bench, instances[0].fastcgi, "fastcgi")]
    for each in answers:
        assert [(one["HTTPS"], one["REQUEST_SCHEME"], one["SERVER_PORT"], one["SERVER_NAME"]) for one in each] == [
            ("on", "https", "443", "shop.test")
        ] * len(TARGETS)


def test_a_script_that_is_missing_is_404_with_something_behind_its_name_too(tmp_path: Path) -> None:
    missing = (Target("/no-such.php/x", status=404), Target("/no-such.php", status=404), Target("/index.php/x"))
    arms = [plain_arm("control")]
    if shutil.which("apache2", path=program_path()):
        arms.append(plain_arm("apache", {"web.server": "apache-mod_php"}))
    with plain_bench(tmp_path, index=TELL) as bench, bench.running(arms) as instances:
        ways: list[tuple[str, Transport]] = [(each.http, "http") for each in instances]
        for address, transport in [*ways, (instances[0].fastcgi, "fastcgi")]:
            targets = native_targets(Workload(missing), transport, docroot=bench.app.docroot, front_controller="index.php", lengths={})
            driver = NativeDriver(address, targets, keep_alive=False)
            assert [driver.fetch(number).status for number in range(3)] == [404, 404, 200], (address, transport)
