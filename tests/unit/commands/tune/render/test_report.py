import io

import msgspec
import pytest
from rich.console import Console

from phpdyno.commands.tune.render.page import render_tune, tune_figures
from phpdyno.commands.tune.render.terminal import tune_summary
from phpdyno.commands.tune.view import TuneView, left_out, tune_view
from phpdyno.commands.tune.words import before_after, confirmed_words
from phpdyno.model.runs.tune import Change, Confirmed, Found, Side, TunedRatio
from phpdyno.report.change_words import change_words
from tests.support.made_up.sweeps.tunes import BOTH, FOUND, confirmed, record


def shown(view: TuneView, width: int = 80) -> str:
    written = io.StringIO()
    Console(width=width, file=written).print(tune_summary(view))
    return written.getvalue()


def test_the_last_line_is_what_came_of_it() -> None:
    view = tune_view(record(), "20260102-tune-hello")
    assert view.sentences[-1] == (
        "ini.opcache.jit=tracing; ini.opcache.jit_buffer_size=64M; ini.opcache.validate_timestamps=0: "
        "6.8 % less CPU per request (95 % CI 5.8 to 7.7 %), 21 blocks; this host, these minutes, these builds: improved, relevant"
    )
    said = shown(view, 200)
    assert said.rstrip().splitlines()[-1].endswith("improved, relevant")
    assert "bundle: 20260102-tune-hello/bundle" in said


def test_the_page_breaks_the_first_line_between_names_and_never_within_a_number() -> None:
    page = render_tune(tune_view(record(), "run"))
    assert "ini.<wbr>opcache.<wbr>jit=tracing" in page
    assert "6.8 % less CPU" in page


@pytest.mark.parametrize("width", [80, 120])
def test_every_stage_is_told_and_nothing_is_cut_off(width: int) -> None:
    said = shown(tune_view(record(), "run"), width)
    words = " ".join(said.split())
    for part in (
        "Screened in 4 rows",
        "Raced over 9 blocks",
        "Numbers proposed",
        "On fresh instances",
        "What each part adds",
        "Step by step",
        "Took no part",
    ):
        assert part in words, part
    assert "private memory of a worker, MiB: 10.0 before, 12.0 after" in words
    assert max(map(len, said.splitlines())) <= width
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            confirmed(),
            "6.8 % less CPU per request (95 % CI 5.8 to 7.7 %), 21 blocks; this host, these minutes, these builds: improved, relevant",
        ),
        (
            confirmed(kind="regressed", goal="p99", ratio=TunedRatio(0.8, 0.75, 0.85, 9)),
            "25 % higher 99th percentile of the service time (95 % CI 18 to 33 %), 9 blocks; "
            "this host, these minutes, these builds: regressed, relevant",
        ),
        (
            confirmed(kind="equivalent", relevance="", ratio=TunedRatio(1.001, 0.995, 1.007, 9)),
            "0.1 % less CPU per request (95 % CI 0.5 % more to 0.7 % less), 9 blocks; this host, these minutes, these builds: equivalent",
        ),
        (
            confirmed(kind="inconclusive", relevance="", ratio=TunedRatio(1.1, None, None, 3)),
            "interval still infinite (3 blocks): inconclusive",
        ),
        (confirmed(kind="inconclusive", relevance="", ratio=None), "interval still infinite (no block): inconclusive"),
        (confirmed(kind="invalid", reason="it crashed"), "no number (it crashed): invalid"),
    ],
)
def test_a_confirmation_in_words(found: Confirmed, words: str) -> None:
    assert confirmed_words(found) == words


def test_memory_that_was_not_read_is_not_mentioned() -> None:
    assert [name for name, _, _ in before_after(confirmed())][-1] == "private memory of a worker, MiB"
    unread = confirmed(before=Side(21.4, 25.1, 40.0), after=Side(19.9, 23.4, 39.0))
    assert [name.partition(",")[0] for name, _, _ in before_after(unread)] == [
        "CPU of PHP per request",
        "service time p50",
        "service time p99",
    ]
    few = confirmed(before=Side(21.4, 25.1, None), after=Side(19.9, 23.4, None))
    assert [name for name, _, _ in before_after(few)][-1] == "service time p50, ms"
    assert before_after(confirmed(before=None)) == ()


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Found(), "nothing is adopted: nothing that was tried may help by the margin (less CPU per request)"),
        (
            Found(confirmations=(confirmed(decision="not adopted", reason="each worker holds 9 MiB more"),)),
            "nothing is adopted: both: 6.8 % less CPU per request (95 % CI 5.8 to 7.7 %), 21 blocks; "
            "this host, these minutes, these builds: improved, relevant; "
            "each worker holds 9 MiB more",
        ),
        (Found(race=FOUND.race), "nothing is adopted: nothing that raced was better than the control (less CPU per request)"),
    ],
)
def test_nothing_that_is_adopted_is_said_with_the_reason(found: Found, words: str) -> None:
    assert tune_view(record(found), "run").sentences[-1] == words


def test_a_tune_that_was_interrupted_has_no_result() -> None:
    view = tune_view(record(outcome="interrupted"), "run")
    assert view.sentences[0] == "the tune is interrupted, so this is not its result"


def test_the_page_holds_every_stage_and_obeys_nobody() -> None:
    view = tune_view(record(), "run")
    page = render_tune(view)
    assert "<script>alert(1)" not in page
    assert "\x1b" not in page
    assert set(tune_figures(view)) == {"screening", "race", "parts", "confirmed", "ladder"}
    for name in tune_figures(view):
        assert f'id="{name}"' in page
    assert render_tune(tune_view(record(Found()), "run")).count('class="plot"') == 0


def test_what_is_refused_for_one_reason_is_told_once() -> None:
    changes = (
        Change("a=1", {"a": "1"}, "cpu", "no hot code"),
        Change("b=1", {"b": "1"}, "cpu"),
        Change("c=1", {"c": "1"}, "cpu", "it crashes"),
        Change("d=1", {"d": "1"}, "cpu", "no hot code"),
    )
    assert left_out(changes) == (("a=1, d=1", "no hot code"), ("c=1", "it crashes"))
    said = shown(tune_view(record(Found(changes=changes)), "run"))
    assert said.count("no hot code") == 1
    assert "a=1, d=1: no hot code" in said


def test_no_number_is_said_without_an_interval() -> None:
    assert change_words(TunedRatio(1.05, None, None, 2)) == "no interval yet"
    assert change_words(TunedRatio(1.05, 1.01, 1.09, 9)) == "−4.8 % (−8.3 to −1.0)"
    assert change_words(TunedRatio(1.05, 1.01, 1.09, 9), "throughput") == "+5.0 % (+1.0 to +9.0)"
    assert change_words(None) == "–"


def test_the_document_is_what_was_found() -> None:
    plain = msgspec.json.decode(msgspec.json.encode(tune_view(record(), "run")))
    assert plain["schema"] == "phpdyno.tune/1"
    assert plain["found"]["settings"] == BOTH
