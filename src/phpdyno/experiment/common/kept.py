"""What connections that php-fpm keeps ask of a pool."""

from collections.abc import Iterable

from phpdyno.errors import UsageError
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Transport
from phpdyno.server_files.php import most_workers


def check_kept(transport: Transport, loads: Iterable[tuple[Arm, int]]) -> None:
    """Raise UsageError unless FCGI_KEEP_CONN can be set for these arms with so many requests in
    flight each.

    A worker that keeps a connection answers nobody else, so whatever goes over another one would
    wait for ever.
    """
    if transport != "fastcgi":
        what = "only a FastCGI connection is kept or not: HTTP ones always are, and a script has none"
        raise UsageError(what, where="--keep-conn", next_step="measure with --transport fastcgi")
    for arm, concurrency in loads:
        workers = most_workers(arm)
        if workers < concurrency:
            raise UsageError(
                f"a kept connection occupies its worker: {concurrency} in flight need as many, and this pool has {workers}",
                where=arm.name,
                next_step=f"pool.pm.max_children={concurrency}, fewer in flight, or leave --keep-conn out",
            )
