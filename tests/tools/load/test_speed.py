from msgspec import structs
from tools.bench.figures import measured_text, reached
from tools.bench.load.speed import figures_of

from phpdyno.model.plan import AppSource
from phpdyno.model.runs.tune import Found, TuneRequest
from tests.support.made_up.sweeps.tunes import FOUND, confirmed, record


def test_the_gain_is_that_of_the_last_confirmation_that_was_adopted() -> None:
    asked = TuneRequest(source=AppSource("wordpress"), budget_s=100.0)
    kept = structs.replace(FOUND, confirmations=(confirmed(), confirmed(decision="not adopted")))
    gain, beside, *_, time = figures_of(structs.replace(record(kept), asked=asked, spent_s=104.0))
    assert (gain.estimate, gain.low, gain.high, reached(gain)) == (1.073, 1.062, 1.084, "no")
    assert beside.estimate == 1.001
    assert (time.estimate, reached(time)) == (1.04, "yes")


def test_what_was_not_adopted_is_no_gain() -> None:
    gain, *_ = figures_of(record(Found(confirmations=(confirmed(decision="not adopted"),))))
    assert measured_text(gain) == "no interval yet (nothing adopted)"
    assert reached(gain) == "open"
