"""What callgrind writes, and what rounds of it say of a request."""

from collections.abc import Mapping

import pytest

from phpdyno.explain.counting.callgrind import Dump, Function, in_cycles, read_dump
from phpdyno.explain.counting.instructions import instructions_in
from phpdyno.model.workload import Target
from tests.support.places import ROOT

RECORDED = ROOT / "tests" / "support" / "recorded" / "callgrind.txt"
SMALL = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 7
part: 2

desc: Trigger: --dump-before=accept

positions: line
events: Ir
summary: 175


ob=(1) /usr/sbin/php-fpm8.2
fl=(1) main.c
fn=(1) php_execute_script
10 5
cfn=(2) execute_ex
calls=1 20
10 150
+1 5

fn=(2)
20 40
* 10
cob=(2) /usr/lib/libc.so.6
cfi=(3) ???
cfn=(3) write@@GLIBC_2.2.5
calls=2 0
+2 60
cfn=(4) zend_call_function
calls=1 30
-2 30

fn=(4)
30 10
cfn=(5) execute_ex'2
calls=1 20
30 20

fn=(5)
20 20
cfn=(6) 0x000000000031db70
calls=1 1
20 0

ob=(2)
fn=(3)
0 60

ob=(1)
fn=(6)
1 25
totals: 175
"""
MAIN: Function = ("php-fpm8.2", "php_execute_script")
EXECUTE: Function = ("php-fpm8.2", "execute_ex")
CALL: Function = ("php-fpm8.2", "zend_call_function")
WRITE: Function = ("libc.so.6", "write")
NAMELESS: Function = ("php-fpm8.2", "0x31db70")


def test_own_and_inclusive_counts_of_each_function() -> None:
    dump = read_dump(SMALL.splitlines())
    assert dump.total == 175
    # A recursive call's second activation is the same function; a symbol's version is no part of
    # its name.
    assert dump.own == {MAIN: 10, EXECUTE: 70, CALL: 10, WRITE: 60, NAMELESS: 25}
    assert dump.inclusive[MAIN] == 160
    assert dump.inclusive[WRITE] == 60
    # The file of what is called holds for that call alone: write is in the C library,
    # zend_call_function again in PHP.
    assert dump.recursive == {EXECUTE, CALL}


def test_a_dump_as_callgrind_writes_it() -> None:
    dump = read_dump(RECORDED.read_text().splitlines())
    assert dump.total == sum(dump.own.values()) == 155_879
    assert dump.own[EXECUTE] == 51_265
    assert dump.inclusive[MAIN] == 98_437
    assert MAIN not in dump.recursive


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no total"),
        (SMALL.removesuffix("totals: 175\n"), "no total"),
        (SMALL.replace("totals: 175", "totals: 176"), "175 instructions together, and not its total of 176"),
        (SMALL.replace("fn=(1) php_execute_script", "fn=(1)"), "fn 1 has no name"),
        (SMALL.replace("10 5\n", "10 many\n"), "many"),
    ],
)
def test_what_is_no_whole_dump_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_dump(text.splitlines())


def test_cycles_and_what_only_leads_to_them() -> None:
    names = {name: ("php", name) for name in "abcdef"}
    ways = {"a": "bc", "b": "c", "c": "db", "d": "e", "f": "f"}
    calls = {names[name]: frozenset(names[each] for each in to) for name, to in ways.items()}
    assert {name for _, name in in_cycles(calls)} == {"b", "c", "f"}
    deep = {("php", str(number)): frozenset({("php", str(number + 1))}) for number in range(20_000)}
    assert in_cycles(deep) == frozenset()


def dump(own: Mapping[str, int], *, recursive: str = "") -> Dump:
    counts = {("php", name): count for name, count in own.items()}
    return Dump(sum(own.values()), counts, {key: 2 * count for key, count in counts.items()}, frozenset({("php", recursive)}))


def test_a_request_of_the_mix_and_the_functions_of_the_round_in_the_middle() -> None:
    targets = (Target("/", weight=3.0), Target("/b", weight=1.0, name="second"))
    rows = [
        (dump({"f": 100}), dump({"f": 10, "g": 10})),
        (dump({"f": 400}), dump({"f": 10, "g": 10})),
        (dump({"f": 104}), dump({"f": 0, "g": 24}, recursive="g")),
    ]
    found = instructions_in("arm", targets, rows, 6, ("a note",))
    assert found.rounds == (80.0, 305.0, 84.0)
    assert (found.lowest, found.median, found.highest) == (80.0, 84.0, 305.0)
    assert found.spread == pytest.approx(225 / 84)
    assert [(each.target, each.weight, each.counts) for each in found.targets] == [
        ("/", 0.75, (100, 400, 104)),
        ("second", 0.25, (20, 20, 24)),
    ]
    assert [(each.name, each.own, each.inclusive) for each in found.functions] == [("f", 78.0, 156.0), ("g", 6.0, None)]
    assert sum(each.share for each in found.functions) == pytest.approx(1.0)
    assert (found.requests, found.warm_requests, found.notes) == (6, 6, ("a note",))
