"""What an app reached for, in every report of what was measured."""

from collections.abc import Callable

import pytest
from msgspec import json, structs

from phpdyno.commands.compare.answer import compare_answer
from phpdyno.commands.compare.render.page import render_page
from phpdyno.commands.compare.view.document import document
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.commands.measure.render.page import render_sweep
from phpdyno.commands.measure.view.whole import sweep_view
from phpdyno.journal.records import ReachedFor, Record
from phpdyno.journal.sweep import SWEEP_SCHEMA, Sweep, SweepHeader
from phpdyno.model.inside.reach import Reached, Write
from phpdyno.report.reached import MOST_LINES, lines_of, reach_view, without_words
from phpdyno.report.view_parts import ReachRow
from tests.support.made_up.journals import REACHED, finished, reaching
from tests.support.made_up.sweeps.sweeps import plan_of
from tests.unit.commands.compare.render.test_page import HOSTILE, Page
from tests.unit.commands.compare.render.test_terminal import shown

TOLD = [
    "what the app reaches for, seen in 4 requests before measuring:",
    "  3 x a request api.stripe.com:443, unreachable: `--allow-network api.stripe.com:443` lets it through, for this run",
    '  once a request 127.0.0.1:6379, refused: `[service.cache] kind = "redis"`, `at = "127.0.0.1:6379"` gives it one',
    "  once a request api.shop.example was looked up, and no address found: "
    "`--allow-network api.shop.example:PORT` lets it through, for this run",
    "  once a request /tmp/x, opened for writing: it went to a private copy, which is gone after the run; nothing of yours was touched",
    '  2 x mail() handed a message to sendmail: `[service.mail] kind = "smtp-sink"` counts what is sent, and nothing leaves the machine',
]


def page_of(records: list[Record]) -> str:
    return render_page(view_of(records, "run"))


def sweep_page(found: ReachedFor | None) -> str:
    header = SweepHeader(SWEEP_SCHEMA, "0.1.0", "2026-01-02T03:04:05+0000", ("measure", "shop"), plan_of())
    return render_sweep(sweep_view(Sweep(header, (), {}, None, (), 0, (), (), 0.0, found), "run"))


def test_the_terminal_is_told_the_most_frequent_first() -> None:
    assert list(lines_of(reach_view(ReachedFor(REACHED)))) == TOLD
    text = shown(reaching(), 200)
    assert "\n".join([f"W{TOLD[0][1:]}", *TOLD[1:]]) in text


def test_of_many_things_the_terminal_has_a_few_and_the_page_all() -> None:
    many = Reached(1, writes=tuple(Write(f"/srv/{number}/x", "written", "", 1) for number in range(MOST_LINES + 3)))
    told = list(lines_of(reach_view(ReachedFor(many))))
    assert len(told) == 1 + MOST_LINES
    assert told[-1] == "  and 4 more, listed on the page"
    assert all(f"/srv/{number}/x" in Page(page_of(reaching(ReachedFor(many)))).text for number in range(MOST_LINES + 3))
    exactly = structs.replace(many, writes=many.writes[:MOST_LINES])
    assert len(list(lines_of(reach_view(ReachedFor(exactly))))) == 1 + MOST_LINES


def test_nothing_is_a_sentence_on_the_page_and_nothing_on_the_terminal() -> None:
    records = reaching(ReachedFor(Reached(4)))
    assert "reaches for" not in shown(records, 200)
    assert "Nothing outside its own files, database and services, in 4 requests" in Page(page_of(records)).text


def test_where_it_is_not_known_the_reason_is_told() -> None:
    records = reaching(ReachedFor(None, "ptrace is forbidden here"))
    assert "What the app reaches for is not known: ptrace is forbidden here" in shown(records, 200)
    assert "It is not known: ptrace is forbidden here" in Page(page_of(records)).text


@pytest.mark.parametrize("made", [lambda found: page_of(reaching(found)), sweep_page])
def test_the_page_says_how_often_what_and_what_to_do(made: Callable[[ReachedFor], str]) -> None:
    html = made(ReachedFor(REACHED))
    assert "What the app reached for" in Page(html).text
    assert "<pre>[service.cache]<br>kind = &#34;redis&#34;<br>at = &#34;127.0.0.1:6379&#34;</pre>" in html
    assert "it went to a private copy, which is gone after the run; nothing of yours was touched" in Page(html).text


def test_without_a_bottle_nothing_is_advised_that_is_true_of_one_only() -> None:
    found = ReachedFor(REACHED, bottle="--no-bottle")
    assert "private copy" not in page_of(reaching(found))
    assert "  once a request 127.0.0.1:6379, refused" in list(lines_of(reach_view(found)))


def test_names_from_outside_are_inert() -> None:
    found = ReachedFor(Reached(1, writes=(Write(f"/srv/{HOSTILE}\x1b[2J", "written", "", 1),)))
    page = Page(page_of(reaching(found)))
    assert "alert(2)>{{7*191}}" in page.text
    assert "img" not in page.elements
    assert page.fetching == []
    assert "\x1b" not in shown(reaching(found), 200)


def test_what_nobody_looked_at_is_not_mentioned() -> None:
    for html in (page_of(finished()), sweep_page(None)):
        assert "What the app reached for" not in html
    assert document(view_of(finished(), "run"))["reached"] is None


def test_the_document_has_all_of_it() -> None:
    held = json.decode(json.encode(document(view_of(reaching(), "run"))))["reached"]
    assert (held["requests"], len(held["rows"]), held["unwatched"]) == (4, 5, "")
    assert held["rows"][0] == {
        "calls": 12,
        "often": "3 x a request",
        "what": "api.stripe.com:443, unreachable",
        "next_step": "`--allow-network api.stripe.com:443` lets it through, for this run",
        "missing": "api.stripe.com:443",
        "snippet": "",
    }


# ---- services -----------------------------------------------------------------------------------


def test_each_service_is_a_part_of_its_own() -> None:
    (row,) = view_of(reaching(), "run").rows
    assert row.control is not None
    assert row.treated is not None
    assert row.control.services_cpu_ms_per_request == pytest.approx({"cache": 0.12, "search": 1.5})
    assert row.treated.services_cpu_ms_per_request == pytest.approx({"cache": 0.24, "search": 3.0})
    text = shown(reaching(), 200)
    assert "  service cache: control 0.120, treatment 0.240\n  service search: control 1.500, treatment 3.000\n" in text
    assert "php-fpm + nginx + database + services: +" in text
    html = page_of(reaching())
    assert "<th>db</th><th>service cache</th><th>service search</th><th>host</th>" in html
    assert 'colspan="9"' in html


def test_the_whole_stack_contains_them() -> None:
    (row,) = view_of(reaching(), "run").rows
    assert row.whole_stack is not None
    (without,) = view_of([each for each in finished() if not isinstance(each, ReachedFor)], "run").rows[1:2]
    assert without.whole_stack is not None
    assert row.whole_stack.ratio < without.whole_stack.ratio


def test_without_services_there_is_no_word_of_them() -> None:
    assert "service cache" not in shown(finished(), 200)
    assert '<span class="key services">' not in page_of(finished())


def test_servers_that_gave_no_answer_are_told_beside_the_result() -> None:
    answer = compare_answer(view_of(reaching(), "run"), "runs/one")
    (warning,) = [each for each in answer.doubts if "error pages" in each]
    assert warning.startswith("Warning: the app got no answer from ")
    assert "api.stripe.com:443" in warning or "servers" in warning
    fine = ReachedFor(Reached(1, writes=(Write("/srv/x", "written", "", 1),)))
    assert compare_answer(view_of(reaching(fine), "run"), "runs/one").doubts == ()


def missed(*servers: str) -> list[ReachRow]:
    return [ReachRow(1, "once a request", each, "", "", each) for each in servers]


def test_many_servers_are_counted() -> None:
    assert without_words(missed("a:1", "b:2", "c:3")).startswith("the app got no answer from 3 servers: the pages measured may be")
    assert without_words(missed("a:1", "b:2"), "operation").startswith(
        "the script got no answer from a:1 and b:2: what was measured may be"
    )
    assert without_words(missed("")) == ""
