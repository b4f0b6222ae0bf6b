"""One start of an arm: php-fpm, nginx in front of it, their meters."""

import contextlib
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import structs

from phpdyno._native import OUTCOMES, Engine, Target
from phpdyno.errors import DynoError
from phpdyno.knobs.catalogue import pool_ini
from phpdyno.knobs.secrets import masked
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.facts import ServerFacts, WorkerFacts
from phpdyno.server_files.fastcgi import http_request
from phpdyno.server_files.nginx import ACCESS_LOG, MARKED
from phpdyno.server_files.php import workers_at_start
from phpdyno.servers.facts.meter import Meter, await_idle, children_of
from phpdyno.servers.facts.outside import in_own_paths
from phpdyno.servers.facts.pool_memory import read_own_kib
from phpdyno.servers.facts.server import server_facts
from phpdyno.servers.facts.worker import PROBE_TIMEOUT_NS, ProbeAnswer, probe_worker, read_facts
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.under import ALONE, Under
from phpdyno.servers.web_words import web_fault

PRELOAD = "opcache.preload"
REFUSED = re.compile(
    r"Unable to load dynamic library|Unable to initialize module|odule compiled with|PHP +compiled with|options need to match"
    r"|requires Zend Engine API|API version|valid Zend extension|Failed loading"
)
"""How PHP says that it does not take an extension; it then starts without."""
MANAGED = frozenset({"pool.pm", "pool.pm.max_children"})
READY_PROBE_NS = 1_000_000_000
FORKING_S = 5.0
"""Longest that workers are waited for beside the one that answers already."""


class ArmFailed(DynoError):  # noqa: N818 (it names the finding: this arm cannot be measured)
    """An arm that does not start or breaks down; a finding about the arm, unless it is the
    control."""

    def __init__(self, arm: Arm, what: str, *, next_step: str = "") -> None:
        super().__init__(what, where=arm.name, next_step=next_step)
        self.arm = arm


def names_manager(arm: Arm) -> bool:
    """Whether an arm changes what only the pool itself can tell: how it manages its workers."""
    return not MANAGED.isdisjoint(arm.changed)


def keeps_connections(arm: Arm) -> bool:
    """Whether nginx keeps connections to an arm's pool."""
    return int(arm.settings.get("web.fastcgi_keepalive", "0")) > 0


class Instance:
    """A started arm. `fastcgi` and `http` are addresses for the load core; `http` is '' and `web`
    None without nginx.

    `keeps_workers`: a kept HTTP connection holds a worker, so whoever is done with one should close
    it.
    """

    server = "php-fpm"
    keeps_workers = False

    def __init__(
        self,
        arm: Arm,
        number: int,
        directory: Path,
        *,
        fpm: Child,
        fastcgi: str,
        php_meter: Meter,
        probe: Path,
        app: PreparedApp,
        originals: Mapping[str, str],
        real: Mapping[str, str],
        status: str | None = None,
        under: Under = ALONE,
    ) -> None:
        """`originals`: what each file that was placed for it stands for; `real`: what the markers
        in its settings stand for.

        `status`: the path of the status page's own socket, '' when it is at the pool's, None
        without a page. `under`: what it was started under.
        """
        self.arm = arm
        self.under = under
        self.app = app
        self._originals = originals
        self._real = real
        self.number = number
        self.directory = directory
        self.fpm = fpm
        self.fastcgi = fastcgi
        self.status = "" if status is None else f"unix:{status}" if status else fastcgi
        """Address of the status page; '' without one."""
        self.probe = probe
        self.php_meter = php_meter
        self.web: Child | None = None
        self.http = ""
        self._jit_free_at_start = 0
        self.marker = secrets.token_hex(8)
        self.web_meter: Meter | None = None

    def await_ready(self) -> None:
        """Wait until a worker answers the probe, those of its start are there, and nginx, where
        there is one, accepts connections.

        Raises ArmFailed with the last log lines of the server that does not come up.
        """
        deadline = time.monotonic() + self.under.ready_s
        while (answer := self.ask_probe(timeout_ns=READY_PROBE_NS)) is None:
            self._still_starting(self.fpm, self.server, deadline)
        if refused := self.refused_extension():
            raise ArmFailed(self.arm, f"{self.server} runs without an extension: {refused}")
        self._jit_free_at_start = answer.jit_free_bytes
        self._await_workers()
        while self.web is not None and not self._nginx_answers():
            self._still_starting(self.web, "nginx", deadline)

    def workers_at_start(self) -> int:
        """How many workers there are once it has started."""
        return workers_at_start(self.arm.layer("pool"))

    def _await_workers(self) -> None:
        """Wait until the workers of its start are there: the first answers while others are still
        being forked. A pool that cannot have them all is taken as it is."""
        wanted, until = self.workers_at_start(), time.monotonic() + FORKING_S
        while len(children_of(self.php_pid)) < wanted and time.monotonic() < until:
            time.sleep(0.002)

    @property
    def php_pid(self) -> int:
        """php-fpm's master, whose children are the workers."""
        return self.fpm.pid

    def ask_probe(
        self, env_names: Sequence[str] = (), *, root: Path | None = None, timeout_ns: int = PROBE_TIMEOUT_NS
    ) -> ProbeAnswer | None:
        """What the worker that accepts next says of itself; None when none answers as the probe
        does."""
        return probe_worker(self.fastcgi, self.probe, env_names, root=root, timeout_ns=timeout_ns)

    def read_scripts(self, root: Path) -> tuple[str, ...]:
        """Scripts below `root` that opcache holds, relative to it, in the order in which they were
        cached. Raises ArmFailed."""
        answer = probe_worker(self.fastcgi, self.probe, root=root, listed=True)
        if answer is None:
            raise ArmFailed(self.arm, f"no worker answers the probe: {self.fpm.tail()}")
        return tuple(each for each in answer.scripts if each.isprintable() and "\ufffd" not in each)

    def keeps(self, concurrency: int) -> bool:
        """Whether so many HTTP connections can be kept open beside each other, all of them served:
        nginx keeps more than are ever asked."""
        return concurrency > 0

    def _nginx_answers(self) -> bool:
        request = http_request(path=f"/.phpdyno/{self.marker}", host=f"{self.marker}{MARKED}")
        engine = Engine(self.http, [Target.http(request, status=204)], keep_alive=False, response_timeout_ns=READY_PROBE_NS)
        return OUTCOMES[engine.fetch(0).outcome] == "ok"

    def _still_starting(self, child: Child, what: str, deadline: float) -> None:
        if not child.alive():
            raise ArmFailed(self.arm, f"{what} does not start: it {child.ended_how()}: {child.tail()}")
        if time.monotonic() > deadline:
            raise ArmFailed(self.arm, f"{what} did not answer within {self.under.ready_s:.0f} s: {child.tail()}")
        time.sleep(0.005)

    def await_idle(self) -> None:
        """Wait until no worker is on a CPU: what a request does after its response belongs to
        it."""
        await_idle(self.fpm.pid)

    def read_facts(self, env_names: tuple[str, ...]) -> WorkerFacts:
        """Facts of a running worker, from the worker itself and from /proc."""
        try:
            names = (*env_names, *(setting.env for setting in self.app.settings.values()))
            root = self.app.real_docroot if self.app.commit else None
            family: Literal["unix", "tcp"] = "unix" if self.fastcgi.startswith("unix:") else "tcp"
            told = read_facts(lambda: self.ask_probe(names, root=root), family, self.fpm.pid)
        except DynoError as error:
            what = error.what if error.next_step else f"{error.what}: {self.fpm.tail()}"
            raise ArmFailed(self.arm, what, next_step=error.next_step) from error
        facts = structs.replace(self._as_shown(told, env_names), servers=self._server_facts())
        if facts.opcache is None or facts.opcache.jit is None:
            return facts
        jit = structs.replace(facts.opcache.jit, free_at_start_bytes=self._jit_free_at_start)
        return structs.replace(facts, opcache=structs.replace(facts.opcache, jit=jit))

    def _server_facts(self) -> ServerFacts:
        """What the servers show. The status page is asked where the arm changes the pool's manager:
        at the pool's own socket, so that no process is added."""
        return server_facts(
            self.fastcgi,
            status=self.status if self.status == self.fastcgi and names_manager(self.arm) else "",
            web=self.web.pid if self.web is not None else None,
            log=self.directory / "nginx" / ACCESS_LOG,
            kept="web.fastcgi_keepalive" in self.arm.settings,
        )

    def _as_shown(self, facts: WorkerFacts, env_names: tuple[str, ...]) -> WorkerFacts:
        """The facts with originals for placed files, the app's settings by name, and no secret."""
        settings, real = self.arm.settings, self._real
        env = {name: facts.env[name] for name in env_names if name in facts.env}
        app = {name: facts.env[setting.env] for name, setting in self.app.settings.items() if setting.env in facts.env}
        held = {name: f"env.{setting.env}" for name, setting in self.app.settings.items() if f"env.{setting.env}" in real}
        script = facts.ini.get(PRELOAD, "")
        told = {name: self._originals.get(value, value) for name, value in facts.ini.items()}
        ini = {pool_ini(key) or key.removeprefix("ini."): key for key in settings if pool_ini(key) or key.startswith("ini.")}
        return structs.replace(
            facts,
            ini=masked(
                told,
                {name: settings[key] for name, key in ini.items()},
                {name: real[key] for name, key in ini.items() if key in real},
                guess=True,
            ),
            env=masked(env, self.arm.layer("env"), {key[4:]: value for key, value in real.items() if key.startswith("env.")}, guess=False),
            app=masked(
                app, {name: settings[key] for name, key in held.items()}, {name: real[key] for name, key in held.items()}, guess=False
            ),
            mapped_extensions=tuple(self._originals.get(path, path) for path in facts.mapped_extensions),
            ini_files=tuple(self._originals.get(path, path) for path in facts.ini_files),
            source=self.app.commit,
            preloaded_elsewhere=script if facts.opcache and facts.opcache.preloaded_scripts and script not in self._originals else "",
        )

    def refused_extension(self) -> str:
        """PHP's own words about extensions that it could not load; '' when there are none, or the
        arm names none."""
        if not self.arm.layer("ext"):
            return ""
        lines = [line.rpartition("PHP message: ")[2].strip() for line in self.fpm.said().splitlines() if REFUSED.search(line)]
        return " | ".join(lines[:4])

    def worker_kib(self) -> int | None:
        """What a worker holds for itself, the median over the pool; None where it may not be
        read."""
        median = read_own_kib(self.php_pid)
        return None if median is None else round(median)

    def crashes(self) -> str:
        """What the log says of workers that a signal ended; '' when none was."""
        return " | ".join(line.partition("] ")[2] for line in self.fpm.said().splitlines() if " exited on signal " in line)

    def complaint(self) -> str:
        """What explains failed requests: a crashed worker, an ended server, else PHP's last fatal
        error and what the web server could not pass on; '' when nothing does."""
        fatal = [line.rpartition("PHP message: ")[2].strip('"') for line in self.fpm.said().splitlines() if "PHP Fatal error" in line]
        refused = web_fault(self.web.said(), self.arm.layer("web")) if self.web is not None else ""
        told = in_own_paths(fatal[-1], self.app) if fatal else ""
        return self.crashes() or self.broken() or "; ".join(each for each in (told, refused) if each)

    def broken(self) -> str:
        """What of it has ended, in words; '' while all of it runs."""
        for child in (self.fpm, self.web):
            if child is not None and not child.alive():
                return f"{child.name} {child.ended_how()}: {child.tail()}"
        return ""

    def ask_to_end(self) -> None:
        """Signal its processes without waiting, so that many instances end side by side."""
        for child in (self.web, self.fpm):
            if child is not None:
                child.terminate()

    def stop(self) -> None:
        """End its processes and close its meters."""
        for child in (self.web, self.fpm):
            if child is not None:
                child.stop(timeout_s=3.0)
        for meter in (self.php_meter, self.web_meter):
            if meter is not None:
                with contextlib.suppress(OSError):
                    meter.close()
