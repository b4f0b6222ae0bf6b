"""Durations as people type them."""

import pytest

from phpdyno.commands.common.units import seconds
from phpdyno.errors import UsageError


@pytest.mark.parametrize(("text", "value"), [("90", 90.0), (" 1.5h ", 5400.0), ("5m", 300.0), ("1000000000s", 1e9)])
def test_durations(text: str, value: float) -> None:
    assert seconds(text, option="--budget") == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0m", "--budget: '0m' is not a duration"),
        ("soon", "--budget: 'soon' is not a duration"),
        ("9" * 310, "--budget: a duration is at most 1000000000 s; write for example 90s, 5m or 1h"),
        ("300000h", "a duration is at most 1000000000 s"),
    ],
)
def test_what_is_none(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        seconds(text, option="--budget")
    assert said in str(caught.value)
