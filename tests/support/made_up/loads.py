"""Loads made up for tests of the bottleneck: one second on two cores, nothing full."""

from typing import Any

from phpdyno.model.runs.bottleneck import Load

SECOND_NS = 1_000_000_000


def load(
    *,
    c: int | None = 10,
    workers: int = 5,
    php_on: tuple[int, ...] = (1,),
    helpers_on: tuple[int, ...] = (0,),
    busy_workers: float | None = None,
    queue_share: float | None = None,
    **percents: int | None,
) -> Load:
    """`percents`: CPU (`php`, `generator`, `web`, `database`, `php_cores`, `helper_cores`,
    `stolen`) in hundredths of a second."""
    given = {"php": 30, "generator": 10, "web": 5, "php_cores": 32, "helper_cores": 20, **percents}
    times: dict[str, Any] = {f"{name}_ns": None if percent is None else percent * SECOND_NS // 100 for name, percent in given.items()}
    php_ns, generator_ns = times.pop("php_ns"), times.pop("generator_ns")
    assert php_ns is not None
    assert generator_ns is not None
    return Load(
        duration_ns=SECOND_NS,
        concurrency=c,
        workers=workers,
        php_cores=php_on,
        helper_cores=helpers_on,
        php_ns=php_ns,
        generator_ns=generator_ns,
        busy_workers=busy_workers,
        queue_share=queue_share,
        **times,
    )
