"""A study as a Markdown page: the machine, the method, our tables beside the reference's figures,
what differs. Pure."""

from collections.abc import Sequence

from phpdyno.commands.compare.view.environment import UNTIL
from phpdyno.commands.study.view.cells import (
    METRIC,
    aa_words,
    against_control,
    app_words,
    busy,
    carry_over_lines,
    components,
    contrast_cells,
    cpu_ratio,
    failed,
    heading,
    per_s,
    reference_per_s,
    share,
    warning_lines,
)
from phpdyno.commands.study.view.claims import HEADS, EffectClaim, claims_of, in_one_sentence, in_times, metric_of
from phpdyno.commands.study.view.shape import ArmFigures, ComparisonFigures, StudyView, SyscallTable
from phpdyno.commands.study.view.sweeps import method_words, sweep_blocks
from phpdyno.model.facts import HostFacts
from phpdyno.model.notices import first_of, rest_of
from phpdyno.model.plan import Metric
from phpdyno.report.markdown import listed, plain, table
from phpdyno.report.words import NOTHING, drained, draining, duration, percent

LEAST_CALLS = 10.0
"""Calls per 1,000 requests below which a syscall is left out of the table, unless the reference has
it."""


def study_page(view: StudyView) -> str:
    """The whole page. Nothing in it names a path of the machine."""
    parts = [
        f"# {plain(view.title)}",
        *(f"**{plain(each)}**" for each in first_of(view.warnings)),
        *_claimed(view),
        "This page was made by `phpdyno study` from the run that it describes; edit the study file, not the page.",
        view.about.strip(),
        *_machine(view),
        *_builds(view),
        *_method(view),
        *(block for each in view.comparisons if each.arms for block in _comparison(view, each)),
        *_slot_lengths(view),
        *_contrasts(view),
        *(block for each in view.sweeps if each.arms for block in sweep_blocks(view, each)),
        *(block for table in view.syscalls for block in _syscalls(view, table)),
        *_differences(view),
        *_missing(view),
        *_repeat(view),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# ---- the answer --------------------------------------------------------------------------------


def _claimed(view: StudyView) -> list[str]:
    """What the reference claims, what was found here, and why they differ."""
    return claimed_and_found(
        claims_of(view), metric_of(view.contrasts), in_one_sentence(view), swept=bool(view.sweeps), times=in_times(view)
    )


def claimed_and_found(claims: Sequence[EffectClaim], metric: Metric, said: str, *, swept: bool, times: bool) -> list[str]:
    """The same, ready to be written; a column where any claim has something to put into it."""
    if not claims:
        return []
    better = ", times better" if times else ""
    theirs = "claimed" if swept or metric == "throughput" else f"claimed, {HEADS['throughput']}"
    columns = (
        ("question", [each.question for each in claims]),
        (f"{theirs}{better}", ["" if each.claimed == NOTHING else each.claimed for each in claims]),
        ("here" if swept else f"here, {HEADS[metric]}{better}", ["; ".join(each.here) for each in claims]),
        (f"here, {HEADS['cpu']}{better}", ["; ".join(each.cpu) for each in claims]),
        ("why it differs", [" ".join(each.why) for each in claims]),
    )
    shown = [(head, [cell or NOTHING for cell in cells]) for head, cells in columns if any(cells)]
    rows = zip(*(cells for _, cells in shown), strict=True)
    answer = [f"**Answer.** {said[:1].upper()}{said[1:]}."] if said else []
    return [*answer, table([head for head, _ in shown], rows, left=len(shown))]


# ---- machine and method -----------------------------------------------------------------------


def _machine(view: StudyView) -> list[str]:
    host = view.host
    facts = [("measured", f"{view.started[:10]}, phpdyno {view.phpdyno}, {duration(view.elapsed_s)} of measuring, seed {view.seed}")]
    if host is not None:
        facts += _host_facts(host)
    if view.php:
        facts.append(("servers", ", ".join([f"PHP {view.php}", *(f"{name} {said}" for name, said in view.servers.items())])))
    facts += [("warning", warning) for warning in rest_of(view.warnings)]
    return ["## Machine", table(("", ""), facts, left=2)]


def _builds(view: StudyView) -> list[str]:
    if not view.builds:
        return []
    head = ("build", "PHP", "compiler", "interpreter", "trained on", "made in")
    rows = [
        (" without ".join((name, *each.skipped)), each.php, each.compiler, each.vm_kind, each.trained_on or NOTHING, duration(each.took_s))
        for name, each in view.builds.items()
    ]
    said = (
        "Compiled before anything was measured, and used only after a look at each on the app's own servers: extensions, opcache, answers."
    )
    return ["## Builds", table(head, rows, left=5), said]


def _host_facts(host: HostFacts) -> list[tuple[str, str]]:
    return [
        ("processor", f"{host.cpu_model}, {host.cores} cores, {host.memory_kib / 2**20:.1f} GiB"),
        ("system", f"Linux {host.kernel}, clock {host.clock_source}, steal {percent(host.steal_fraction)}"),
        ("cores", f"{_cores(host.measured_cores)} for the instance under test, {_cores(host.helper_cores)} for all else"),
    ]


def _cores(cores: Sequence[int]) -> str:
    return "core " + ", ".join(map(str, cores)) if cores else "none"


def _method(view: StudyView) -> list[str]:
    swept = method_words(view.sweeps)
    if not view.comparisons:
        return ["## Method", swept] if swept else []
    loaded = _loaded(view)
    confidence = percent(view.comparisons[0].confidence)
    first = (
        "Each arm runs on real nginx and php-fpm (and MariaDB where the app has one) beside its control, in pairs of short slots that ask "
        "for the same requests, the order decided by a coin. Every block starts fresh instances; the block is the observation. The "
        "interval of a ratio holds at every look, and those of one comparison to its control, from which the verdicts follow, hold all "
        f"together with {confidence}. Before anything is timed both arms must give equal answers, and every changed setting must be seen "
        "at work in the running worker."
    )
    cost = "CPU per request is the CPU of all php-fpm processes per valid answer, with one worker and one request in flight."
    speed = (
        f"Throughput is valid completions per second with {view.concurrency} requests in flight on {view.workers} static workers, "
        f"{_arrival(loaded)}, generator and servers on the same machine; failed requests are counted and do not end a slot."
    )
    asked = any(each.metric == "throughput" for each in view.comparisons)
    told = [cost, speed if asked else "", *(_slot_words(each) for each in loaded), _levels(confidence) if loaded else ""]
    return ["## Method", first, " ".join(filter(None, told)), swept]


def _levels(confidence: str) -> str:
    """What the intervals in the tables of throughput are, besides those of the ratios."""
    return (
        "The intervals of requests per second describe how far the blocks of one arm lie apart. They are of levels over minutes in which "
        "the machine drifts, and hold together with no other: arms are compared by the ratios. The ratios of php-fpm's CPU beside "
        f"throughput hold together with {confidence} among themselves, not with those of throughput."
    )


def _loaded(view: StudyView) -> list[ComparisonFigures]:
    return [each for each in view.comparisons if each.metric == "throughput" and each.arms]


def _arrival(loaded: Sequence[ComparisonFigures]) -> str:
    """A loop is closed when the next request is sent as one is done; a burst sends them all at
    once."""
    bursts = [f"`{each.name}`" for each in loaded if each.burst]
    if not bursts:
        return "in a closed loop"
    return f"in single bursts ({', '.join(bursts)})" + (" or in a closed loop (all others)" if len(bursts) < len(loaded) else "")


def _slot_words(comparison: ComparisonFigures) -> str:
    slot = comparison.slot_requests
    if slot is None:
        return ""
    reason = f": {comparison.slot_reason.rstrip('.')}" if comparison.slot_reason else ""
    if comparison.burst:
        return (
            f"A slot of `{comparison.name}` is one burst of {slot} requests, all sent at once; none is sent when another is done{reason}."
        )
    return f"A slot of `{comparison.name}` holds {slot} requests, so that {draining(comparison.concurrency, slot)}{reason}."


# ---- tables -----------------------------------------------------------------------------------


def _comparison(view: StudyView, comparison: ComparisonFigures) -> list[str]:
    made = [f"## {plain(heading(comparison))}"]
    made += _throughput(view, comparison) if comparison.metric == "throughput" else _cpu(comparison)
    unclear = [f"`{each.arm}`: {each.verdict}" + (f" ({each.reason})" if each.reason else "") for each in comparison.arms[1:]]
    excluded = (
        f" {comparison.blocks_excluded} observations excluded for a covariate declared beforehand." if comparison.blocks_excluded else ""
    )
    verdicts = f"Verdicts at a margin of {percent(comparison.margin)}{UNTIL[comparison.settle]}: {plain('; '.join(unclear))}.{excluded}"
    return [*made, verdicts, *_beside(comparison)]


def _beside(comparison: ComparisonFigures) -> list[str]:
    """What the effects are to be read with: the control against itself, other slot lengths,
    warnings."""
    aa = aa_words(comparison)
    carried = listed("Carry-over, the effect by slot length:", carry_over_lines(comparison))
    return [f"{aa}." if aa else "", *carried, *listed("Warnings:", warning_lines(comparison))]


def _throughput(view: StudyView, comparison: ComparisonFigures) -> list[str]:
    rows = [
        (
            each.arm,
            *each.levels,
            per_s(each),
            against_control(each),
            *failed(each.cost)[1:],
            busy(each.host_busy),
            reference_per_s(view, each.arm),
        )
        for each in comparison.arms
    ]
    head = ("arm", *view.factors, "requests per s", "against the control", "502", "time-outs", "other failures", "host busy", "reference")
    costs = [(each.arm, failed(each.cost)[0], *components(each.cost), cpu_ratio(each)) for each in comparison.arms]
    names = ("arm", "requests", "php-fpm", "nginx", "database", "host", "CPU of php-fpm, control / arm")
    return [
        table(head, rows, left=1 + len(view.factors)),
        "The same slots, milliseconds of CPU per valid request (totals, without an interval), and the ratio of php-fpm's:",
        table(names, costs),
    ]


def _cpu(comparison: ComparisonFigures) -> list[str]:
    head = ("arm", "php-fpm, control / arm", "php-fpm ms", "nginx ms", "database ms", "host ms", "requests", "blocks")
    rows = [(each.arm, against_control(each), *components(each.cost), failed(each.cost)[0], str(each.blocks)) for each in comparison.arms]
    return [table(head, rows), "The ratio has its interval; the milliseconds of CPU per request are totals that describe, without one."]


def _slot_lengths(view: StudyView) -> list[str]:
    """Arms whose throughput was measured at several slot lengths, side by side: what filling and
    draining do to a ratio."""
    found: dict[tuple[str, str, str], list[tuple[ComparisonFigures, ArmFigures]]] = {}
    for comparison in view.comparisons:
        if comparison.metric == "throughput" and comparison.slot_requests is not None:
            for arm in comparison.arms[1:]:
                found.setdefault((comparison.app, comparison.control, arm.arm), []).append((comparison, arm))
    rows = [
        (app, name, each.name, f"{each.slot_requests:,}", NOTHING if each.burst else _tail(each), against_control(arm), str(arm.blocks))
        for (app, _, name), measured in found.items()
        if len({each.slot_requests for each, _ in measured}) > 1
        for each, arm in measured
    ]
    if not rows:
        return []
    head = ("app", "arm", "comparison", "requests per slot", "of them while it drains", "against its control", "blocks")
    said = (
        "Throughput of the same arm in slots of different lengths, each against the control of its own comparison, measured at another "
        "time. Intervals that do not overlap mean that the ratio depends on the slot, or on the time; overlapping ones do not prove that "
        "it does not."
    )
    return ["## The same arms in slots of different lengths", table(head, rows, left=3), said]


def _tail(comparison: ComparisonFigures) -> str:
    return drained(comparison.concurrency, comparison.slot_requests) if comparison.slot_requests else NOTHING


def _contrasts(view: StudyView) -> list[str]:
    if not view.contrasts:
        return []
    head, rows = contrast_cells(view)
    said = (
        "A contrast of two arms neither of which is the control is paired by block: both stood beside the same instance of it. Where they "
        "share too few blocks it is the quotient of their ratios, with an interval made of both."
    )
    if view.reference is None:
        return ["## Arm against arm", table(head, rows), said]
    return ["## Beside the reference", table(head, rows), f"{said} The reference gives no intervals."]


def _syscalls(view: StudyView, found: SyscallTable) -> list[str]:
    known = [position for position in range(len(found.arms)) if any(row.reference[position] is not None for row in found.rows)]
    head = ["syscall", *found.arms, *(f"reference, {found.arms[position]}" for position in known)]
    shown = [row for row in found.rows if max(row.ours) >= LEAST_CALLS or any(value is not None for value in row.reference)]
    rows = [[row.name, *map(_calls, row.ours), *(_calls(row.reference[position]) for position in known)] for row in shown]
    rows.append(["all", *map(_calls, found.totals), *(NOTHING for _ in known)])
    counted = ", ".join(
        f"{requests:,} requests of `{arm}` ({processes} processes traced)"
        for arm, requests, processes in zip(found.arms, found.requests, found.processes, strict=True)
    )
    said = (
        f"Counted by `strace -c` in a pass of its own, after warm-up, one request at a time: {counted}. Included is all that php-fpm's "
        "master and worker do between attaching and the last answer: accepting the connection, the request, what follows the answer, the "
        "master's own timer; nothing is subtracted. Calls that do the same are one row."
    )
    return [f"## {plain(found.app)}: syscalls per 1,000 requests", table(head, rows), said]


def _calls(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


# ---- what differs, what is missing -------------------------------------------------------------


def _differences(view: StudyView) -> list[str]:
    made = ["## What differs, and why"]
    if view.reference is not None:
        ours = _our_setup(view)
        names = list(dict.fromkeys([*ours, *view.reference.setup]))
        rows = [(name, ours.get(name, NOTHING), view.reference.setup.get(name, NOTHING)) for name in names]
        made += [table(("", "here", "reference"), rows, left=3), f"The reference: {plain(view.reference.source)}"]
    told_above = {note for notes in view.why.values() for note in notes}
    notes = [note for note in view.notes if note not in told_above]
    made += ["\n".join(f"- {plain(note)}" for note in notes)]
    return made if len(made) > 2 or notes else []


def _our_setup(view: StudyView) -> dict[str, str]:
    host = view.host
    setup = {
        "processor": f"{host.cpu_model}, {host.cores} cores" if host else "",
        "memory": f"{host.memory_kib / 2**20:.0f} GiB" if host else "",
        "PHP": view.php,
        **{name: said for name, said in view.servers.items() if name == "nginx"},
        "php-fpm": f"{view.workers} static workers" if view.comparisons else "",
        "app": ", ".join(dict.fromkeys([*map(app_words, view.comparisons), *map(app_words, view.sweeps)])),
        "load": _our_load(view),
        "training": "; ".join(dict.fromkeys(each.trained_on for each in view.builds.values() if each.trained_on)),
    }
    return {name: said for name, said in setup.items() if said}


def _our_load(view: StudyView) -> str:
    if view.comparisons:
        return f"{view.concurrency} in flight {_arrival(_loaded(view))}, keep-alive, on the same machine"
    loads = sorted({load for each in view.sweeps for load in each.concurrency})
    return f"closed loop, {', '.join(map(str, loads))} in flight, keep-alive, on the same machine" if loads else ""


def _missing(view: StudyView) -> list[str]:
    if not view.missing:
        return []
    word = {"open": "not measured", "failed": "failed", "impossible": "not possible on this host", "done": "done"}
    lines = [f"- `{each.name}`: {word[each.state]}" + (f": {plain(each.detail)}" if each.detail else "") for each in view.missing]
    return ["## What is missing", "\n".join(lines)]


def _repeat(view: StudyView) -> list[str]:
    scaled = "" if view.scale == 1 else f" The budgets of this run were {share(view.scale)} of those in the study file."
    swept = ["throughput over requests in flight"] if view.sweeps else []
    metrics = " and ".join(dict.fromkeys([*(METRIC[each.metric] for each in view.comparisons), *swept]))
    said = (
        f"`phpdyno study {plain(view.file)}` measures it again ({metrics}). The figures hold for this host, these builds and "
        f"these requests, and say nothing about others.{scaled}"
    )
    return ["## Repeat it", said]
