"""The bottleneck in one sentence, with the figures that it rests on."""

from collections.abc import Callable, Mapping

from phpdyno.experiment.common.bottleneck import FULL
from phpdyno.model.runs.bottleneck import Bottleneck, Kind

EDGE = 1.05
PHP = "php-fpm"
TOO_SMALL = "the host is too small for this load"


def bottleneck_sentence(found: Bottleneck, *, php: str = PHP) -> str:
    """`php-fpm's core is busy 98 % of the time, 97 % with php-fpm: PHP's CPU is the limit`; `php`:
    what PHP's processes are called."""
    return _SENTENCES[found.kind](found).replace(PHP, php)


def beside_php_words(found: Bottleneck, whose: str = "") -> str:
    """The warning of a comparison whose requests per second were limited by what runs beside PHP;
    `whose`: ` of the control`, '' of both arms.

    `requests per second were limited by the core of nginx, MariaDB and the generator (93 % busy),
    not by PHP (41 %): ...`
    """
    said = f"requests per second{whose} were limited by {_full_beside_php(found)}, not by PHP ({_percent(found.shares.php)})"
    return f"{said}: a difference in PHP may not show in them; {_with_more_room(found)}"


def _full_beside_php(found: Bottleneck) -> str:
    shares = found.shares
    if shares.helper_cores >= FULL:
        return f"{_helpers_cores(found)} ({_percent(shares.helper_cores)} busy)"
    if found.kind == "web":
        return f"nginx's process ({_percent(shares.one_web)} of a core)"
    return f"the generator's thread ({_percent(shares.one_generator)} of a core)"


def _with_more_room(found: Bottleneck) -> str:
    """The next step. PHP has a core for each request in flight, the helpers have the rest: fewer in
    flight leave them more."""
    cores = len(found.load.php_cores) + len(found.load.helper_cores)
    more = cores - cores // 2
    if found.shares.helper_cores >= FULL and more > len(found.load.helper_cores):
        return f"compare CPU per request (--metric cpu), or leave the others {more} cores (--concurrency {cores // 2})"
    return "compare CPU per request (--metric cpu), or measure on a host with more cores"


def _percent(share: float) -> str:
    # CPU time is read a moment after the clock, so a full core may come out a little above 1.
    return f"{100 * (1.0 if 1.0 < share < EDGE else share):.0f} %"


def _php_busy(found: Bottleneck) -> str:
    cores = found.load.php_cores
    subject = "php-fpm's core is" if len(cores) == 1 else f"php-fpm's {len(cores)} cores are"
    return f"{subject} busy {_percent(found.shares.php_cores)} of the time"


def _helpers_busy(found: Bottleneck) -> str:
    verb = "is" if len(found.load.helper_cores) == 1 else "are"
    return f"{_helpers_cores(found)} {verb} busy {_percent(found.shares.helper_cores)} of the time"


def _helpers_cores(found: Bottleneck) -> str:
    cores = found.load.helper_cores
    subject = "the core" if len(cores) == 1 else f"the {len(cores)} cores"
    *names, last = [name for name, _ in _helpers_of(found)]
    return f"{subject} of " + (f"{', '.join(names)} and {last}" if names else last)


def _helpers_of(found: Bottleneck) -> list[tuple[str, float]]:
    shares = found.shares
    named = (("nginx", shares.web), ("MariaDB", shares.database), ("the services", shares.services), ("the generator", shares.generator))
    return [(name, share) for name, share in named if share is not None]


def _parts(found: Bottleneck) -> str:
    return ", ".join(f"{name} {_percent(share)}" for name, share in _helpers_of(found))


def _figures(found: Bottleneck) -> str:
    return f"{_php_busy(found)}, {_helpers_busy(found)}"


def _stolen(found: Bottleneck) -> str:
    return (
        f"the hypervisor takes {_percent(found.shares.stolen)} of the time for which there is work: this tells of the host, not of the app"
    )


def _shared_core(found: Bottleneck) -> str:
    busy = max(found.shares.php_cores, found.shares.helper_cores)
    return (
        f"php-fpm shares a core with the rest, and it is busy {_percent(busy)} of the time"
        f" (php-fpm {_percent(found.shares.php)}, {_parts(found)}): {TOO_SMALL}"
    )


def _all_full(found: Bottleneck) -> str:
    return f"{_figures(found)} ({_parts(found)}): nothing has room, and {TOO_SMALL}"


def _php(found: Bottleneck) -> str:
    return f"{_php_busy(found)}, {_percent(found.shares.php)} with php-fpm: PHP's CPU is the limit"


def _stranger_beside_php(found: Bottleneck) -> str:
    return f"{_php_busy(found)}, but php-fpm uses only {_percent(found.shares.php)}: something else runs there"


def _database(found: Bottleneck) -> str:
    return f"{_helpers_busy(found)}, MariaDB uses {_percent(found.shares.database or 0.0)}: the database is the limit"


def _web(found: Bottleneck) -> str:
    return f"nginx's process is busy {_percent(found.shares.one_web)} of the time, {_helpers_busy(found)}: {TOO_SMALL}"


def _generator(found: Bottleneck) -> str:
    threads = found.load.generator_threads
    subject = "the generator's thread is" if threads == 1 else f"the generator's {threads} threads are"
    return f"{subject} busy {_percent(found.shares.one_generator)} of the time, {_helpers_busy(found)}: {TOO_SMALL}"


def _helpers(found: Bottleneck) -> str:
    return f"{_helpers_busy(found)} ({_parts(found)}): {TOO_SMALL}"


def _stranger_beside_helpers(found: Bottleneck) -> str:
    return f"{_helpers_busy(found)}, little of it with these ({_parts(found)}): something else runs there"


def _workers(found: Bottleneck) -> str:
    load = found.load
    subject = "the only worker is" if load.workers == 1 else f"all {load.workers} workers are"
    seen = []
    if load.busy_workers is not None:
        seen.append(f"{load.busy_workers:.1f} on the mean")
    if load.queue_share is not None:
        seen.append(f"requests queue in {_percent(load.queue_share)} of the samples")
    rests = f" ({', '.join(seen)})" if seen else f" ({_percent(found.shares.one_worker)} of a core each)"
    idle = "their core idles" if len(load.php_cores) == 1 else f"their {len(load.php_cores)} cores idle"
    return f"{subject} busy{rests} while {idle} {_percent(1 - found.shares.php_cores)} of the time: too few workers"


def _starting_workers(found: Bottleneck) -> str:
    load = found.load
    return (
        f"requests queue in {_percent(load.queue_share or 0.0)} of the samples at c = {load.concurrency} although the pool may have"
        f" {load.workers} worker{'s' * (load.workers > 1)} ({_php_busy(found)}): php-fpm has not started enough of them"
    )


def _concurrency(found: Bottleneck) -> str:
    count = found.load.concurrency
    flight = "one request" if count == 1 else f"{count} requests"
    return f"nothing is full at c = {count} ({_figures(found)}): {flight} at a time cannot use more"


def _offered_rate(found: Bottleneck) -> str:
    return f"nothing is full at the offered rate ({_figures(found)}): all that is asked is served"


def _unknown(found: Bottleneck) -> str:
    queue = found.load.queue_share
    seen = "whether requests queue could not be read" if queue is None else f"requests queue in {_percent(queue)} of the samples"
    return (
        f"nothing that was read is full at c = {found.load.concurrency} ({_figures(found)}, {seen}):"
        " what requests wait for (locks, disk, another host) was not read"
    )


_SENTENCES: Mapping[Kind, Callable[[Bottleneck], str]] = {
    "stolen": _stolen,
    "shared_core": _shared_core,
    "all_full": _all_full,
    "php": _php,
    "stranger_beside_php": _stranger_beside_php,
    "database": _database,
    "web": _web,
    "generator": _generator,
    "helpers": _helpers,
    "stranger_beside_helpers": _stranger_beside_helpers,
    "workers": _workers,
    "starting_workers": _starting_workers,
    "concurrency": _concurrency,
    "offered_rate": _offered_rate,
    "unknown": _unknown,
}
