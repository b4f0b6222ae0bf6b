"""From the records of a journal to the view that every report shows. Pure: no files, no clock."""

import shlex
from collections.abc import Iterable
from pathlib import PurePath

from phpdyno.journal.records import Record
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.facts import HostFacts
from phpdyno.model.plan import Plan
from phpdyno.report.gather import Gathered, Seen, gather
from phpdyno.report.rows import row_of
from phpdyno.report.shape import SCHEMA, AnswerRow, BlockPoint, ControlPoint, IncidentRow, Outcome, Row, RunView, TargetRow
from phpdyno.report.words import METRIC, count, percent

_TRANSPORT = {"http": "HTTP keep-alive through nginx", "fastcgi": "FastCGI straight to php-fpm"}


def view_of(records: Iterable[Record], run_name: str) -> RunView:
    """The view of one run. Raises DynoError when the journal holds no plan."""
    gathered = gather(records, run_name)
    plan, header, end = gathered.plan, gathered.header, gathered.end
    rows = tuple(row_of(gathered, arm) for arm in plan.treatments)
    return RunView(
        schema=SCHEMA,
        run=run_name,
        title=_title(plan),
        phpdyno=header.phpdyno,
        command=header.command,
        started=header.started,
        outcome=_outcome(end.outcome) if end else "unfinished",
        outcome_detail=end.detail if end else "",
        elapsed_s=gathered.elapsed_s,
        app=plan.app,
        app_version=plan.app_version,
        workload=_workload(plan),
        targets=_targets(plan),
        control=_arm(plan.control),
        metric=METRIC[plan.metric],
        margin=plan.margin,
        confidence=plan.confidence,
        budget_s=plan.budget_s,
        seed=plan.seed,
        scope=_scope(plan, gathered.host),
        host=_host(gathered.host),
        calibration=_calibration(gathered),
        preflight_warnings=gathered.preflight_warnings,
        answers=_answers(gathered),
        rows=rows,
        blocks_excluded=sum(row.blocks_excluded for row in rows),
        blocks=_block_points(gathered, rows),
        control_costs=_control_points(gathered),
        incidents=tuple(IncidentRow(each.block, each.arm, each.kind, each.detail) for each in gathered.incidents),
        repeat=_repeat(header.argv, plan.seed),
    )


def _outcome(word: str) -> Outcome:
    known: dict[str, Outcome] = {"finished": "finished", "interrupted": "interrupted"}
    return known.get(word, "failed")


def _title(plan: Plan) -> str:
    subject = plan.treatments[0].name if len(plan.treatments) == 1 else count(len(plan.treatments), "treatment")
    return f"{_app(plan)}: {subject} against the control"


def _app(plan: Plan) -> str:
    return f"{plan.app} {plan.app_version}".strip()


def _targets(plan: Plan) -> tuple[TargetRow, ...]:
    total = sum(target.weight for target in plan.workload.targets) or 1.0
    return tuple(TargetRow(each.path, each.weight / total, each.status, each.answers) for each in plan.workload.targets)


def _workload(plan: Plan) -> str:
    targets = _targets(plan)
    shown = targets[0].path if len(targets) == 1 else ", ".join(f"{each.path} ({100 * each.share:.3g} %)" for each in targets[:5])
    more = f" and {len(targets) - 5} more" if len(targets) > 5 else ""
    return f"GET {shown}{more} as {plan.workload.host}; closed loop, {plan.concurrency} at a time, {_TRANSPORT[plan.transport]}"


def _arm(arm: Arm) -> str:
    settings = "; ".join(f"{key}={value}" for key, value in sorted(arm.settings.items()))
    return f"{_build(arm.php)}, {settings or 'settings as the app and the distribution have them'}"


def _build(php: PhpBuild) -> str:
    build_id = f", build id {php.build_id[:12]}" if php.build_id else ""
    return f"PHP {php.version} ({php.fpm}{build_id})"


def _scope(plan: Plan, host: HostFacts | None) -> str:
    builds = dict.fromkeys(_build(arm.php) for arm in (plan.control, *plan.treatments))
    machine = f"{host.cpu_model}, {count(host.cores, 'core')}, Linux {host.kernel}" if host else "not recorded"
    mix = f"{_app(plan)}, {count(len(plan.workload.targets), 'target')}"
    return f"This host ({machine}), this mix ({mix}), these builds ({', '.join(builds)}), seed {plan.seed}; nothing is claimed beyond."


def _host(host: HostFacts | None) -> str:
    if host is None:
        return ""
    # The builds of PHP are in the scope already.
    servers = [(name, said) for name, said in sorted(host.versions.items()) if not name.startswith("php")]
    versions = "".join(f", {name} {said.removeprefix(name + '/')}" for name, said in servers)
    return (
        f"{host.cpu_model}, {count(host.cores, 'core')}, {host.memory_kib / 2**20:.1f} GiB, Linux {host.kernel}{versions}; "
        f"CPU time from {host.cpu_source}, {_cores(host.measured_cores)} measured, {_cores(host.helper_cores)} for the rest; "
        f"clock {host.clock_source}, governor {host.governor or 'unknown'}, huge pages {host.thp or 'unknown'}, "
        f"steal {percent(host.steal_fraction)}"
    )


def _cores(cores: tuple[int, ...]) -> str:
    return f"core{'' if len(cores) == 1 else 's'} {', '.join(str(core) for core in cores)}" if cores else "no core"


def _calibration(gathered: Gathered) -> str:
    found = gathered.calibration
    if found is None:
        return ""
    fewest, most = min(found.pairs.values(), default=0), max(found.pairs.values(), default=0)
    pairs = f"{fewest} to {most} pairs" if fewest < most else count(most, "pair")
    return "; ".join(each for each in (found.note, f"{pairs} per treatment and block") if each)


def _answers(gathered: Gathered) -> tuple[AnswerRow, ...]:
    return tuple(
        AnswerRow(each.arm, each.equal, each.detail, max((target.masked_fraction for target in each.targets), default=0.0))
        for each in gathered.answers.values()
    )


def _block_points(gathered: Gathered, rows: tuple[Row, ...]) -> tuple[BlockPoint, ...]:
    shown = {row.name for row in rows if row.kind != "invalid"}
    return tuple(
        BlockPoint(each.treatment, each.block, seen.at_s, each.log_ratio, each.pairs, each.steal_fraction, each.excluded)
        for seen in gathered.seen
        if (each := seen.observation).treatment in shown
    )


def _control_points(gathered: Gathered) -> tuple[ControlPoint, ...]:
    """One point per block: the control's slots of all its treatments together."""
    blocks: dict[int, list[Seen]] = {}
    for seen in gathered.seen:
        blocks.setdefault(seen.observation.block, []).append(seen)
    points = []
    for block, held in blocks.items():
        costs = [seen.observation.control for seen in held]
        requests = sum(cost.requests for cost in costs)
        if requests:
            spent_ms = sum(cost.php_cpu_ns for cost in costs) / requests / 1e6
            points.append(ControlPoint(block, held[-1].at_s, spent_ms, any(seen.observation.excluded for seen in held)))
    return tuple(points)


def _repeat(argv: tuple[str, ...], seed: int) -> str:
    words = list(argv[1:]) if argv and PurePath(argv[0]).name == "phpdyno" else list(argv)
    if not any(word == "--seed" or word.startswith("--seed=") for word in words):
        words += ["--seed", str(seed)]
    return shlex.join(["phpdyno", *words])
