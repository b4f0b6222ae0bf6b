"""What else differs where two arms run different PHPs: a build is compared with all that it brings
along."""

from collections.abc import Mapping

from phpdyno.model.facts import WorkerFacts

SERVERS = frozenset({"cgi-fcgi", "apache2handler"})
"""Names under which PHP lists the server that it is built into."""
WEIGHTY = (
    "memory_limit",
    "opcache.file_update_protection",
    "opcache.interned_strings_buffer",
    "opcache.jit",
    "opcache.max_accelerated_files",
    "opcache.memory_consumption",
    "opcache.optimization_level",
    "opcache.revalidate_freq",
    "opcache.save_comments",
    "opcache.validate_timestamps",
    "output_buffering",
    "realpath_cache_size",
    "realpath_cache_ttl",
    "session.gc_probability",
    "zend.assertions",
    "zlib.output_compression",
)
"""php.ini settings that cost or save time in every request and often differ between a
distribution's php.ini and none."""
MOST = 6


def besides_php(control: WorkerFacts, treated: WorkerFacts, changed: Mapping[str, str]) -> tuple[str, ...]:
    """Sentences on what the treatment's PHP has otherwise than the control's and the treatment does
    not name; empty for one PHP."""
    if (control.exe, control.build_id) == (treated.exe, treated.build_id):
        return ()
    found = []
    if (control.opcache is None) != (treated.opcache is None) and "ini.opcache.enable" not in changed:
        who = "this arm's PHP" if treated.opcache is None else "the control's PHP"
        found.append(f"{who} runs without opcache, and the other with it: give it one with ext.opcache=PATH")
    missing, more = _extensions(control) - _extensions(treated), _extensions(treated) - _extensions(control)
    if missing:
        found.append(f"extensions that only the control has: {_some(missing)}")
    if more:
        found.append(f"extensions that only this arm has: {_some(more)}")
    named = {key.removeprefix("ini.") for key in changed}
    differing = [
        f"{name} {control.ini[name] or 'empty'} there and {treated.ini[name] or 'empty'} here"
        for name in WEIGHTY
        if name not in named and control.ini.get(name) is not None and treated.ini.get(name) not in {None, control.ini[name]}
    ]
    if differing:
        found.append(f"php.ini differs from the control's: {', '.join(differing)}; name one file for both with php.ini=PATH")
    return tuple(found)


def _extensions(facts: WorkerFacts) -> set[str]:
    return {name.lower() for name in facts.extensions} - SERVERS - {"zend opcache"}


def _some(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:MOST]) + (f" and {len(shown) - MOST} more" if len(shown) > MOST else "")
