"""PHP functions in which an arm's requests spend their time, sampled by the extension excimer in a pass of its own."""

import math
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from phpdyno.apps.source import PHP_FILES
from phpdyno.drive.driver import failures
from phpdyno.errors import DynoError
from phpdyno.experiment.lanes import make_lane
from phpdyno.experiment.progress import Progress
from phpdyno.experiment.schedule import deal
from phpdyno.experiment.slot import Lane, SharedMeters
from phpdyno.experiment.warmup import warm_up
from phpdyno.explain.stacks import Frames, profile_of, read_folded, shortened
from phpdyno.host.checkup.check import install_servers
from phpdyno.host.plain import read_plain
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Panel
from phpdyno.model.stacks import Clock, PhpProfile
from phpdyno.render.apache import is_apache
from phpdyno.stack.bench import Bench
from phpdyno.stack.instance import REFUSED, ArmFailed, Instance
from phpdyno.stack.php import read_traits
from phpdyno.stack.placement import ini_options
from phpdyno.stack.programs import told
from phpdyno.stack.under import Under

LONGEST_US, SHORTEST_US = 1000, 50
"""From sample to sample; each starts a thread in the worker, so that a long request is not asked more often than it needs."""
SAMPLES_EACH = 10
"""So many of a request, where the period can be chosen so."""
SECONDS = 5.0
"""Of requests: thousands of samples by the wall clock, of which a function that takes 1 % has dozens."""
FEW = 200
TURNS = 10
LEAST_EACH = 3
"""So often each target is asked at least."""
SCRIPT = PHP_FILES.parent / "profile" / "prepend.php"
PREPEND = "auto_prepend_file"
FIRST = f"pool.php_admin_value[{PREPEND}]"
"""Where it is set for the pass: nothing that an app does has precedence over it."""
EXTENSION = "ini.extension"
"""Not as an arm names one: then what else the ini files load would have to be there too."""
MODULE = "excimer.so"
MODULES = Path("/usr/lib/php")
"""Debian's modules, each in a directory named by the API that it is for."""
ONE_WORKER = {"pool.pm": "static", "pool.pm.max_children": "1", "pool.pm.max_requests": "0"}
OWN_FRAMES = frozenset({f"PhpdynoProfile::{name}" for name in ("start", "ofUserIni", "ending", "end")})
CLOCKS: tuple[Clock, Clock] = ("wall", "cpu")
NATIVE = "what PHP's own functions take (a query, a sort, a sleep) stands at the PHP function that called them"
SLOWED = "sampling makes requests slower: read shares, not times"
FEW_BY_CPU = (
    "only {} samples by CPU time: the kernel looks at such timers at its tick, and these requests are shorter; the wall clock says more"
)
_BUILD = re.compile(r"^PHP Extension Build => API(\d+),(\S+)", re.MULTILINE)


class CannotProfile(DynoError):  # noqa: N818 (it names the finding: PHP functions cannot be sampled here)
    """PHP functions of this arm cannot be sampled: excimer is missing or is for another PHP. Whatever else was asked for goes on."""


def find_excimer(bench: Bench, arm: Arm) -> Path:
    """The extension for an arm's PHP. Raises CannotProfile: none is installed for its module API, or it is one with threads."""
    if is_apache(arm):
        raise CannotProfile("only php-fpm's requests are sampled", where=arm.name)
    built = _BUILD.search(told([arm.php.fpm, "-n", "-i"]).stdout.decode(errors="replace"))
    if built is None:
        raise CannotProfile("this PHP does not say for which extensions it is built", where=arm.php.fpm)
    api, kind = built[1], built[2]
    own = bench.files_of(arm).extension_dir
    # A build of ours loads the distribution's own modules where their numbers agree; those are for PHP without threads.
    places = [*([Path(own)] if own else []), *([MODULES / api] if kind == "NTS" else [])]
    found = next((place / MODULE for place in places if (place / MODULE).is_file()), None)
    if found is None:
        minor = ".".join(arm.php.version.split(".")[:2])
        said = f"the extension excimer is not installed for this PHP {minor} (module API {api}, {kind})"
        if kind != "NTS":
            raise CannotProfile(f"{said}, and Debian's is for PHP without threads", where=arm.php.fpm)
        raise CannotProfile(said, where=arm.php.fpm, next_step=f"install it with: {install_servers(f'php{minor}-excimer')}")
    return found


def sample_functions(
    bench: Bench, arm: Arm, shared: SharedMeters, *, seconds: float = SECONDS, seed: int = 1, progress: Progress
) -> PhpProfile:
    """PHP functions of an arm by wall and by CPU time: an instance of its own with the extension, a worker, requests in their mix.

    Takes a warm-up and about `seconds` of requests. Raises CannotProfile, ArmFailed when the arm does not start or its requests fail.
    """
    module = find_excimer(bench, arm)
    folder = bench.supervisor.directory("profiles")
    sampled = _sampled(bench, arm, module, folder)
    workload = bench.app_of(arm).workload
    weights = [target.weight for target in workload.targets]
    with _running(bench, sampled) as instance:
        lane = make_lane(instance, bench, Panel("cpu", sampled, (), 1), workload=workload, transport=bench.transport, lengths={})
        with closing(lane.driver):
            warm = warm_up(lane, shared, metric="cpu", weights=weights, env_names=(), workers=1)
            period_us = period_for(warm.request_wall_ns)
            _set_period(bench, period_us)
            _empty(folder)
            most = math.ceil(seconds * 1e9 / TURNS / max(1, warm.request_wall_ns))
            each = max(most, math.ceil(LEAST_EACH * len(weights) / TURNS))
            for turn in range(TURNS):
                progress.tick(turn, TURNS, "sampling PHP functions")
                _drive(lane, deal(np.random.default_rng(seed + turn), weights, each))
            instance.await_idle()
            stacks = {clock: _read(folder, clock) for clock in CLOCKS}
    if not stacks["wall"]:
        raise CannotProfile("excimer found no PHP function at work: the requests run none", where=arm.name)
    app = bench.app_of(arm)
    roots = roots_of(app, bench.supervisor.live)
    hidden = {str(_place(bench) / SCRIPT.name), *OWN_FRAMES}
    wall, cpu = (
        profile_of(
            arm.name,
            clock,
            shortened(stacks[clock], roots, hidden),
            period_us=period_us,
            requests=TURNS * each,
        )
        for clock in CLOCKS
    )
    few = (FEW_BY_CPU.format(cpu.samples),) if cpu.samples < FEW <= wall.samples else ()
    return PhpProfile(wall, cpu, (NATIVE, SLOWED, *few))


def roots_of(app: PreparedApp, live: Path) -> list[str]:
    """Where an app's files lie as PHP may name them: its root, as seen and as copied; of one without, its directory among ours. Pure."""
    places = [app.real_root, app.copy]
    if app.root is None and app.docroot.is_relative_to(live):
        places = [live / app.docroot.relative_to(live).parts[0]]
    return list(dict.fromkeys(map(str, places)))


def period_for(request_ns: int) -> float:
    """Microseconds from sample to sample for requests that take so long. Pure."""
    return float(min(LONGEST_US, max(SHORTEST_US, request_ns // 1000 // SAMPLES_EACH)))


def _set_period(bench: Bench, period_us: float) -> None:
    (_place(bench) / "period").write_text(f"{period_us / 1e6:.6f}")


@contextmanager
def _running(bench: Bench, arm: Arm) -> Iterator[Instance]:
    """An instance with the extension. Raises CannotProfile where PHP does not take it."""
    with bench.running([arm], under=Under(every_core=True)) as (instance,):
        refused = [line for line in instance.fpm.said().splitlines() if "excimer" in line and REFUSED.search(line)]
        if refused:
            raise CannotProfile(f"this PHP does not take excimer: {refused[0].rpartition('PHP message: ')[2]}", where=arm.name)
        yield instance


def _place(bench: Bench) -> Path:
    return bench.supervisor.live / "profile"


def _sampled(bench: Bench, arm: Arm, module: Path, folder: Path) -> Arm:
    """The arm with the extension and our script before each request; the script's settings are written beside it."""
    place = _place(bench)
    place.mkdir(exist_ok=True)
    shutil.copyfile(SCRIPT, place / SCRIPT.name)
    theirs, by_pool = own_prepend({**arm.settings, **bench.real_values(arm)}, bench.app_of(arm).ini, _ini_values(arm))
    if Path(theirs).is_absolute() and Path(theirs).exists():
        bench.supervisor.show(Path(theirs))
    # An admin value of the pool's has precedence over .user.ini, and ours is one.
    _set_period(bench, LONGEST_US)
    values: dict[str, str | float | bool] = {"into": str(folder), "next": theirs, "user_ini": not by_pool}
    (place / "settings.php").write_text(f"<?php return {php_array(values)};\n", encoding="utf-8", errors="surrogateescape")
    left = {key: value for key, value in arm.settings.items() if key != f"pool.php_value[{PREPEND}]"}
    return structs.replace(arm, settings={**left, **ONE_WORKER, FIRST: str(place / SCRIPT.name), EXTENSION: str(module)})


def _ini_values(arm: Arm) -> Mapping[str, str]:
    options, scan_dir = ini_options(arm.settings)
    return read_traits(arm.php.fpm, arm.php.extension_dir, options=options, scan_dir=scan_dir).values


def own_prepend(settings: Mapping[str, str], app: Mapping[str, str], files: Mapping[str, str]) -> tuple[str, bool]:
    """The auto_prepend_file that an arm has without us, and whether its pool forbids any other. Pure.

    `settings` are the arm's, `app` what its app wants in php.ini, `files` what the ini files say.
    """
    if FIRST in settings:
        return settings[FIRST], True
    places = (settings.get(f"pool.php_value[{PREPEND}]"), settings.get(f"ini.{PREPEND}"), app.get(PREPEND), files.get(PREPEND))
    return next((value for value in places if value is not None), ""), False


def php_array(values: Mapping[str, str | float | bool]) -> str:
    """A PHP array of texts, numbers and booleans, as source text. Pure."""

    def written(value: str | float | bool) -> str:
        if isinstance(value, str):
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        return str(value).lower()

    return "[" + ", ".join(f"{written(key)} => {written(value)}" for key, value in values.items()) + "]"


def _drive(lane: Lane, sequence: NDArray[np.uint32]) -> None:
    failure = failures(lane.driver.drive(sequence))
    if failure:
        raise ArmFailed(
            lane.instance.arm, f"requests fail while excimer samples: {failure}; {lane.instance.complaint()}".removesuffix("; ")
        )


def _empty(folder: Path) -> None:
    """Remove what requests left that do not count: those that warmed up, and our own questions."""
    for path in folder.iterdir():
        path.unlink()


def _read(folder: Path, clock: Clock) -> Counter[Frames]:
    found: Counter[Frames] = Counter()
    for path in folder.glob(f"{clock}.*"):
        try:
            found += read_folded(read_plain(path).decode(errors="replace"))
        except OSError as error:
            raise CannotProfile(f"what excimer found cannot be read: {error.strerror}", where=str(path)) from error
    return found
