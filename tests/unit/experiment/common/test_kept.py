"""Kept FastCGI connections want a worker each."""

import pytest

from phpdyno.errors import UsageError
from phpdyno.experiment.common.kept import check_kept
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.plan import Transport

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0")


def arm(workers: int | None) -> Arm:
    return Arm("mine", PHP, {} if workers is None else {"pool.pm.max_children": str(workers)})


@pytest.mark.parametrize(("workers", "concurrency"), [(None, 1), (5, 5), (6, 5)])
def test_enough_workers(workers: int | None, concurrency: int) -> None:
    check_kept("fastcgi", [(arm(workers), concurrency)])


@pytest.mark.parametrize(("workers", "concurrency"), [(None, 2), (5, 6)])
def test_too_few_workers(workers: int | None, concurrency: int) -> None:
    with pytest.raises(UsageError, match=rf"mine: a kept connection occupies its worker: {concurrency} in flight need as many") as caught:
        check_kept("fastcgi", [(arm(10), 10), (arm(workers), concurrency)])
    assert f"pool.pm.max_children={concurrency}" in str(caught.value)


@pytest.mark.parametrize("transport", ["http", "script"])
def test_other_transports_have_no_such_choice(transport: Transport) -> None:
    with pytest.raises(UsageError, match="--transport fastcgi"):
        check_kept(transport, [])
