"""What a run was about and what its verdicts hold for, in words: workload, arms, machine, how to
repeat it."""

import shlex
from collections.abc import Sequence
from pathlib import PurePath

from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.facts import HostFacts
from phpdyno.model.plan import UNIT, Metric, Plan, Transport
from phpdyno.model.workload import Workload
from phpdyno.report.view_parts import EnvironmentRow, TargetRow
from phpdyno.report.words import count, metric_words, percent
from phpdyno.server_files.apache import is_apache, of_both_kinds

MOST_SENT, MOST_PLACES = 8, 2
TRANSPORT = {
    "http": "HTTP keep-alive through nginx",
    "fastcgi": "FastCGI straight to php-fpm",
    "script": "operations of a long-lived PHP process",
}
SEEDED = frozenset({"compare", "measure", "ladder"})
"""Commands whose --seed is the seed of what they measure."""
BOTH = "HTTP keep-alive through nginx or to Apache, and nginx shares PHP's cores, as Apache does"
"""Each web server on the same cores: on others, nginx's work would be free."""


def title(plan: Plan) -> str:
    """`wordpress 6.1: NAME against the control`."""
    subject = plan.treatments[0].name if len(plan.treatments) == 1 else count(len(plan.treatments), "treatment")
    return f"{_app(plan)}: {subject} against the control"


def targets(plan: Plan) -> tuple[TargetRow, ...]:
    """The requests or operations of the workload with their shares."""
    return target_rows(plan.workload)


def target_rows(workload: Workload) -> tuple[TargetRow, ...]:
    """The targets of a workload with their shares."""
    total = sum(target.weight for target in workload.targets) or 1.0
    return tuple(TargetRow(each.label, each.weight / total, each.status, each.answers) for each in workload.targets)


def workload(plan: Plan) -> str:
    """The requests, the load of each metric and the way to PHP."""
    what = asked_words(plan.workload)
    if plan.transport == "script":
        several = "" if len(plan.workload.targets) == 1 else "s"
        what = f"script {PurePath(plan.source.script).name}, operation{several} {_paths(plan.workload)}"
    how = transport_words(plan.transport, (plan.control, *plan.treatments), keep_conn=plan.keep_conn)
    return f"{what}; closed loop, {_load(plan)}, {how}"


def transport_words(transport: Transport, arms: Sequence[Arm], *, keep_conn: bool) -> str:
    """How requests reach PHP."""
    if of_both_kinds(arms):
        return BOTH
    if any(is_apache(arm) for arm in arms):
        return "HTTP keep-alive to Apache"
    return TRANSPORT[transport] + (" on kept connections" if keep_conn else "")


def asked_words(workload: Workload) -> str:
    """`GET / (75 %), /feed/ (25 %) as localhost`; of headers, cookies and bodies the names only, as
    their values may be secrets."""
    sent = tuple(dict.fromkeys(name for target in workload.targets for name in target.sends))
    more = f" and {len(sent) - MOST_SENT} more" if len(sent) > MOST_SENT else ""
    only_get = "GET " if all(target.method == "GET" for target in workload.targets) else ""
    scheme = "https://" if workload.scheme == "https" else ""
    return f"{only_get}{_paths(workload)} as {scheme}{workload.host}" + (f", sending {', '.join(sent[:MOST_SENT])}{more}" if sent else "")


def _paths(workload: Workload) -> str:
    asked = target_rows(workload)
    shown = asked[0].path if len(asked) == 1 else ", ".join(f"{each.path} ({100 * each.share:.3g} %)" for each in asked[:5])
    return shown + (f" and {len(asked) - 5} more" if len(asked) > 5 else "")


def _load(plan: Plan) -> str:
    panels = plan.panels()
    if len(panels) < 2:
        return f"{panels[0].concurrency if panels else plan.concurrency} at a time"
    return " and ".join(f"{panel.concurrency} at a time for {_metric(plan, panel.metric)}" for panel in panels)


def metrics(plan: Plan) -> str:
    """What is compared."""
    return " and ".join(_metric(plan, panel.metric) for panel in plan.panels()) or _metric(plan, plan.metric)


def _metric(plan: Plan, metric: Metric) -> str:
    return metric_words(metric, UNIT[plan.transport])


def arm_in_words(arm: Arm) -> str:
    """PHP and settings."""
    settings = "; ".join(f"{key}={value}" for key, value in sorted(arm.settings.items()))
    return f"{_build(arm.php)}, {settings or 'settings as the app and the distribution have them'}"


def loaded_control(plan: Plan) -> str:
    """The control of the throughput treatments in words; '' when it is the only one."""
    others = [panel.control for panel in plan.panels() if panel.control != plan.control]
    return arm_in_words(others[0]) if others else ""


def scope(plan: Plan, host: HostFacts | None) -> str:
    """What nothing is claimed beyond."""
    return scope_of(_app(plan), plan.workload, (plan.control, *plan.treatments), host, plan.seed)


def scope_of(app: str, workload: Workload, arms: Sequence[Arm], host: HostFacts | None, seed: int) -> str:
    """The same of an app with its version, its workload and some arms."""
    builds = _builds([arm.php for arm in arms])
    machine = f"{host.cpu_model}, {count(host.cores, 'core')}, Linux {host.kernel}" if host else "not recorded"
    mix = f"{app}, {count(len(workload.targets), 'target')}"
    return f"This host ({machine}), this mix ({mix}), these builds ({builds}), seed {seed}; it says nothing about others."


def host_in_words(host: HostFacts | None) -> str:
    """The machine in one line; '' when it was not recorded."""
    if host is None:
        return ""
    versions = "".join(f", {name} {said}" for name, said in _servers(host))
    return (
        f"{host.cpu_model}, {count(host.cores, 'core')}, {host.memory_kib / 2**20:.1f} GiB, Linux {host.kernel}{versions}; "
        f"CPU time from {host.cpu_source}, {_cores(host.measured_cores)} measured, {_cores(host.helper_cores)} for the rest; "
        f"clock {host.clock_source}, governor {host.governor or 'unknown'}, huge pages {host.thp or 'unknown'}, "
        f"steal {percent(host.steal_fraction)}"
    )


def where_measured(host: HostFacts | None, arms: Sequence[Arm]) -> tuple[EnvironmentRow, ...]:
    """Machine, servers and the arms' builds of PHP."""
    facts: list[tuple[str, str]] = []
    if host is not None:
        facts += [
            ("processor", f"{host.cpu_model}, {count(host.cores, 'core')}"),
            ("cores", f"{_cores(host.measured_cores)} measured, {_cores(host.helper_cores)} for generator, database and runner"),
            ("memory", f"{host.memory_kib / 2**20:.1f} GiB, huge pages {host.thp or 'unknown'}, {host.hugetlb_pages} hugetlb pages"),
            ("kernel", f"Linux {host.kernel}, clock {host.clock_source}, governor {host.governor or 'unknown'}"),
            ("CPU time", f"from {host.cpu_source}"),
            ("before", f"load {host.load_1min:.2f}, steal {percent(host.steal_fraction)}"),
            *_servers(host),
        ]
    facts += [("PHP", said) for said in dict.fromkeys(_build(arm.php) for arm in arms)]
    return tuple(EnvironmentRow(name, value) for name, value in facts)


def repeat(argv: tuple[str, ...], seed: int, command: str) -> str:
    """The command line that measures it again; with its seed where that is the one of the command
    line.

    What `command` measured as a part of a larger run (a study, a tune) has a seed of its own, which
    follows from that run's.
    """
    words = list(argv[1:]) if argv and PurePath(argv[0]).name == "phpdyno" else list(argv)
    if command in SEEDED and words[:1] in ([], [command]) and not any(word == "--seed" or word.startswith("--seed=") for word in words):
        words += ["--seed", str(seed)]
    return shlex.join(["phpdyno", *words])


def _app(plan: Plan) -> str:
    return f"{plan.app} {plan.app_version}".strip()


def _build(php: PhpBuild) -> str:
    build_id = f", build id {php.build_id[:12]}" if php.build_id else ""
    return f"PHP {php.version} ({php.fpm}{build_id})"


def _builds(several: Sequence[PhpBuild]) -> str:
    """Many are told apart by their build ids alone: where each lies is in the environment."""
    told = dict.fromkeys(map(_build, several))
    if len(told) <= MOST_PLACES:
        return ", ".join(told)
    versions = dict.fromkeys(php.version for php in several)
    ids = {version: dict.fromkeys(php.build_id[:12] or php.fpm for php in several if php.version == version) for version in versions}
    return ", ".join(f"PHP {version}, build id{'' if len(mine) == 1 else 's'} {', '.join(mine)}" for version, mine in ids.items())


def _servers(host: HostFacts) -> list[tuple[str, str]]:
    # The builds of PHP are said beside the arms.
    return [(name, said.removeprefix(name + "/")) for name, said in sorted(host.versions.items()) if not name.startswith("php")]


def _cores(cores: tuple[int, ...]) -> str:
    return f"core{'' if len(cores) == 1 else 's'} {', '.join(str(core) for core in cores)}" if cores else "no core"
