import pytest
from msgspec import structs

from phpdyno.stats.service_time import has_beyond, service_ms
from tests.support.made_up.journals import cost


@pytest.mark.parametrize(
    ("count", "percent", "enough"), [(99, 99, False), (100, 99, True), (1, 50, False), (2, 50, True), (1000, 99.9, True)]
)
def test_a_percentile_has_a_value_beyond_it(count: int, percent: float, enough: bool) -> None:
    assert has_beyond(count, percent) is enough


def test_a_block_of_few_answers_has_no_99th_percentile() -> None:
    def seen(*valid: int) -> float | None:
        return service_ms([cost(20.0, count) for count in valid], 99)

    each = cost(20.0).service_p99_ns / 1e6
    assert seen(100, 100, 100) == pytest.approx(each)
    # WordPress without opcache: four requests a block, of which it would be the greatest.
    assert seen(4, 4, 4) is None
    assert service_ms([cost(20.0, 4)] * 3, 50) == pytest.approx(cost(20.0).service_p50_ns / 1e6)
    assert service_ms([cost(20.0, 1)] * 3, 50) is None
    # The last block may be cut short.
    assert seen(120, 120, 30) == pytest.approx(each)
    assert seen(120, 30, 30) is None
    assert seen() is None
    # Failed requests have no time.
    assert service_ms([structs.replace(cost(20.0, 120), failed=30)], 99) is None
