"""A study of pool sizes as a Markdown page: the answer first, then our figures beside the
reference's. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from phpdyno.commands.size.found import SizeFound
from phpdyno.commands.size.record import SizeHost, SizeRun
from phpdyno.commands.size.render.terminal import spanned
from phpdyno.commands.size.study import SizeStudy
from phpdyno.commands.size.words import MATTERS, manager_cells, mib, part, rate
from phpdyno.report.markdown import plain, table
from phpdyno.report.words import NOTHING, count, duration


def study_page(study: SizeStudy, found: Mapping[str, SizeFound], *, runs: Mapping[str, SizeRun]) -> str:
    """The whole page, of the apps that have an answer and their runs. Nothing in it names a path of
    the machine."""
    blocks = [
        f"# {plain(study.title)}",
        _answer(found, [name for name in study.app if name not in found]),
        plain(study.about),
        "This page was made by `phpdyno size --study` from the runs that it describes; edit the study file, not the page.",
        "## Claimed and found",
        *_claims(study),
        *(block for name, each in found.items() for block in _of_app(name, study, each)),
        "## The reference's table",
        *_tables(study),
        "## Machine and method",
        *(table((name, ""), _measured(run), left=2) for name, run in runs.items()),
        _METHOD,
        "## The reference",
        plain(study.reference.source) + ".",
        table(("", ""), list(study.reference.setup.items()), left=2),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


_METHOD = (
    "Static pools of more and more workers, each fresh and warm, are saturated (twice as many requests in flight as workers, 64 more at "
    "most). The smallest near the best throughput is held against a smaller and a larger pool and against cores × 2, on fresh pools in "
    "random order; ratios are paired by round, intervals are Student's t on logarithms. Memory is PSS, a shared page counted once."
)


def _answer(found: Mapping[str, SizeFound], lacking: Sequence[str]) -> str:
    """The answer in one paragraph: the number of each app, and whether cores × 2 held."""
    said = [f"`{name}`: {plain(each.answer)} ({_held(each)})." for name, each in found.items()]
    cores = next((each.cores for each in found.values()), 1)
    said += [f"`{name}`: no answer." for name in lacking]
    return f"**Answer.** With {count(cores, 'core')} for PHP: " + " ".join(said)


def _held(found: SizeFound) -> str:
    """Whether twice as many workers as cores are a good number here."""
    row = next((each for each in found.confirmed if each.workers == 2 * found.cores), None)
    if row is None or row.over is None:
        return "cores × 2 was not measured"
    cost = 1.0 - 1.0 / row.over.value
    if row.workers == found.recommended.workers or abs(cost) < MATTERS:
        return "cores × 2 held"
    if row.over.low is None or row.over.high is None or row.over.low < 1.0 < row.over.high:
        return "cores × 2 was not told apart from it"
    return f"cores × 2 did not hold: it {'loses' if cost > 0.0 else 'gains'} {part(abs(cost))}"


def _claims(study: SizeStudy) -> Iterator[str]:
    if study.reference.claim:
        yield table(("the reference says", "here"), [(each.said, each.answer) for each in study.reference.claim], left=2)


def _of_app(name: str, study: SizeStudy, found: SizeFound) -> Iterator[str]:
    yield f"## {plain(name)}"
    yield plain(study.app[name].about) if name in study.app else ""
    yield f"**{plain(found.answer)}**"
    yield "\n".join(f"- {plain(said)}" for said in found.sentences)
    best = max((row.per_s for row in found.pools), default=1.0)
    rows = [
        (
            str(row.workers),
            rate(row.per_s),
            part(row.per_s / best),
            NOTHING if row.alone_per_s is None else rate(row.alone_per_s),
            NOTHING if row.half_per_s is None else rate(row.half_per_s),
            f"{row.cpu_ms:.2f}",
            NOTHING if row.memory is None else mib(row.memory.pss_pool_kib + (row.memory.master_kib or 0.0)),
        )
        for row in found.pools
    ]
    yield "Search, one visit each: requests per second saturated, with as many requests in flight as workers, and with half as many:"
    yield table(("workers", "saturated", "of the best", "as many", "half as many", "CPU ms", "memory"), rows)
    yield "Confirmation:"
    yield table(
        ("workers", "what", "requests/s", "memory", "against the recommended pool"),
        [
            (str(row.workers), row.what, spanned(row.per_s), NOTHING if row.memory_kib is None else mib(row.memory_kib), row.words or "–")
            for row in found.confirmed
        ],
        left=2,
    )
    if found.managers:
        yield f"A burst of {rate(found.managers[0].rate_per_s)} requests per second after an idle spell:"
        yield table(
            ("pm", "first answer", "p50", "p99", "failed", "workers started", "a second", "while idle"), map(manager_cells, found.managers)
        )
    yield "Other people's formulas:"
    yield table(
        ("whose", "workers", "here"),
        [(each.name, NOTHING if each.workers is None else f"{each.workers:,}", each.words) for each in found.formulas],
    )
    if found.costs:
        yield "Each target by itself:"
        yield table(("target", "own memory of a worker", "CPU ms", "time ms", "waiting"), _targets(found))


def _targets(found: SizeFound) -> list[Sequence[str]]:
    return [
        (each.label, f"{each.private_kib / 1024:.1f} MiB", f"{each.cpu_ms:.2f}", f"{each.wall_ms:.2f}", part(each.waiting))
        for each in found.costs
    ]


def _tables(study: SizeStudy) -> Iterator[str]:
    loads = sorted({load for each in study.reference.table for cells in each.per_s.values() for load in cells}, key=int)
    rows = [
        (each.machine, pool, *(f"{cells[load]:,.0f}" if load in cells else NOTHING for load in loads))
        for each in study.reference.table
        for pool, cells in each.per_s.items()
    ]
    if rows:
        yield "Requests per second, by requests in flight (c):"
        yield table(("machine", "pool", *(f"c={load}" for load in loads)), rows, left=2)


def _measured(run: SizeRun) -> list[tuple[str, str]]:
    """When and on what an app was measured."""
    header, seen = run.header, run.last(SizeHost)
    when = ("measured", f"{header.started[:10]}, phpdyno {header.phpdyno}, {duration(run.spent_s)} of measuring, seed {header.asked.seed}")
    if seen is None:
        return [when]
    host = seen.host
    servers = ", ".join(dict.fromkeys(f"{name.partition(' ')[0]} {version}" for name, version in host.versions.items()))
    return [
        when,
        ("processor", f"{host.cpu_model}, {count(host.cores, 'core')}, {host.memory_kib / 2**20:.1f} GiB"),
        ("cores", f"{count(len(host.measured_cores), 'core')} for php-fpm, {count(len(host.helper_cores), 'core')} for all else"),
        ("system", f"Linux {host.kernel}, steal {part(host.steal_fraction)}"),
        ("servers", servers),
    ]
