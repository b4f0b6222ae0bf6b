"""What an app reaches for, watched on fresh workers of one arm: for `check`, and before the first
block of what measures."""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import structs

from phpdyno.drive.requests import LengthClass
from phpdyno.drive.script import ScriptDriver
from phpdyno.errors import DynoError
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.stage import Stage
from phpdyno.explain.tracing.strace import CannotTrace
from phpdyno.explain.tracing.watching import watch_requests, watching_from_start
from phpdyno.host.cores import on_cores
from phpdyno.journal.records import ReachedFor
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.inside.reach import Missed, Reached
from phpdyno.model.plan import Panel, Unit
from phpdyno.model.workload import Workload
from phpdyno.package import APP_FILES
from phpdyno.report.reached import lines_of, reach_view
from phpdyno.servers.bench import Bench
from phpdyno.servers.bottle.view import EMPTY, LINKS, PRIVATE, SYSTEM
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.own_ini import OWN_INI
from phpdyno.servers.script import ScriptBench
from phpdyno.servers.supervision.supervisor import Supervisor

ROUNDS = 2
"""So often every target is asked: what is done once a worker, or once for the first of them, is
told from what every request does."""
MOST_REQUESTS = 200
"""Before a measurement, of a workload with many targets: under strace a request takes several times
as long."""


def look_before(stage: Stage, arm: Arm, workload: Workload, *, progress: Progress) -> ReachedFor | None:
    """What fresh workers of `arm` reach for, told to the onlooker; they have ended when this
    returns. Never a failure.

    None where nobody looks: at an app of our own, of which it is known, and at an arm that does not
    start.
    """
    if not isinstance(stage, Bench | ScriptBench):
        return None
    app = stage.app_of(arm) if isinstance(stage, Bench) else stage.app
    if not is_the_users(app):
        return None
    unit: Unit = "operation" if isinstance(stage, ScriptBench) else "request"
    progress.phase(f"watching what the {'script' if unit == 'operation' else 'app'} reaches for")
    try:
        with on_cores(stage.cores.helpers):
            watch = partial(watch_script, stage) if isinstance(stage, ScriptBench) else partial(watch_app, stage)
            reached, unwatched = watch(arm, workload, most=MOST_REQUESTS)
    except ArmFailed:
        # The measurement finds that as well, and says it with all that explains it.
        return None
    except DynoError as error:
        reached, unwatched = None, str(error)
    found = ReachedFor(reached, unwatched, stage.supervisor.no_bottle, tuple(map(str, app.peers)), unit)
    for line in lines_of(reach_view(found)):
        progress.note(line)
    return found


def is_the_users(app: PreparedApp) -> bool:
    """Whether an app is of a folder of the user's, not one of ours."""
    return app.original is not None and not app.original.is_relative_to(APP_FILES)


def watch_app(bench: Bench, arm: Arm, workload: Workload, *, most: int | None = None) -> tuple[Reached | None, str]:
    """What fresh workers reach for from their first request on, and why that is not known; at
    `most` so many requests.

    Raises DynoError where the arm does not start.
    """
    sequence = np.tile(np.arange(len(workload.targets), dtype=np.uint32), ROUNDS)[:most]
    with bench.running([arm]) as (instance,):
        panel = Panel("cpu", arm, (), 1)
        driven = driven_instance(instance, bench, panel, workload=workload, transport=bench.transport, lengths={})
        try:
            found = watch_requests(bench.supervisor, driven, sequence, ours=_ours(bench, arm), sendmail=[OWN_INI["sendmail_path"]])
            return with_what_the_host_has(found, bench.supervisor, bench.app_of(arm)), ""
        except CannotTrace as error:
            return None, str(error)
        finally:
            driven.driver.close()


def watch_script(bench: ScriptBench, arm: Arm, workload: Workload, *, most: int | None = None) -> tuple[Reached | None, str]:
    """What a fresh process of a script reaches for, its set-up included, and why that is not known;
    at `most` so many operations.

    Raises DynoError where it does not start.
    """
    sequence = np.tile(np.arange(len(workload.targets), dtype=np.uint32), ROUNDS)[:most]
    ours, sendmail = _trees(bench.supervisor, bench.app), [OWN_INI["sendmail_path"]]
    try:
        with (
            watching_from_start(bench.supervisor, requests=len(sequence), ours=ours, sendmail=sendmail) as (before, watched),
            bench.running(arm, before=before) as instance,
            closing(ScriptDriver(instance.path, _any_length(workload))) as driver,
        ):
            driver.drive(sequence)
        return with_what_the_host_has(watched.found(), bench.supervisor, bench.app), ""
    except CannotTrace as error:
        return None, str(error)


def with_what_the_host_has(found: Reached, supervisor: Supervisor, app: PreparedApp) -> Reached:
    """What was reached for; of the files looked for in vain only those that the host has and does
    not show, with which the app may answer otherwise."""
    if supervisor.no_bottle:
        return structs.replace(found, missed=())
    kept: Counter[str] = Counter()
    for each in found.missed:
        if (place := place_to_take(each.path, app.real_root)) and os.path.exists(each.path):  # noqa: PTH110 (it says no where we may not look)
            kept[place] += each.calls
    return structs.replace(found, missed=tuple(Missed(path, calls) for path, calls in kept.most_common()))


def place_to_take(path: str, root: Path) -> str:
    """The directory, or the file, that would have to be there for a path to be: what lies first
    below those that are there and empty, and those that lead to the app's `root`; '' for a place
    that is a run's own in any case."""
    parts = Path(path).parts
    own = (*PRIVATE, *LINKS, *SYSTEM, "/proc", "/dev")
    if any(Path(path).is_relative_to(tree) and not root.is_relative_to(tree) for tree in own):
        return ""
    for number in range(2, len(parts) + 1):
        place = Path(*parts[:number])
        # A whole home directory is no part of an app.
        if str(place) not in EMPTY and str(place.parent) != "/home" and not root.is_relative_to(place):
            return str(place)
    return ""


def _any_length(workload: Workload) -> list[LengthClass]:
    return [LengthClass() for _ in workload.targets]


def _ours(bench: Bench, arm: Arm) -> Sequence[str]:
    return _trees(bench.supervisor, bench.app_of(arm))


def _trees(supervisor: Supervisor, app: PreparedApp) -> Sequence[str]:
    """Trees that are the app's or phpdyno's."""
    return [str(supervisor.live), str(app.real_root), str(app.docroot), *map(str, (*app.binds.values(), *app.linked))]
