"""README.md of a bundle: what was proved, what each file does, what to type. Pure."""

from phpdyno.bundle.apply.commands import commands_after, commands_back, follow_of
from phpdyno.bundle.manifest import Evidence, Kind, Manifest
from phpdyno.knobs.catalogue import knob_for
from phpdyno.model.runs.tune import Goal
from phpdyno.stats.change import apart, change_of

DOES: dict[Kind, str] = {
    "ini": "php.ini settings, scanned after the distribution's own. They count for every pool of this php-fpm",
    "pool-first": "php.ini settings and variables of the pool, included before its own file, because php-fpm heeds the first line of these",
    "pool-last": "directives of the pool, included after its own file, because php-fpm heeds the last line of these",
    "nginx": "directives of nginx's `http`; a `server` or `location` that has its own keeps it",
    "sysctl": "settings of the kernel",
    "systemd": "environment of php-fpm's service",
    "preload": "the script that php-fpm runs once when it starts",
}

JUDGED_BY: dict[Goal, str] = {
    "cpu": "CPU per request",
    "throughput": "requests per second",
    "p99": "99th percentile of the service time",
    "memory": "memory of a worker",
}


def readme(manifest: Manifest) -> str:
    """The page, for a person who has not seen phpdyno yet."""
    php, host = manifest.php, manifest.host
    lines = [
        f"# Settings for {_cell(manifest.app)}, proved by measurement",
        "",
        f"Made by phpdyno {manifest.phpdyno} on {manifest.made} from the run `{_cell(manifest.run)}` (seed {manifest.seed}),",
        f"for PHP {php.version} (`{php.executable}`, pool `[{php.pool}]`).",
        f"Measured on {_cell(host.cpu_model)}, {host.cores} cores, kernel {_cell(host.kernel)}.",
        "On another machine the effects may differ; the settings stay valid for this version of PHP.",
        "",
        *_effects(manifest),
        *_files(manifest),
        *_by_hand(manifest),
        *_risks(manifest),
        *_steps(manifest),
    ]
    return "\n".join(lines).rstrip() + "\n"


def effect_in_words(each: Evidence) -> str:
    """`−6.8 % (95 % CI −7.7 to −5.9, 21 blocks)` of what it was judged by, or that there is no
    interval."""
    if each.ratio is None or each.low is None or each.high is None:
        return f"no interval ({_blocks(each)})"
    value, ends = apart(change_of(each.ratio, each.low, each.high, less_is_better=each.metric != "throughput"))
    return f"{value} ({100 * each.confidence:.4g} % CI {ends}, {_blocks(each)})"


def _blocks(each: Evidence) -> str:
    return f"{each.blocks} block{'' if each.blocks == 1 else 's'}"


def _effects(manifest: Manifest) -> list[str]:
    whole = manifest.together
    rows = [*([whole] if whole is not None else []), *(each for each in manifest.effects if each != whole)]
    if not rows:
        return []
    about = "The change of what it is judged by. All of it together comes first; a part below it is held against all but itself."
    head = [
        "## What it brings",
        "",
        *([about, ""] if len(rows) > 1 else []),
        "| what | judged by | change | verdict |",
        "|---|---|---|---|",
    ]
    table = [f"| {_cell(each.name)} | {JUDGED_BY[each.metric]} | {effect_in_words(each)} | {_cell(each.verdict)} |" for each in rows]
    return [*head, *table, ""]


def _files(manifest: Manifest) -> list[str]:
    if not manifest.files:
        return []
    lines = ["## What is placed where", ""]
    for each in manifest.files:
        lines.append(f"- `{each.path}` → `{each.target}`: {DOES[each.kind]}.")
        lines += [f"  - `{_cell(name)}` = `{_cell(manifest.settings[name])}`" for name in each.settings if name in manifest.settings]
    return [*lines, ""]


def _by_hand(manifest: Manifest) -> list[str]:
    if not manifest.by_hand:
        return []
    told = [f"- `{_cell(each.setting)}`: {_cell(each.todo)}." for each in manifest.by_hand]
    return ["## What is left to you", "", "These were proved as well, but no file that is added can set them.", "", *told, ""]


def _risks(manifest: Manifest) -> list[str]:
    told = [f"- `{_cell(name)}`: {knob_for(name).risk}." for name in manifest.settings if knob_for(name).risk]
    return ["## What to know before", "", *told, ""] if told else []


def _steps(manifest: Manifest) -> list[str]:
    if not manifest.files:
        return []
    return [
        "## What to do",
        "",
        "In this directory's parent, as root. Nothing is reloaded or restarted unless you do it.",
        "",
        "```",
        "phpdyno bundle apply bundle",
        *commands_after(follow_of(manifest)),
        "phpdyno bundle verify bundle",
        "```",
        "",
        "`apply` backs up what it replaces and tests the whole configuration with `php-fpm -t`"
        + (" and `nginx -t`" if any(each.kind == "nginx" for each in manifest.files) else "")
        + "; where a test fails, nothing is changed. `verify`",
        "asks the running workers. To go back, byte for byte:",
        "",
        "```",
        "phpdyno bundle rollback bundle",
        *commands_back(follow_of(manifest)),
        "```",
    ]


def _cell(text: str) -> str:
    """Text that can neither end a cell of a table nor a line."""
    return "".join(each if each.isprintable() else " " for each in text).replace("|", "\\|").replace("`", "'")
