"""What is declared of a knob, and what a search asks of the declaration."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, get_args

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.knobs.contrast import Contrast
from phpdyno.knobs.domain import Domain
from phpdyno.knobs.proof import Proof
from phpdyno.model.facts import HostFacts, WorkerFacts
from phpdyno.model.plan import Metric

Cost = Literal["reload", "restart", "rebuild"]
"""What applying a value costs: php-fpm or nginx goes on without dropping a request, starts anew, or
another binary is made."""
Price = str | Callable[[str], int]
"""What a value costs in memory: in words, or KiB for the whole pool as a function of the value."""
Promise = Literal["much", "some", "little"]
"""What a short budget tries first. `much`: it brought several percent in the write-ups, or ends a
shortage that was seen; `little`: it saves a call or two of many."""
Tries = tuple[str, ...] | Callable[[WorkerFacts, HostFacts], tuple[str, ...]]
"""The values that `tune` tries, most promising first; a function where they depend on what the
control's worker showed, or on the host."""
PROMISES: tuple[Promise, ...] = get_args(Promise)
NOTHING: Mapping[str, str] = MappingProxyType({})
OFF = frozenset({"", "0", "off", "disable"})
"""Values of a knob that others need under which they have no effect."""
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


class Span(Struct, frozen=True):
    """Whole numbers from `low` to `high` among which a value is looked for, on a logarithmic scale;
    `unit` is written behind ("M")."""

    low: int
    high: int
    unit: str = ""


class Knob(Struct, frozen=True):
    """One tunable: full name, what it takes, what applying it costs, how its effect is proved, and
    what can go wrong.

    `default` is what an arm has that does not name it, where no worker can tell (pool, web server
    and host). `metric` is what judges it: what changes PHP's work by CPU per request, what changes
    waiting or concurrency by throughput. `contrast` is what the worker must show otherwise than the
    control's, beyond `proof`. `needs`: settings without which it has no effect. `untried` says why
    `tries` is empty, `promise` how much reason there is to try it. `drawn`: whether it is at work
    depends on where a start puts things, so several are made. `apart`: knobs that are not tried
    while it is, as its processes would take from the host what theirs need. `span`: the numbers
    that are searched once what it needs is at work. `files`: the values that are tried are files,
    to be looked for first. `reference` names manual or source, with the section. `by_time`: what
    of its effect a busy loop in blocks of seconds hides.
    """

    name: str
    domain: Domain
    apply: Cost
    proof: Proof
    risk: str = ""
    default: str | None = None
    metric: Metric = "cpu"
    contrast: Contrast | None = None
    seen: str = "the worker reports the value"
    least_php: tuple[int, int] | None = None
    most_php: tuple[int, int] | None = None
    needs: Mapping[str, str] = NOTHING
    tries: Tries = ()
    untried: str = ""
    promise: Promise = "some"
    drawn: bool = False
    apart: tuple[str, ...] = ()
    span: Span | None = None
    files: bool = False
    price: Price = "nothing worth mentioning"
    reference: str = ""
    by_time: str = ""

    @property
    def rank(self) -> int:
        """Place of its promise: 0 is tried first."""
        return PROMISES.index(self.promise)

    @property
    def layer(self) -> str:
        """`ini`, `pool`, `web`, `env`, `os`, `ext`: the first part of the name."""
        return self.name.partition(".")[0]

    def fits(self, php_version: str) -> bool:
        """Whether that PHP has it."""
        found = _NUMBERS.match(php_version)
        if found is None:
            return True
        version = int(found[1]), int(found[2])
        return (self.least_php is None or version >= self.least_php) and (self.most_php is None or version <= self.most_php)

    def tried(self, facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
        """What to try beside a control whose worker showed `facts`; nothing where the PHP does not
        have the knob."""
        if not self.fits(facts.php_version):
            return ()
        return self.tries(facts, host) if callable(self.tries) else self.tries

    def price_kib(self, value: str) -> int | None:
        """KiB that the pool pays for a value; None where that is known in words only."""
        return self.price(value) if callable(self.price) else None


class Whole(Struct, frozen=True):
    """A change that can have an effect: `settings` with all that they need, and `held`, the needs
    that the control fulfils already."""

    settings: dict[str, str]
    held: dict[str, str]


def with_needs(changes: Mapping[str, str], base: Mapping[str, str], knob_of: Callable[[str], Knob]) -> Whole:
    """The changes with all that they need to have an effect; `base` is what the control has, by
    full knob name.

    Raises DynoError where one needs what another one of the changes switches off.
    """
    settings, held = dict(changes), dict[str, str]()
    pending = list(changes)
    for name in pending:  # grows: what is needed may need something itself
        # What is switched off needs nothing.
        needs = NOTHING if settings.get(name) in OFF else knob_of(name).needs
        for needed, value in needs.items():
            if settings.get(needed) in OFF:
                raise DynoError(f"{name} has no effect with {needed}={settings[needed]}", next_step=f"give {needed}={value}")
            if needed not in pending:
                pending.append(needed)
                if base.get(needed, "") in OFF:
                    settings[needed] = value
                else:
                    held[needed] = base[needed]
    return Whole(settings, held)
