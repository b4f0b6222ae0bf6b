"""php.ini beside opcache."""

from typing import Any

from phpdyno.knobs import proof
from phpdyno.knobs.domain import LEVEL, SIZE, TEXT, Domain, integer, size_bytes
from phpdyno.knobs.knob import Knob
from phpdyno.model.facts import HostFacts, WorkerFacts

CORE = "PHP manual: Description of core php.ini directives"
FULL = 0.75


def _ini(name: str, domain: Domain, risk: str = "", **more: Any) -> Knob:
    return Knob(f"ini.{name}", domain, "reload", proof.in_force(name, domain), risk, **{"reference": CORE, **more})


def _realpath(name: str, domain: Domain, risk: str, **more: Any) -> Knob:
    seen = "the worker reports the value, and its realpath cache holds something"
    return Knob(f"ini.{name}", domain, "reload", proof.realpath_cache(name, domain), risk, seen=seen, reference=CORE, **more)


def more_paths(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """Four times the control's cache, where most of that is taken; an emptier one is large
    enough."""
    now = size_bytes(facts.ini.get("realpath_cache_size", "")) or 0
    return (f"{now >> 8}K",) if facts.realpath_cache_bytes > FULL * now > 0 else ()


RUNTIME = (
    _realpath(
        "realpath_cache_size",
        SIZE,
        "memory per worker",
        tries=more_paths,
        untried="tried where three quarters of the control's are taken",
        price="up to the value, per worker",
    ),
    _realpath("realpath_cache_ttl", integer(0, 1 << 31), "moved or replaced directories are seen late", tries=("600",), promise="little"),
    _ini(
        "zend.assertions",
        integer(-1, 1),
        "assert() is not compiled at -1, nor what it calls",
        tries=("-1",),
        reference="PHP manual: assert",
    ),
    _ini(
        "output_buffering",
        TEXT,
        tries=("65536",),
        promise="little",
        price="up to the value, per worker, while a page is made",
        reference="PHP manual: Output Control, Runtime Configuration",
    ),
    _ini(
        "error_reporting",
        LEVEL,
        "what is not reported is not logged either",
        seen="the worker's error_reporting() is that number",
        untried="which errors an app has to hear of is its own matter",
        reference="PHP manual: Error Handling, Runtime Configuration",
    ),
    _ini("memory_limit", SIZE, untried="a limit costs nothing until it is reached", price="what a request may take at most, per worker"),
    Knob(
        "ini.zend_extension",
        TEXT,
        "restart",
        proof.extension,
        seen="the worker lists the extension",
        untried="which extensions an app needs is its own matter",
        price="its own",
        reference=CORE,
    ),
    Knob(
        "ini.extension",
        TEXT,
        "restart",
        proof.extension,
        seen="the worker lists the extension",
        untried="which extensions an app needs is its own matter",
        price="its own",
        reference=CORE,
    ),
)
