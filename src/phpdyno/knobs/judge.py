"""Are an arm's changes at work? The proofs of all its changed settings, judged on facts of both
arms."""

from collections.abc import Iterable, Mapping

from phpdyno.config.ini_syntax import meant
from phpdyno.errors import UsageError
from phpdyno.knobs.catalogue import CATALOGUE, knob_for, pool_ini
from phpdyno.knobs.domain import BOOLEAN, size_bytes
from phpdyno.knobs.knob import Knob
from phpdyno.model.facts import HostFacts, WorkerFacts
from phpdyno.model.plan import Metric
from phpdyno.model.verdict import ProofOutcome

_EXTENSIONS = frozenset({"extension", "zend_extension"})
"""Lists in php.ini, not values: no worker reports them."""


def check_values(settings: Mapping[str, str], *, where: str) -> None:
    """Raises UsageError for a value outside its knob's domain, naming source, knob and domain."""
    for name, value in settings.items():
        domain = knob_for(name).domain
        if not domain.accepts(meant(value)):
            raise UsageError(f"{name} cannot be {value!r}", where=where, next_step=f"it takes {domain.describe}")


def prove(
    changed: Mapping[str, str], control: WorkerFacts, treated: WorkerFacts, control_settings: Mapping[str, str]
) -> tuple[ProofOutcome, ...]:
    """One outcome per changed setting: at work in the treated worker, and different from the
    control.

    `control_settings` are the control's own, for what no worker can tell (pool and web server).
    """
    return tuple(_prove_one(name, value, control, treated, control_settings) for name, value in changed.items())


def _prove_one(name: str, value: str, control: WorkerFacts, treated: WorkerFacts, control_settings: Mapping[str, str]) -> ProofOutcome:
    knob = knob_for(name)
    proved, detail = knob.proof(treated, value)
    theirs = _value_in_control(knob, value, control, control_settings)
    if (
        proved
        and theirs is not None
        and (theirs == value or knob.domain.same(theirs, value) or _same_to_php(knob, value, control, treated))
    ):
        detail = f"the control has the same value already; {detail}"
        return ProofOutcome(name, value, proved=False, detail=detail, same_as_control=True)
    if proved and knob.contrast is not None:
        proved, shown = knob.contrast(control, treated, value)
        detail = f"{shown}; {detail}"
    return ProofOutcome(name, value, proved=proved, detail=detail)


def _value_in_control(knob: Knob, value: str, control: WorkerFacts, settings: Mapping[str, str]) -> str | None:
    layer, _, rest = knob.name.partition(".")
    own = ini_name_of(knob.name)
    if own in _EXTENSIONS or (layer in {"ext", "source", "php"} and knob.name != "php"):
        return value if knob.proof(control, value)[0] else None
    if own:
        return control.ini.get(own)
    if layer == "env":
        return control.env.get(rest)
    if layer == "app":
        return control.app.get(rest)
    if knob.name == "php":
        return control.exe
    return settings.get(knob.name, knob.default)


def ini_name_of(name: str) -> str:
    """The php.ini name that a setting stands for (`ini.NAME`, `pool.php_admin_value[NAME]`); '' for
    any other."""
    layer, _, rest = name.partition(".")
    return rest if layer == "ini" else pool_ini(name)


def _same_to_php(knob: Knob, value: str, control: WorkerFacts, treated: WorkerFacts) -> bool:
    """Whether the control's worker has a php.ini setting as it is wanted, or as the treated one
    reports it, however that is spelled."""
    own = ini_name_of(knob.name)
    if own in _EXTENSIONS or own not in control.ini:
        return False
    return alike(control.ini[own], value) or alike(control.ini[own], treated.ini.get(own, value))


def alike(one: str, other: str) -> bool:
    """Whether PHP takes two spellings for one value: equal texts, two words or digits for true or
    for false, two sizes of as many bytes."""
    one, other = meant(one), meant(other)
    if one == other or (BOOLEAN.accepts(one) and BOOLEAN.accepts(other) and BOOLEAN.same(one, other)):
        return True
    size = size_bytes(one)
    return size is not None and size == size_bytes(other)


def check_together(settings: Mapping[str, str], *, where: str) -> None:
    """Raises UsageError for settings of one arm that cannot be together: a connection that nginx
    keeps holds a worker of the pool."""
    kept = int(settings.get("web.fastcgi_keepalive", "0"))
    if not kept:
        return
    kept *= int(settings.get("web.workers", "1"))
    workers = int(settings.get("pool.pm.max_children", "1"))
    if kept >= workers:
        raise UsageError(
            f"nginx would keep {kept} connections and so hold as many of the pool's {workers} workers: none would be left for another one",
            where=where,
            next_step=f"give pool.pm.max_children={kept + 1} or more, or a smaller web.fastcgi_keepalive",
        )


def all_fit(settings: Mapping[str, str]) -> bool:
    """Whether settings of one arm can be together."""
    try:
        check_together(settings, where="")
    except UsageError:
        return False
    return True


def candidates(control: WorkerFacts, host: HostFacts, settings: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """What is worth trying beside a control, by full knob name: of the values that the catalogue
    has for it those that are not at work in it already. `settings` are the control's own. Knobs
    without such a value are left out.
    """
    found = {}
    for name, knob in CATALOGUE.items():
        values = tuple(value for value in knob.tried(control, host) if not _at_work(knob, value, control, settings))
        if values:
            found[name] = values
    return found


def in_control(control: WorkerFacts, settings: Mapping[str, str]) -> dict[str, str]:
    """What a control has, by full knob name: defaults of pool, web server and host, its own
    settings, php.ini as its worker reports it."""
    defaults = {name: knob.default for name, knob in CATALOGUE.items() if knob.default is not None}
    return {**defaults, **settings, **{f"ini.{name}": value for name, value in control.ini.items()}}


def _at_work(knob: Knob, value: str, control: WorkerFacts, settings: Mapping[str, str]) -> bool:
    """Whether a control has a value and shows it: one that is only written down (a JIT without a
    buffer) may still be tried."""
    theirs = _value_in_control(knob, value, control, settings)
    if theirs is None:
        return False
    same = theirs == value or knob.domain.same(theirs, value) or (bool(ini_name_of(knob.name)) and alike(theirs, value))
    return same and knob.proof(control, value)[0]


def metric_for(changed: Iterable[str]) -> Metric:
    """What judges a treatment: throughput as soon as one of its changed settings bears on waiting
    or concurrency, else CPU per request."""
    return "throughput" if any(knob_for(name).metric == "throughput" for name in changed) else "cpu"


def risks_of(changed: Mapping[str, str]) -> tuple[str, ...]:
    """What a user should know before deploying these settings."""
    return tuple(f"{name}: {knob_for(name).risk}" for name in changed if knob_for(name).risk)


def not_effective(outcomes: tuple[ProofOutcome, ...]) -> str:
    """Why no verdict may be given, in words; '' when it may.

    A treatment of several settings is worth measuring when each is at work and at least one differs
    from the control.
    """
    idle = [outcome for outcome in outcomes if not outcome.proved]
    failed = [outcome for outcome in idle if not outcome.same_as_control]
    nothing_differs = bool(outcomes) and all(outcome.same_as_control for outcome in outcomes)
    blamed = failed or (idle if nothing_differs else [])
    return "; ".join(f"{outcome.knob}={outcome.value} is not effective: {outcome.detail}" for outcome in blamed)
