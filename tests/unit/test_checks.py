"""checks.jsonl: cut off, damaged, newer, hostile; and the order of comparisons."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from phpdyno.errors import DynoError, UsageError
from phpdyno.journal.checks import CHECKS_FILE, CHECKS_SCHEMA, read_checks
from phpdyno.journal.reader import drop_cut_off_line
from phpdyno.journal.writer import JournalWriter
from phpdyno.workflows.check_schedule import jobs_of
from phpdyno.workflows.selfcheck import FULL, QUICK, begin, code_digest, resume_selfcheck, with_comparisons
from tests.support.checks import GROUND, WISH, compared, header


class FakeProgress:
    """Hears nothing."""

    def phase(self, text: str) -> None: ...
    def note(self, text: str) -> None: ...
    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None: ...


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with JournalWriter(tmp_path / CHECKS_FILE) as writer:
        for record in (header(), GROUND, compared(3), compared(0)):
            writer.append(record)
    return tmp_path


def test_what_was_written_comes_back(run: Path) -> None:
    found = read_checks(run)
    assert (found.header, found.ground, found.compared) == (header(), GROUND, (compared(3), compared(0)))
    assert not found.finished


def test_a_line_that_was_cut_off_is_left_out_and_dropped_before_going_on(run: Path) -> None:
    path = run / CHECKS_FILE
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines(keepends=True)[-1][:40])
    assert len(read_checks(run).compared) == 2
    assert drop_cut_off_line(path)
    assert path.read_bytes() == whole


def test_a_newer_file_is_refused(run: Path) -> None:
    newer = structs.replace(header(), schema=CHECKS_SCHEMA + 1)
    (run / CHECKS_FILE).write_bytes(msgspec.json.encode(newer) + b"\n")
    with pytest.raises(DynoError, match="has schema 2 and this phpdyno reads up to 1"):
        read_checks(run)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "does not begin with a header"),
        (b"[]\n", "line 1 is damaged"),
        (b"\x00\xff\n", "line 1 is damaged"),
        (msgspec.json.encode(compared(0)) + b"\n", "does not begin with a header"),
        (msgspec.json.encode(header()) + b"\nnonsense\n", "line 2 is damaged"),
        (msgspec.json.encode(header()) + (b"\n" + msgspec.json.encode(compared(1))) * 2 + b"\n", "are not 9 different ones"),
        (msgspec.json.encode(header()) + b"\n" + msgspec.json.encode(compared(9)) + b"\n", "are not 9 different ones"),
        (msgspec.json.encode(header()) + b"\n" + msgspec.json.encode(compared(-1)) + b"\n", "are not 9 different ones"),
    ],
)
def test_a_hostile_file_is_one_clear_error(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / CHECKS_FILE).write_bytes(content)
    with pytest.raises(DynoError, match=why):
        read_checks(tmp_path)


def test_a_directory_without_a_selfcheck_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no selfcheck here"):
        resume_selfcheck(tmp_path, FakeProgress())


def test_other_code_is_refused_before_anything_starts(run: Path) -> None:
    with pytest.raises(UsageError, match="the code that measures is not the one"):
        resume_selfcheck(run, FakeProgress())


def test_a_finished_selfcheck_is_only_shown_again(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / CHECKS_FILE) as writer:
        for record in (header(), *(compared(number) for number in range(WISH.total))):
            writer.append(record)
    _, found = resume_selfcheck(tmp_path, FakeProgress())
    assert found.finished


def test_a_new_selfcheck_begins_with_the_digest_of_the_code(tmp_path: Path) -> None:
    begin(tmp_path, QUICK, argv=["selfcheck"])
    found = read_checks(tmp_path)
    assert (found.header.code, found.header.wish) == (code_digest(), QUICK)


def test_comparisons_come_in_random_order_with_seeds_of_their_own_and_half_of_the_planted_are_swapped() -> None:
    jobs = jobs_of(FULL)
    assert [job.number for job in jobs] == list(range(FULL.total))
    assert len({job.seed for job in jobs}) == FULL.total
    assert Counter((job.kind, job.swapped) for job in jobs) == {
        ("A/A", False): 200,
        ("zero", False): 50,
        ("planted", False): 100,
        ("planted", True): 100,
    }
    first = [job.kind for job in jobs[: FULL.total // 2]]
    assert min(first.count("A/A") / 200, first.count("zero") / 50, first.count("planted") / 200) > 0.3
    assert jobs == jobs_of(FULL)
    other = jobs_of(structs.replace(FULL, seed=2))
    assert [job.kind for job in other] != [job.kind for job in jobs]
    assert {job.seed for job in other}.isdisjoint({job.seed for job in jobs})


def test_a_number_of_comparisons_holds_for_both_kinds() -> None:
    wish = with_comparisons(QUICK, 8)
    assert (wish.aa, wish.zero, wish.planted, wish.rounds) == (8, 2, 8, QUICK.rounds)
