"""On how many threads the generator drives."""

import pytest

from phpdyno.experiment.common.limits.threads import MOST_THREADS, nginx_workers_for, threads_for
from phpdyno.model.runs.bottleneck import Load
from tests.support.made_up.loads import load


def full(helpers: int, *, database: int | None = None, php: int = 30) -> Load:
    """The generator's thread is full, nginx uses 5 % of a core; php-fpm has core 1."""
    used = 110 + (database or 0)
    return load(generator=95, database=database, helper_cores=used, php=php, php_cores=php + 1, helpers_on=tuple(range(2, 2 + helpers)))


@pytest.mark.parametrize(
    ("made", "threads"),
    [
        (load(generator=95, helper_cores=97), 1),
        (full(3), 2),
        (full(8), MOST_THREADS),
        (full(3, database=125), 1),
        (load(generator=60, helper_cores=80, helpers_on=(2, 3, 4)), 1),
        (full(3, php=97), 1),
    ],
)
def test_more_than_one_only_where_its_thread_is_the_limit_and_cores_are_idle(made: Load, threads: int) -> None:
    assert threads_for([made]) == threads


def test_all_points_share_what_the_tightest_leaves() -> None:
    assert threads_for([full(4)]) == 3
    assert threads_for([full(4), full(4, database=125), load()]) == 2
    assert threads_for([]) == 1


def test_nginx_gets_processes_only_where_it_is_the_limit_and_cores_are_idle() -> None:
    def busy(web: int, helpers: int) -> Load:
        return load(web=web, generator=30, helper_cores=web + 35, helpers_on=tuple(range(2, 2 + helpers)), php=30, php_cores=31)

    assert nginx_workers_for(busy(96, 4)) == 3
    assert nginx_workers_for(busy(96, 2)) == 1
    assert nginx_workers_for(busy(50, 4)) == 1
