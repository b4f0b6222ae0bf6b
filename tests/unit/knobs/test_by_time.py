"""Which settings a busy loop does not judge."""

import pytest

from phpdyno.knobs.busy_loop import hidden_by_a_busy_loop, hidden_words
from phpdyno.knobs.by_time import BY_TIME
from phpdyno.knobs.catalogue import CATALOGUE, knob_for

DEBIAN = {"opcache.revalidate_freq": "2", "realpath_cache_ttl": "120"}


@pytest.mark.parametrize(
    ("changed", "control", "hidden"),
    [
        ({"ini.opcache.revalidate_freq": "60"}, DEBIAN, ["ini.opcache.revalidate_freq"]),
        # At every request: that shows.
        ({"ini.opcache.revalidate_freq": "0"}, DEBIAN, []),
        ({"ini.opcache.revalidate_freq": "60"}, {"opcache.revalidate_freq": "0"}, []),
        ({"ini.opcache.validate_timestamps": "0"}, DEBIAN, ["ini.opcache.validate_timestamps"]),
        ({"ini.opcache.validate_timestamps": "0"}, {"opcache.revalidate_freq": "0"}, []),
        ({"ini.realpath_cache_ttl": "600"}, DEBIAN, ["ini.realpath_cache_ttl"]),
        ({"ini.realpath_cache_ttl": "0"}, DEBIAN, []),
        ({"ini.apc.ttl": "7200", "ini.opcache.jit": "tracing"}, {}, ["ini.apc.ttl"]),
        ({"pool.pm.process_idle_timeout": "1s"}, {}, ["pool.pm.process_idle_timeout"]),
        ({"ini.opcache.jit": "tracing", "env.TURNS": "5"}, DEBIAN, []),
    ],
)
def test_what_acts_by_time_is_hidden_unless_it_acts_at_once(changed: dict[str, str], control: dict[str, str], hidden: list[str]) -> None:
    found = hidden_by_a_busy_loop(changed, control)
    assert list(found) == hidden
    assert hidden_words(found).startswith("not judged under a busy loop: ini.") or not any(name.startswith("ini.") for name in hidden)


def test_the_catalogue_carries_the_fact() -> None:
    for name, why in BY_TIME.items():
        assert knob_for(name).by_time == why
    assert CATALOGUE["ini.opcache.revalidate_freq"].by_time
    assert not CATALOGUE["ini.opcache.jit"].by_time
