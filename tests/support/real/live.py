"""A php-fpm of somebody else's, as it runs in production: started by hand, with two pools, its own
options and environment."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from phpdyno.servers.bench import PROBE
from phpdyno.servers.facts.worker import ProbeAnswer, probe_worker
from phpdyno.servers.launching import free_port
from phpdyno.servers.programs.php import default_fpm

SECRET = "correct-horse-9f27"  # noqa: S105
LICENSE = "license-4711"
MAIN = """[global]
pid = {place}/fpm.pid
error_log = {place}/fpm.log
include = {place}/pool.d/*.conf
"""
WWW = """[www]
user = nobody
group = nogroup
listen = {place}/www.sock
pm = ondemand
pm.max_children = 2
"""
WWW2 = """[www2]
user = nobody
group = nogroup
listen = 127.0.0.1:{port}
listen.allowed_clients = 127.0.0.1
pm = static
pm.max_children = 2
pm.max_requests = 5000
access.log = {place}/$pool.access.log
env[DB_PASSWORD] = {secret}
env[FROM_MASTER] = $ORIGIN
php_admin_value[memory_limit] = 77M
php_admin_value[error_reporting] = E_ALL & ~E_DEPRECATED
php_admin_value[error_log] = {place}/php.log
php_admin_value[mysqli.default_pw] = {license}
php_value[date.timezone] = "Europe/Vienna"
php_flag[display_errors] = on
"""


_held: list[int] = []


@contextmanager
def only_ours() -> Iterator[None]:
    """No pool of a test in another process runs meanwhile: a pool is found by its name among all of
    a host."""
    if _held:
        yield
        return
    _held.append(os.open(__file__, os.O_RDONLY | os.O_CLOEXEC))
    try:
        fcntl.flock(_held[0], fcntl.LOCK_EX)
        yield
    finally:
        os.close(_held.pop())


class LivePhp:
    """The running master. `place` is its directory."""

    def __init__(self, place: Path, port: int) -> None:
        self.place = place
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def config(self) -> Path:
        """Its main configuration file."""
        return self.place / "php-fpm.conf"

    @property
    def pid(self) -> int:
        """The master."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until a pool answers."""
        argv = [default_fpm(), "-F", "-y", str(self.config), "-d", "precision=9", "-d", "opcache.memory_consumption=64"]
        env = {
            "PATH": os.environ["PATH"],
            "ORIGIN": "from the master",
            "MALLOC_ARENA_MAX": "2",
            "PHP_INI_SCAN_DIR": f":{self.place / 'ini'}",
        }
        self._process = subprocess.Popen(argv, env=env, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 15.0
        while self.ask("www2") is None:
            assert self._process.poll() is None, (self.place / "fpm.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def ask(self, pool: str, names: tuple[str, ...] = ()) -> ProbeAnswer | None:
        """What a worker of a pool tells the probe."""
        address = f"unix:{self.place}/www.sock" if pool == "www" else f"tcp:127.0.0.1:{self.port}"
        return probe_worker(address, self.place / PROBE.name, names)

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=10)
            self._process = None


@contextmanager
def live_php(**texts: str) -> Iterator[LivePhp]:
    """A master with the pools www and www2, or with `texts` instead of their files; nothing of it
    is left."""
    with only_ours(), tempfile.TemporaryDirectory(prefix="pd-live-", dir="/tmp") as made:
        place = Path(made)
        place.chmod(0o755)
        live = LivePhp(place, free_port())
        (place / "pool.d").mkdir()
        (place / "ini").mkdir()
        shutil.copyfile(PROBE, place / PROBE.name)
        (place / "ini" / "50-own.ini").write_text("serialize_precision = 11\n")
        (place / "ini" / "60-closed.ini").write_text("user_agent = closed\n")
        (place / "ini" / "60-closed.ini").chmod(0o600)
        values: Mapping[str, object] = {"place": place, "port": live.port, "secret": SECRET, "license": LICENSE}
        live.config.write_text(MAIN.format(**values))
        for name, text in {"www": WWW, "www2": WWW2, **texts}.items():
            (place / "pool.d" / f"{name}.conf").write_text(text.format(**values))
        try:
            yield live
        finally:
            live.stop()
