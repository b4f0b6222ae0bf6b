import math

import pytest

from phpdyno.stats.capacity.formulas import Facts, Recommendation, recommendations

MIB = 1024
KNOWN = Facts(
    cores=2.0,
    wait_s=0.09,
    service_s=0.01,
    ram_kib=2048 * MIB,
    reserve_kib=512 * MIB,
    rss_kib=60 * MIB,
    pss_kib=20 * MIB,
    request_kib=96 * MIB,
    memory_limit_kib=128 * MIB,
)


def by_key(facts: Facts) -> dict[str, Recommendation]:
    return {each.key: each for each in recommendations(facts)}


def test_each_formula() -> None:
    numbers = {key: each.workers for key, each in by_key(KNOWN).items()}
    assert numbers == {"cores2": 4, "goetz": 20, "rss": 34, "pss": 76, "platform": 10, "heroku": 16}
    assert all(each.why_not == "" for each in recommendations(KNOWN))
    assert all(each.name and each.formula and each.source for each in recommendations(KNOWN))


def test_platform_is_the_smaller_of_two() -> None:
    memory_bound = Facts(cores=8.0, ram_kib=1024 * MIB, reserve_kib=70 * MIB, request_kib=100 * MIB)
    assert by_key(memory_bound)["platform"].workers == 9


def test_what_is_not_known_is_not_guessed() -> None:
    found = by_key(Facts())
    assert all(each.workers is None for each in found.values())
    assert found["cores2"].why_not == "the number of cores is not known"
    assert found["goetz"].why_not == "the number of cores and the waiting time and the service time are not known"
    assert by_key(Facts(ram_kib=1.0, memory_limit_kib=0.0))["heroku"].why_not == "PHP's memory_limit is 0"
    assert by_key(Facts(cores=1.0, wait_s=1.0, service_s=0.0))["goetz"].why_not == "the service time is 0"


def test_a_fraction_of_a_core_still_has_a_worker() -> None:
    assert by_key(Facts(cores=0.25))["cores2"].workers == 1
    assert by_key(Facts(cores=1.5))["cores2"].workers == 3


@pytest.mark.parametrize("facts", [Facts(cores=-1.0), Facts(ram_kib=math.nan), Facts(wait_s=math.inf)])
def test_refuses(facts: Facts) -> None:
    with pytest.raises(ValueError, match="finite"):
        recommendations(facts)
