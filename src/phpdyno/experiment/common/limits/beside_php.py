"""What runs beside PHP was full: in words, with the figures and the next step. Pure."""

from phpdyno.experiment.common.limits.bottleneck import FULL
from phpdyno.model.runs.bottleneck import Bottleneck

EDGE = 1.05


def beside_php_words(found: Bottleneck, whose: str = "") -> str:
    """What to say of requests per second that were limited by what runs beside PHP;
    `whose`: ` of the control`, '' of both arms.

    `requests per second were limited by the core of nginx, MariaDB and the generator (93 % busy),
    not by PHP (41 %): ...`
    """
    said = f"requests per second{whose} were limited by {_full_beside_php(found)}, not by PHP ({percent_busy(found.shares.php)})"
    return f"{said}: a difference in PHP may not show in them; {_with_more_room(found)}"


def _full_beside_php(found: Bottleneck) -> str:
    shares = found.shares
    if shares.helper_cores >= FULL:
        return f"{helpers_cores(found)} ({percent_busy(shares.helper_cores)} busy)"
    if found.kind == "web":
        return f"nginx's process ({percent_busy(shares.one_web)} of a core)"
    return f"the generator's thread ({percent_busy(shares.one_generator)} of a core)"


def _with_more_room(found: Bottleneck) -> str:
    """The next step. PHP has a core for each request in flight, the helpers have the rest: fewer in
    flight leave them more."""
    cores = len(found.load.php_cores) + len(found.load.helper_cores)
    more = cores - cores // 2
    if found.shares.helper_cores >= FULL and more > len(found.load.helper_cores):
        return f"compare CPU per request (--metric cpu), or leave the others {more} cores (--concurrency {cores // 2})"
    return "compare CPU per request (--metric cpu), or measure on a host with more cores"


def percent_busy(share: float) -> str:
    """A share of core time in percent."""
    # CPU time is read a moment after the clock, so a full core may come out a little above 1.
    return f"{100 * (1.0 if 1.0 < share < EDGE else share):.0f} %"


def helpers_cores(found: Bottleneck) -> str:
    """`the core of nginx, MariaDB and the generator`."""
    cores = found.load.helper_cores
    subject = "the core" if len(cores) == 1 else f"the {len(cores)} cores"
    *names, last = [name for name, _ in helpers_of(found)]
    return f"{subject} of " + (f"{', '.join(names)} and {last}" if names else last)


def helpers_of(found: Bottleneck) -> list[tuple[str, float]]:
    """What ran on the helpers' cores, each with its share of them."""
    shares = found.shares
    named = (("nginx", shares.web), ("MariaDB", shares.database), ("the services", shares.services), ("the generator", shares.generator))
    return [(name, share) for name, share in named if share is not None]
