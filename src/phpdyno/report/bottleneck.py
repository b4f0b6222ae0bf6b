"""The bottleneck in one sentence, with the figures that it rests on."""

from collections.abc import Callable, Mapping

from phpdyno.experiment.common.limits.beside_php import helpers_cores, helpers_of, percent_busy
from phpdyno.model.runs.bottleneck import Bottleneck, Kind

PHP = "php-fpm"
TOO_SMALL = "the host is too small for this load"


def bottleneck_sentence(found: Bottleneck, *, php: str = PHP) -> str:
    """`php-fpm's core is busy 98 % of the time, 97 % with php-fpm: PHP's CPU is the limit`; `php`:
    what PHP's processes are called."""
    return _SENTENCES[found.kind](found).replace(PHP, php)


def _php_busy(found: Bottleneck) -> str:
    cores = found.load.php_cores
    subject = "php-fpm's core is" if len(cores) == 1 else f"php-fpm's {len(cores)} cores are"
    return f"{subject} busy {percent_busy(found.shares.php_cores)} of the time"


def _helpers_busy(found: Bottleneck) -> str:
    verb = "is" if len(found.load.helper_cores) == 1 else "are"
    return f"{helpers_cores(found)} {verb} busy {percent_busy(found.shares.helper_cores)} of the time"


def _parts(found: Bottleneck) -> str:
    return ", ".join(f"{name} {percent_busy(share)}" for name, share in helpers_of(found))


def _figures(found: Bottleneck) -> str:
    return f"{_php_busy(found)}, {_helpers_busy(found)}"


def _stolen(found: Bottleneck) -> str:
    share = percent_busy(found.shares.stolen)
    return f"the hypervisor takes {share} of the time for which there is work: this tells of the host, not of the app"


def _shared_core(found: Bottleneck) -> str:
    busy = max(found.shares.php_cores, found.shares.helper_cores)
    return (
        f"php-fpm shares a core with the rest, and it is busy {percent_busy(busy)} of the time"
        f" (php-fpm {percent_busy(found.shares.php)}, {_parts(found)}): {TOO_SMALL}"
    )


def _all_full(found: Bottleneck) -> str:
    return f"{_figures(found)} ({_parts(found)}): nothing has room, and {TOO_SMALL}"


def _php(found: Bottleneck) -> str:
    own, all_of_it = percent_busy(found.shares.php), percent_busy(found.shares.php_cores)
    return f"{_php_busy(found)}, {'nearly all of it' if own == all_of_it else own} with php-fpm: PHP's CPU is the limit"


def _stranger_beside_php(found: Bottleneck) -> str:
    return f"{_php_busy(found)}, but php-fpm uses only {percent_busy(found.shares.php)}: something else runs there"


def _database(found: Bottleneck) -> str:
    return f"{_helpers_busy(found)}, MariaDB uses {percent_busy(found.shares.database or 0.0)}: the database is the limit"


def _web(found: Bottleneck) -> str:
    return f"nginx's process is busy {percent_busy(found.shares.one_web)} of the time, {_helpers_busy(found)}: {TOO_SMALL}"


def _generator(found: Bottleneck) -> str:
    threads = found.load.generator_threads
    subject = "the generator's thread is" if threads == 1 else f"the generator's {threads} threads are"
    return f"{subject} busy {percent_busy(found.shares.one_generator)} of the time, {_helpers_busy(found)}: {TOO_SMALL}"


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
        seen.append(f"requests queue in {percent_busy(load.queue_share)} of the samples")
    rests = f" ({', '.join(seen)})" if seen else f" ({percent_busy(found.shares.one_worker)} of a core each)"
    idle = "their core idles" if len(load.php_cores) == 1 else f"their {len(load.php_cores)} cores idle"
    return f"{subject} busy{rests} while {idle} {percent_busy(1 - found.shares.php_cores)} of the time: too few workers"


def _starting_workers(found: Bottleneck) -> str:
    load = found.load
    return (
        f"requests queue in {percent_busy(load.queue_share or 0.0)} of the samples at c = {load.concurrency} although the pool may have"
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
    seen = "whether requests queue could not be read" if queue is None else f"requests queue in {percent_busy(queue)} of the samples"
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
