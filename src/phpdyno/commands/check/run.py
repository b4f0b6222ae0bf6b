"""Brings an app up once, asks every target a few times, and watches what it reaches for."""

import re
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from phpdyno._native import OUTCOMES
from phpdyno.answers.answer import Answer
from phpdyno.answers.check import require_valid
from phpdyno.answers.mask import learn
from phpdyno.answers.php_messages import php_messages
from phpdyno.apps.source import App
from phpdyno.commands.check.found import CheckFound, TargetFound
from phpdyno.drive.driver import Response
from phpdyno.errors import DynoError
from phpdyno.experiment.common.answer_check import COMPLETE, LEARNING_FETCHES, LEARNING_PAUSE_S, answer_of, one_page
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.host.cores import on_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Panel
from phpdyno.model.workload import Target, Workload
from phpdyno.servers.bench import Bench
from phpdyno.servers.facts.outside import in_own_paths
from phpdyno.servers.web_words import web_fault
from phpdyno.session.app_servers import serving
from phpdyno.session.reach_pass import watch_app

MOST_WARNINGS = 20
NO_PHP = "no PHP makes this page: the web server answers it by itself (a file, a redirect, a cache of its own)"
_SAID = re.compile(r"PHP (?:Warning|Notice|Deprecated|Fatal error|Parse error|Recoverable fatal error): .*")


class TimedAnswer(Struct, frozen=True):
    """One answer to a target, decoded once, with its time and the CPU of PHP for it, in
    milliseconds."""

    response: Response
    answer: Answer
    time_ms: float
    php_ms: float


def look_at(definition: App, arm: Arm, *, logs: Path, progress: Progress, workload: Workload | None = None) -> CheckFound:
    """Look at an app as `arm` serves it. Raises DynoError where it cannot be prepared or its
    servers do not start."""
    with MeasuringLock(), serving(definition, logs=logs, progress=progress) as stand, on_cores(stand.bench.cores.helpers):
        bench = stand.bench
        asked = workload or bench.app.workload
        progress.phase("asking every target")
        with bench.running([arm]) as (instance,):
            driven = _driven(instance, bench, arm, asked)
            targets, remark = _targets(driven, asked, bench.app)
            driven.driver.close()
        progress.phase("watching what the app reaches for")
        reached, unwatched = watch_app(bench, arm, asked)
        return CheckFound(
            app=bench.app.name,
            bottle=bench.supervisor.no_bottle,
            notices=bench.app.notices,
            targets=targets,
            remark=remark,
            reached=reached,
            unwatched=unwatched,
            let_through=() if bench.supervisor.no_bottle else tuple(map(str, bench.app.peers)),
            not_reached=bench.supervisor.not_reached(),
        )


def _driven(instance: object, bench: Bench, arm: Arm, workload: Workload) -> DrivenInstance:
    return driven_instance(instance, bench, Panel("cpu", arm, (), 1), workload=workload, transport=bench.transport, lengths={})  # type: ignore[arg-type]


def _targets(driven: DrivenInstance, workload: Workload, app: PreparedApp) -> tuple[tuple[TargetFound, ...], str]:
    """Every target several times in turn, the last time after a while, so that a clock shows; and
    what is strange about all of them."""
    asked: list[list[TimedAnswer]] = [[] for _ in workload.targets]
    said = ["" for _ in workload.targets]
    for turn in range(LEARNING_FETCHES):
        if turn == LEARNING_FETCHES - 1:
            time.sleep(LEARNING_PAUSE_S)
        for index in range(len(workload.targets)):
            before = _logs(driven)
            asked[index].append(_timed(driven, index))
            said[index] += "".join(now[len(then) :] for then, now in zip(before, _logs(driven), strict=True))
    found = [_judged(driven, target, asked[index], said[index], app) for index, target in enumerate(workload.targets)]
    return tuple(without_php(found)), "" if any(each.problem for each in found) else _remark(workload.targets, asked)


def _remark(targets: Sequence[Target], asked: Sequence[Sequence[TimedAnswer]]) -> str:
    """Say what is strange about the answers of all targets together, each of which can be
    measured."""
    if targets[0].answers != "body":
        return ""
    return one_page(targets, [each[-1].answer for each in asked], learn([each.answer for each in asked[0]]).differs)


def without_php(found: Sequence[TargetFound]) -> list[TargetFound]:
    """The targets, with what is to be said of those that PHP did nothing for: a comparison by its
    CPU needs one that it makes."""
    idle = [each.php_ms == 0.0 and not each.problem for each in found]
    if all(idle):
        return [structs.replace(each, problem=NO_PHP) for each in found]
    return [structs.replace(each, warnings=(*each.warnings, NO_PHP)) if at else each for each, at in zip(found, idle, strict=True)]


def _timed(driven: DrivenInstance, index: int) -> TimedAnswer:
    """Ask for one target."""
    cpu_ns, start_ns = driven.instance.php_meter.read_ns(), time.perf_counter_ns()
    response = driven.driver.fetch(index)
    took_ns = time.perf_counter_ns() - start_ns
    driven.instance.await_idle()
    php_ns = driven.instance.php_meter.read_ns() - cpu_ns
    return TimedAnswer(response, answer_of(response), took_ns / 1e6, php_ns / 1e6)


def _judged(driven: DrivenInstance, target: Target, asked: Sequence[TimedAnswer], said: str, app: PreparedApp) -> TargetFound:
    responses = [each.response for each in asked]
    last, warm = asked[-1].answer, asked[1:]
    problem, moving = "", None
    for response in responses:
        if OUTCOMES[response.outcome] not in COMPLETE:
            detail = ": ".join(part for part in (OUTCOMES[response.outcome], response.detail) if part)
            problem = f"it gets no answer: {detail}"
    if not problem:
        problem, moving = _compared(target, [each.answer for each in asked])
    if problem and (why := _explained(driven, said)) and why not in problem:
        problem = f"{problem}: {in_own_paths(why, app)}"
    return TargetFound(
        label=target.label,
        status=last.status or None,
        body_bytes=len(last.body),
        time_ms=statistics.median(each.time_ms for each in warm),
        php_ms=statistics.median(each.php_ms for each in warm),
        moving=moving,
        warnings=_warnings(said, last, app),
        problem=problem,
    )


def _warnings(said: str, last: Answer, app: PreparedApp) -> tuple[str, ...]:
    """PHP's messages in the servers' logs and in the page, each once."""
    logged = (in_own_paths(line.strip('"'), app) for line in _SAID.findall(said))
    return tuple(dict.fromkeys([*logged, *_in_page(last)]))[:MOST_WARNINGS]


def _in_page(answer: Answer) -> list[str]:
    return [f"in the page: {message}" for message in php_messages(answer.body)]


def _compared(target: Target, answers: list[Answer]) -> tuple[str, float | None]:
    """Why these answers cannot be measured, '' where they can, and the share of their bodies that
    moves."""
    try:
        for answer in answers:
            require_valid(target, answer)
        return "", learn(answers).masked_fraction if target.answers == "body" else None
    except DynoError as error:
        return error.what, None


def _logs(driven: DrivenInstance) -> tuple[str, ...]:
    """What each server of an instance has said so far."""
    servers = (getattr(driven.instance, name, None) for name in ("fpm", "web"))
    return tuple(server.said() for server in servers if server is not None)


def _explained(driven: DrivenInstance, said: str) -> str:
    """What of that which the servers `said` to one target explains why it fails; '' when nothing
    does."""
    fatal = [line.strip('"') for line in _SAID.findall(said) if "error:" in line]
    refused = web_fault(said, driven.instance.arm.layer("web"))
    return driven.instance.crashes() or driven.instance.broken() or (fatal[-1] if fatal else refused)
