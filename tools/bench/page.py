"""docs/benchmarks.md as text. Pure."""

from collections.abc import Mapping, Sequence

from phpdyno.model.facts import HostFacts
from phpdyno.report.scope import host_in_words
from tools.bench.figures import Figure, measured_text, reached
from tools.bench.results import Part, SectionResult, Stamp

HEAD = """# Benchmarks

Written by `make bench`; not edited by hand. A figure holds for the machine and the code named here and for nothing else.

- *Reached* is judged on the interval: **yes** when all of it meets the target, **no** when none of it does, **open** when it straddles it.
- Intervals are 95 %. Of a ratio: the anytime-valid confidence sequence that verdicts rest on, over pairs of slots in random order, all
  intervals of a section together. Of a share: the same over blocks; of a share of comparisons (section Truth) the exact binomial one
  (Clopper and Pearson). Of a correlation: Student's t over comparisons. Of a median: between two order statistics.
- What takes minutes (section Newcomer) is measured once and judged by that.
- *Never* is judged by the count, whatever the interval: no interval can show it.
- What has no finite interval is not shown as a number.
"""


def render_page(*, date: str, stamp: Stamp, titles: Mapping[str, str], results: Mapping[str, SectionResult]) -> str:
    """The whole page; a section without a result says so."""
    versions: dict[str, str] = {}
    for name in titles:
        if name in results:
            versions |= results[name].versions
    facts = [
        ("date", date),
        ("machine", _machine(stamp)),
        ("phpdyno", f"{stamp.phpdyno}, commit {_commit(stamp)}"),
        *sorted(versions.items()),
    ]
    head = HEAD + "\n" + _table(("what", "value"), facts)
    return "\n".join([head, *(_section(title, results.get(name), stamp) for name, title in titles.items())])


def _section(title: str, result: SectionResult | None, stamp: Stamp) -> str:
    if result is None:
        return f"## {title}\n\nNot measured yet.\n"
    texts = [f"## {title}\n", f"{_about_parts(result.parts, stamp) if result.parts else _about(result, stamp)}\n"]
    if result.figures:
        texts.append(_table(("figure", "measured", "target", "reached"), [_row(figure) for figure in result.figures]))
    texts += [f"{_part(part)}.\n" for part in result.parts]
    texts += [f"Warning: {text}.\n" for text in result.warnings]
    texts += [f"Not measured: {text}.\n" for text in result.skipped]
    return "\n".join(texts)


def _about(result: SectionResult, stamp: Stamp) -> str:
    about = f"Measured {result.date} in {result.took_s:.0f} s; others used {100 * result.background:.1f} % of a core just before it."
    if not result.stamp.same_code(stamp):
        about += f" Of other code: {_commit(result.stamp)}."
    if not result.stamp.same_machine(stamp):
        about += f" On another machine: {_machine(result.stamp)}."
    return about


def _about_parts(parts: Sequence[Part], stamp: Stamp) -> str:
    """When, by what and where: as the parts have it, whenever they were put together."""
    about = f"Measured {_days(min(part.began for part in parts), max(part.ended for part in parts))} in {_of(len(parts), len(parts))}."
    codes = [part.code for part in parts if part.code != stamp.package]
    if codes:
        about += f" Of other code: {_of(len(codes), len(parts))} ({', '.join(dict.fromkeys(codes))})."
    machines = [_machine(part.host) for part in parts if not stamp.same_machine(part.host)]
    if machines:
        about += f" On another machine: {_of(len(machines), len(parts))} ({'; '.join(dict.fromkeys(machines))})."
    return about


def _of(some: int, every: int) -> str:
    return f"{'' if some == every else f'{some} of '}{every} part{'' if every == 1 else 's'}"


def _part(part: Part) -> str:
    return f"{part.what}: {_days(part.began, part.ended)}, code {part.code}, {host_in_words(part.host)}"


def _days(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _row(figure: Figure) -> tuple[str, str, str, str]:
    return figure.name, measured_text(figure), figure.target.text if figure.target else "–", reached(figure)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "".join("| " + " | ".join(_cell(text) for text in line) + " |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _machine(seen: Stamp | HostFacts) -> str:
    return f"{seen.cpu_model}, {seen.cores} cores, {seen.memory_kib / 2**20:.1f} GiB, Linux {seen.kernel}"


def _commit(stamp: Stamp) -> str:
    return stamp.commit[:12] + (" with uncommitted edits" if stamp.edited else "")
