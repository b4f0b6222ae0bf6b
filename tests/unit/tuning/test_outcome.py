"""What was found, as it is recorded."""

from phpdyno.model.runs.tune import PartFound, TunedRatio
from phpdyno.tuning.outcome import all_stay


def test_parts_of_a_winner_that_is_adopted_whole_all_stay() -> None:
    stays = PartFound("a=1", {"ini.a": "1"}, TunedRatio(1.2, 1.1, 1.3), kept=True, reason="kept: it adds to the rest")
    gone = PartFound("b=1", {"ini.b": "1"}, None, kept=False, reason="dropped: no time to check it")
    first, second = all_stay((stays, gone), "its interval reaches below 1")
    assert first == stays
    assert second.kept
    assert second.reason == "kept: what is left without the dropped parts was not adopted (its interval reaches below 1)"
