"""How many instance sets are up at once, by what the instances of the one that is up hold; nothing
is started here."""

from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno.experiment.common.warm_up import Warm
from phpdyno.experiment.comparison.calibration import INSTANCE_KIB, MOST_ALIVE, instance_kib, portions, sets_that_fit, that_fit
from phpdyno.experiment.comparison.instance_set import InstanceSet
from phpdyno.model.arm import Arm, PhpBuild
from tests.support.made_up.facts import NO_OPCACHE, with_opcache

GIB = 1024 * 1024
CACHED = with_opcache(used_bytes=64 << 20, free_bytes=64 << 20, wasted_bytes=0)


def pool(name: str, workers: int) -> Arm:
    return Arm(name, PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36"), {"pool.pm.max_children": str(workers)})


def instance_set(worker_kib: int | None, *, arms: int = 6, workers: int = 100) -> InstanceSet:
    """Arms whose workers hold so much each."""
    each = [pool(f"arm {number}", workers) for number in range(arms)]
    driven_instances: list[Any] = [SimpleNamespace(instance=SimpleNamespace(arm=arm, worker_kib=lambda: worker_kib)) for arm in each]
    warm = {arm.name: Warm(NO_OPCACHE, 1, 1, steady=True) for arm in each}
    return InstanceSet(driven_instances[0], {driven.instance.arm.name: driven for driven in driven_instances[1:]}, warm, 1.0)


@pytest.mark.parametrize(
    ("worker_kib", "free_gib", "instance_sets"),
    [
        (30 * 1024, 8, 1),  # six pools of a hundred workers, WordPress without opcache: 18 GiB are in use already
        (30 * 1024, 80, 2),
        (1024, 24, MOST_ALIVE),
        (None, 24, MOST_ALIVE),
        (None, 0, 1),
    ],
)
def test_crews_fit_into_what_is_free_by_what_their_workers_hold(worker_kib: int | None, free_gib: int, instance_sets: int) -> None:
    assert sets_that_fit(instance_set(worker_kib), free_gib * GIB) == instance_sets


@pytest.mark.parametrize(("held_gib", "free_gib", "pairs"), [(1, 16, 4), (4, 16, 1), (100, 16, 1), (1, 0, 1)])
def test_as_many_pairs_are_up_at_once_as_half_of_what_is_free_holds(held_gib: int, free_gib: int, pairs: int) -> None:
    assert that_fit(2 * held_gib * GIB, free_gib * GIB) == pairs


def test_portions_hold_every_number_once() -> None:
    assert [list(each) for each in portions(4, 3)] == [[0, 1, 2], [3]]
    assert [list(each) for each in portions(2, 8)] == [[0, 1]]
    assert [list(each) for each in portions(3, 1)] == [[0], [1], [2]]


def test_an_instance_is_its_cache_and_its_workers_and_never_less_than_any_one_is() -> None:
    assert instance_kib(pool("large", 100), CACHED, 10 * 1024) == 128 * 1024 + 100 * 10 * 1024
    assert instance_kib(pool("large", 100), NO_OPCACHE, 10 * 1024) == 100 * 10 * 1024
    assert instance_kib(pool("small", 1), CACHED, 10 * 1024) == INSTANCE_KIB
    assert instance_kib(pool("unread", 100), CACHED, None) == INSTANCE_KIB
