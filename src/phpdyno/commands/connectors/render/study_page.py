"""A study of clients of Tarantool as a Markdown page: each report of the reference in its place,
ours beside it. Pure."""

import re
from collections.abc import Iterator, Sequence

from phpdyno.commands.connectors.found import LabFound, OperationFound, RowFound
from phpdyno.commands.connectors.study import ConnectorStudy, Ours
from phpdyno.commands.connectors.view import SEVERAL, calls, share, speed, us
from phpdyno.model.facts import HostFacts
from phpdyno.report.markdown import plain, table
from phpdyno.report.words import NOTHING

OF_SQL = "sql-"
FOR_ALL = "select"
"""The operation whose speed-up is told first."""
PATH = re.compile(r"(?<!\S)/\S*\w")


def study_page(study: ConnectorStudy, found: LabFound, *, measured: str) -> str:
    """The whole page; `measured` says when and by which phpdyno. Nothing in it names a path of the
    machine."""
    parts = {part.operation: part for part in found.parts}
    binary = [name for name in study.operations if name in parts and not name.startswith(OF_SQL)]
    sql = [name for name in study.operations if name in parts and name.startswith(OF_SQL)]
    blocks = [
        f"# {plain(study.title)}",
        *_answer(study, parts),
        study.about.strip(),
        "This page was made by `phpdyno connectors --study` from the run that it describes; edit the study file, not the page.",
        "## Machine and method",
        table(("", ""), [("measured", measured), *_host(found.host)], left=2),
        _method(study, found),
        *_table_of(study, parts, binary, "Operations per second"),
        *_table_of(study, parts, sql, "The same through SQL"),
        *_speeds(study, parts),
        *_places(study, found),
        "## The reference",
        plain(study.reference.source) + ".",
        table(("", ""), list(study.reference.setup.items()), left=2),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _named(study: ConnectorStudy) -> Iterator[tuple[str, Ours | None, dict[str, float]]]:
    """Each row of the page: its title, ours, and the reference's figures."""
    for report in study.row:
        yield report.title, report.ours, report.per_s
    for more in study.more:
        yield more.title, more.ours, {}


def _found(part: OperationFound | None, study: ConnectorStudy, ours: Ours | None) -> RowFound | None:
    if part is None or ours is None:
        return None
    name = ours.row(study.over).name
    return next((row for row in part.rows if row.row == name and not row.problem), None)


def _answer(study: ConnectorStudy, parts: dict[str, OperationFound]) -> list[str]:
    """The answer in one paragraph: what the reference gained, what its client gains here by
    each engine, and what ours does."""
    part = parts.get(FOR_ALL)
    if part is None:
        return []
    best: dict[tuple[bool, str], RowFound] = {}
    claimed = []
    for _, ours, per_s in _named(study):
        row = _found(part, study, ours)
        if ours is None or ours.engine == "sync":
            continue
        base = _base_of(study, ours)
        if FOR_ALL in per_s and FOR_ALL in base:
            claimed.append(per_s[FOR_ALL] / base[FOR_ALL])
        kind = (bool(per_s), ours.engine)
        if row is not None and row.ratio and row.ratio > (best[kind].ratio or 0.0 if kind in best else 0.0):
            best[kind] = row
    if not best or not claimed:
        return []
    told = {of: "; ".join(f"`{row.row}` {_speed(row)}" for (theirs, _), row in best.items() if theirs is of) for of in (True, False)}
    said = [
        f"Reference, over the same client's sync row: {min(claimed):.1f}× to {max(claimed):.1f}×.",
        f"Here, over our sync client. Its clients: {told[True]}." if told[True] else "Here, over our sync client.",
    ]
    said.append(f"Added: {told[False]}." if told[False] else "")
    return [f"**Speed of `{FOR_ALL}` over one request at a time.** " + plain(" ".join(each for each in said if each))]


def _table_of(study: ConnectorStudy, parts: dict[str, OperationFound], operations: Sequence[str], heading: str) -> list[str]:
    if not operations:
        return []
    rows, before = [], set()
    for title, ours, per_s in _named(study):
        figures = [_found(parts.get(name), study, ours) for name in operations]
        theirs = [per_s.get(name) for name in operations]
        if not any(theirs) and (not any(figures) or per_s):
            continue
        key = (ours, tuple(theirs))
        if key not in before:
            before.add(key)
            rows.append((title, *(_cell(figure, figure_of_theirs) for figure, figure_of_theirs in zip(figures, theirs, strict=True))))
    said = "Here, and in brackets the reference's figure, from another machine."
    return [f"## {heading}", said, table(("row", *operations), rows)]


def _cell(row: RowFound | None, theirs: float | None) -> str:
    here = NOTHING if row is None or row.operations_per_s is None else f"{row.operations_per_s:,.0f}"
    return here if theirs is None else f"{here} ({theirs:,.0f})"


def _speeds(study: ConnectorStudy, parts: dict[str, OperationFound]) -> list[str]:
    """One operation: the speed-up of ours and of theirs over one request at a time, and where the
    CPU goes."""
    part = parts.get(FOR_ALL)
    if part is None:
        return []
    sync = next((report.per_s for report in study.row if report.ours and report.ours.engine == "sync" and FOR_ALL in report.per_s), {})
    rows, before = [], set()
    for title, ours, per_s in _named(study):
        row = _found(part, study, ours)
        if row is None or (row.row in before and FOR_ALL not in per_s):
            continue
        before.add(row.row)
        base = _base_of(study, ours) or sync
        theirs = f"{per_s[FOR_ALL] / base[FOR_ALL]:.1f}×" if FOR_ALL in per_s and FOR_ALL in base else NOTHING
        times = (us(value) for value in (row.client_ns, row.server_ns, row.p50_ns, row.p99_ns))
        rows.append((title, _speed(row), theirs, share(row), *times, calls(row)))
    costs = ("client CPU", "server CPU", "median", "99 %", "syscalls")
    head = ("row", "here, over our sync client", "reference, over its sync row", "of the ceiling", *costs)
    said = (
        "The ceiling is what the server does when requests are built beforehand and answers are only counted. In brackets: the interval; "
        "with a star the lowest and the highest ratio of a block, where there are too few blocks for an interval."
    )
    return [f"## `{FOR_ALL}`: what is gained, and what it costs", said, table(head, rows)]


def _base_of(study: ConnectorStudy, ours: Ours | None) -> dict[str, float]:
    """The reference's figures of the same client, one request at a time."""
    if ours is None:
        return {}
    same = (
        each.per_s
        for each in study.row
        if each.ours is not None
        and (each.ours.connector, each.ours.packer, each.ours.engine) == (ours.connector, ours.packer, "sync")
        and FOR_ALL in each.per_s
    )
    return next(same, {})


def _speed(row: RowFound) -> str:
    """A speed with its interval, or from where to where its blocks went, marked by a star."""
    if row.ratio is None:
        return "1 (control)"
    if row.low is None or row.high is None:
        alone = row.blocks < SEVERAL or row.least is None or row.most is None
        return f"{row.ratio:.2f}×" if alone else f"{row.ratio:.2f}× ({row.least:.2f} to {row.most:.2f})*"
    return speed(row)


def _places(study: ConnectorStudy, found: LabFound) -> list[str]:
    """Every report, and what stands in its place."""
    rows = []
    for report in study.row:
        name = report.ours.row(study.over).name if report.ours else ""
        measured = [part.operation for part in found.parts for row in part.rows if row.row == name and not row.problem]
        why = [report.skipped, report.differs, found.skipped.get(name, ""), *_problems(found, name)]
        if report.failed:
            why.append(f"The reference's own run failed ({report.failed}).")
        if report.rejected:
            why.append(f"{report.rejected} iterations of the reference were thrown away.")
        state = "skipped" if not name or name in found.skipped else "measured" if measured else "no figure"
        rows.append((f"`{report.report}`", f"`{name}`" if name else NOTHING, state, " ".join(each for each in why if each)))
    return ["## Every report in its place", table(("report", "row of ours", "", "what differs, and why"), rows, left=4)]


def _problems(found: LabFound, name: str) -> list[str]:
    """Why a row has no figure, and in which operations; paths of the machine are left out."""
    by_reason: dict[str, list[str]] = {}
    for part in found.parts:
        for row in part.rows:
            if row.row == name and row.problem:
                by_reason.setdefault(PATH.sub("…", row.problem).strip(), []).append(part.operation)
    return [f"No figure for {', '.join(operations)}: {reason}." for reason, operations in by_reason.items()]


def _method(study: ConnectorStudy, found: LabFound) -> str:
    control = study.control.row(study.over).name
    return (
        f"Every row is measured beside one control (`{control}`), in pairs, in fresh processes, in an order that a seed gives. "
        "Connecting, starting and warming up are not timed; each answer is checked; the space is as it was in the beginning "
        "before each slot. All processes and threads of a row share the client's cores, and threads run in a PHP that is built for them. "
        f"Nothing is thrown away but by a rule fixed in advance. Intervals hold together with {found.confidence:.0%} "
        "confidence. Speeds of one row on two machines cannot be compared: ratios can."
    )


def _host(host: HostFacts | None) -> list[tuple[str, str]]:
    if host is None:
        return []
    client, server = (", ".join(map(str, cores)) for cores in (host.measured_cores, host.helper_cores))
    servers = ", ".join(f"{name} {version}" for name, version in host.versions.items() if not name.startswith("php ("))
    php = ", ".join(version for name, version in host.versions.items() if name.startswith("php ("))
    return [
        ("processor", f"{host.cpu_model}, {host.cores} cores: clients on {client}, the server on {server}"),
        ("system", f"Linux {host.kernel}, PHP {php}, {servers}"),
    ]
