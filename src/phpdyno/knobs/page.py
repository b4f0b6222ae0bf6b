"""The page docs/reference/knobs.md, made from the catalogue."""

from collections.abc import Iterator

from phpdyno.knobs.catalogue import CATALOGUE
from phpdyno.knobs.catalogue.environment import ALLOCATORS
from phpdyno.knobs.knob import Knob

_LAYERS = {
    "ini": "`ini`: php.ini",
    "env": "`env`: php-fpm's environment",
    "pool": "`pool`: php-fpm's pool",
    "web": "`web`: the web server",
    "os": "`os`: the host",
}
_SAID = (
    "# Knobs",
    "",
    "What phpdyno knows of settings by name. This page is made from the code. Any other php.ini setting and any other variable may be",
    "given too: it is proved by the value that the worker reports. A value outside what a knob takes is refused before anything starts.",
    "",
    "*Proof* is what must be seen in the running worker; without it a treatment is *not effective* and gets no number. *Applying* says "
    "what",
    "a new value costs on a live system: a reload of php-fpm or nginx, a restart, or another binary. *Tried* are the values that `tune`",
    "tries, most promising first; a knob that only some controls give reason to try says when. Where the budget is short, knobs that",
    "promise most are tried and the others are named.",
    "",
)
_ALLOCATORS = (
    "## Allocators",
    "",
    "Candidates for `env.LD_PRELOAD`; those whose file is there are tried.",
    "",
    "| malloc | Debian package | file |",
    "|---|---|---|",
)
_EXAMPLES = {"ini.opcache.memory_consumption": "256", "ini.opcache.jit_buffer_size": "64M", "web.fastcgi_buffers": "16 16k"}
"""A value of each knob whose price is a function; 16 for any other."""


def knobs_page() -> str:
    """Markdown: a section per layer, a part per knob."""
    lines = list(_SAID)
    for layer, title in _LAYERS.items():
        lines += [f"## {title}", ""]
        if layer == "os":
            lines += ["Set as root, while nothing else measures here, and restored at any end, a kill included.", ""]
        for knob in CATALOGUE.values():
            if knob.layer == layer:
                lines += _part(knob)
    lines += [*_ALLOCATORS, *(f"| {each.name} | `{each.package}` | `{each.paths[0]}` |" for each in ALLOCATORS)]
    return "\n".join(lines).rstrip() + "\n"


def _part(knob: Knob) -> list[str]:
    rows = [f"| {name} | {_cell(text)} |" for name, text in _rows(knob) if text]
    return [f"### `{knob.name}`", "", "| | |", "|---|---|", *rows, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _rows(knob: Knob) -> Iterator[tuple[str, str]]:
    yield "takes", knob.domain.describe
    yield "default", f"`{knob.default}`" if knob.default is not None else ""
    yield "PHP", _versions(knob)
    yield "judged by", "throughput" if knob.metric == "throughput" else "CPU per request"
    yield "proof", knob.seen
    yield "applying", knob.apply
    yield "needs", ", ".join(f"`{name}={value}`" for name, value in knob.needs.items())
    yield "risk", knob.risk or "none known"
    yield "memory", knob.price if isinstance(knob.price, str) else _priced(knob)
    yield "tried", _tried(knob)
    yield "promises", knob.promise if knob.tries else ""
    yield "not tried beside", ", ".join(f"`{other}`" for other in knob.apart)
    yield "at work", "where a start puts things well; tune looks at several" if knob.drawn else ""
    yield "not judged under a busy loop", knob.by_time
    yield "reference", knob.reference


def _versions(knob: Knob) -> str:
    least = f"from {'.'.join(map(str, knob.least_php))}" if knob.least_php else ""
    most = f"up to {'.'.join(map(str, knob.most_php))}" if knob.most_php else ""
    return " ".join(part for part in (least, most) if part) or "all"


def _priced(knob: Knob) -> str:
    example = _EXAMPLES.get(knob.name, "16")
    return f"by value: `{example}` takes {knob.price_kib(example)} KiB{' per request under way' if knob.layer == 'web' else ''}"


def _tried(knob: Knob) -> str:
    if callable(knob.tries):
        return f"depends on control and host: {knob.untried}" if knob.untried else "depends on control and host"
    if knob.files:
        return "the files below that are there"
    return ", ".join(f"`{value}`" for value in knob.tries) or f"nothing: {knob.untried}"
