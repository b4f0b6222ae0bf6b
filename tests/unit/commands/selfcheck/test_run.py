"""checks.jsonl: cut off, damaged, newer, hostile; and the order of comparisons."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

import phpdyno
from phpdyno.commands.selfcheck.comparing import compared_of
from phpdyno.commands.selfcheck.run import FULL, QUICK, begin, resume_selfcheck, with_comparisons
from phpdyno.commands.selfcheck.schedule import Job, jobs_of
from phpdyno.errors import DynoError, UsageError
from phpdyno.journal.checks import CHECKS_FILE, CHECKS_SCHEMA, CheckKind, Compared, read_checks
from phpdyno.journal.reader import drop_cut_off_line
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.verdict import Effect, Verdict, VerdictKind
from phpdyno.session.provenance import code_digest
from phpdyno.stats.comparison.pooled_lag import lag_about
from tests.support.made_up.checks import GROUND, WISH, compared, header, session


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
    with pytest.raises(DynoError, match=f"has schema {CHECKS_SCHEMA + 1} and this phpdyno reads up to {CHECKS_SCHEMA}"):
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
        ("A/A", False): 180,
        ("long A/A", False): 20,
        ("zero", False): 50,
        ("planted", False): 100,
        ("planted", True): 100,
    }
    first = [job.kind for job in jobs[: FULL.total // 2]]
    assert min(first.count("A/A") / 180, first.count("zero") / 50, first.count("planted") / 200) > 0.3
    assert jobs == jobs_of(FULL)
    other = jobs_of(structs.replace(FULL, seed=2))
    assert [job.kind for job in other] != [job.kind for job in jobs]
    assert {job.seed for job in other}.isdisjoint({job.seed for job in jobs})


def test_a_number_of_comparisons_holds_for_both_kinds() -> None:
    wish = with_comparisons(QUICK, 8)
    assert (wish.aa, wish.long, wish.zero, wish.planted, wish.rounds) == (8, 1, 2, 8, QUICK.rounds)
    assert [with_comparisons(QUICK, count).long for count in (1, 2, 30, 200)] == [0, 1, 3, 20]


def test_a_record_of_the_first_schema_is_still_read(tmp_path: Path) -> None:
    old = {"type": "comparison", "number": 0, "kind": "planted", "seed": 1, "swapped": True, "truth": 0.01, "verdict": "improved"}
    old |= {"ratio": 1.01, "low": 1.005, "high": 1.02, "blocks": 9, "seconds": 8.0}
    first = msgspec.json.encode(structs.replace(header(), schema=1))
    (tmp_path / CHECKS_FILE).write_bytes(first + b"\n" + msgspec.json.encode(old) + b"\n")
    (found,) = read_checks(tmp_path).compared
    assert (found.early, found.looks, found.lag) == (None, 0, None)


def test_each_kind_has_its_plan() -> None:
    now = session(75.0)
    assert [now.plan_of(kind)[1] for kind in ("A/A", "zero", "long A/A", "planted")] == [6.0, 6.0, 27.6, 75.0]
    assert now.plan_of("long A/A")[0].blocks == 60


@pytest.mark.parametrize("place", ["commands/tune", "commands/tune/stages", "session", "knobs", "journal", "config", "apps", "model"])
def test_the_digest_changes_with_all_that_a_verdict_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    fake = fake_package(tmp_path, monkeypatch)
    before = code_digest()
    (fake / place / "some.py").write_text("changed = True\n")
    assert code_digest() != before


def test_the_digest_knows_single_files_and_the_native_core_and_not_what_only_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = fake_package(tmp_path, monkeypatch)
    before = code_digest()
    for shown in ("report", "cli", "commands/tune/render"):
        (fake / shown / "some.py").write_text("changed = True\n")
    (fake / "commands/tune/words.py").write_text("changed = True\n")
    assert code_digest() == before
    for name in ("errors.py", "paths.py", "_native.abi3.so"):
        now = code_digest()
        (fake / name).write_text("changed = True\n")
        assert code_digest() != now


def fake_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fake = tmp_path / "phpdyno"
    for folder in (
        "commands/tune/stages",
        "commands/tune/render",
        "session",
        "knobs",
        "journal",
        "config",
        "apps",
        "model",
        "report",
        "cli",
    ):
        (fake / folder).mkdir(parents=True)
    monkeypatch.setattr(phpdyno, "__file__", str(fake / "__init__.py"))
    return fake


COUNTED = (0.010, 0.012, -0.002, 0.004, 0.011, 0.001)


def told(kind: CheckKind, truth: float, counted: Sequence[float] = COUNTED, kind_of: VerdictKind = "improved") -> Compared:
    effect = Effect(1.006, 1.001, 1.011, len(counted), 0.95, 0.005, 1.006) if counted else None
    return compared_of(Job(0, kind, truth > 0, 1), truth, Verdict("some", kind_of, effect=effect), counted, least=4, seconds=2.0)


def test_what_the_first_blocks_said_is_kept_before_any_stop_could_choose_them() -> None:
    found = told("planted", 0.01)
    assert found.early == pytest.approx(sum(COUNTED[:4]) / 4)
    assert (found.looks, found.lag) == (3, None)
    short = told("planted", 0.01, COUNTED[:3])
    assert (short.early, short.looks) == (None, 0)


def test_the_autocorrelation_of_aa_is_kept_and_a_comparison_without_blocks_has_no_number() -> None:
    assert told("A/A", 0.0).lag == lag_about(COUNTED, 0.0)
    assert told("long A/A", 0.0).lag is not None
    assert told("zero", 0.0).lag is None
    nothing = told("A/A", 0.0, (), "inconclusive")
    assert nothing.numberless
    assert nothing.lag is None
