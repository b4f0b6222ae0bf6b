"""A check in words."""

from phpdyno.commands.check import view
from phpdyno.commands.check.found import CheckFound, TargetFound
from phpdyno.commands.check.run import NO_PHP, without_php
from phpdyno.model.inside.reach import Connection, Reached

ROW = Connection("api.example.com", 443, "", "inet", "tcp", "refused", "ECONNREFUSED", 5)


def found(**others: object) -> CheckFound:
    return CheckFound(app="shop", targets=(), reached=Reached(5, (ROW,)), **{"bottle": "", **others})  # type: ignore[arg-type]


def test_a_peer_of_no_known_kind_is_told_with_how_it_is_let_through() -> None:
    assert (
        "  once a request api.example.com:443, refused: `--allow-network api.example.com:443` lets it through, for this run"
        in view.lines(found())
    )


def test_in_the_open_there_is_nothing_to_let_through() -> None:
    told = found(bottle="--no-bottle")
    assert "  once a request api.example.com:443, refused" in view.lines(told)
    assert next(view.head(told)).startswith("without a bottle (--no-bottle)")


def test_what_is_let_through_comes_first_and_is_not_told_to_be_let_through_again() -> None:
    told = found(let_through=("api.example.com:443",), not_reached=("api.example.com:443: Connection refused",))
    assert list(view.head(told)) == ["lets through: api.example.com:443"]
    lines = list(view.lines(told))
    assert lines[0] == "let through and not reached: api.example.com:443: Connection refused"
    assert not any("--allow-network" in line for line in lines)


def test_an_app_without_its_servers_may_be_in_trouble() -> None:
    assert "the app got no answer from api.example.com:443: the pages measured may be error pages" in view.lines(found())
    assert not any("error pages" in line for line in view.lines(found(let_through=("api.example.com:443",))))


def test_what_is_strange_about_all_targets_is_told() -> None:
    assert "/ and /a answer the very same page" in view.lines(found(remark="/ and /a answer the very same page"))


def test_a_page_that_php_does_not_make_is_told_and_alone_cannot_be_measured() -> None:
    made, file = TargetFound(label="/", php_ms=0.3), TargetFound(label="/manual/", php_ms=0.0)
    beside = without_php((made, file))
    assert [(each.warnings, each.problem) for each in beside] == [((), ""), ((NO_PHP,), "")]
    alone = CheckFound(app="shop", bottle="", targets=tuple(without_php((file,))))
    assert not alone.measurable
    assert f"/manual/ cannot be measured: {NO_PHP}" in view.lines(alone)
    broken = TargetFound(label="/b", php_ms=0.0, problem="it gets no answer")
    assert without_php((broken,)) == [broken]
