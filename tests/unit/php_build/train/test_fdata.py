"""Profiles of BOLT's as text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.php_build.train.bolt import BoltError
from phpdyno.php_build.train.fdata import counts_of, profiles_of, subtract

START = "1 main 0 1 a 0 0 3\n1 a 4 1 b 0 0 10\n1 loop 0 1 loop 8 0 90\n"


def written(place: Path, name: str, text: str) -> Path:
    path = place / name
    path.write_text(text)
    return path


def test_what_a_start_counts_is_taken_off(tmp_path: Path) -> None:
    training_length = written(tmp_path, "course", "1 main 0 1 a 0 0 3\n1 a 4 1 b 0 0 1010\n1 loop 0 1 loop 8 0 70\n1 new/1 c 1 b 0 0 5\n")
    subtract(training_length, written(tmp_path, "start", START))
    assert training_length.read_text() == "1 a 4 1 b 0 0 1000\n1 new/1 c 1 b 0 0 5\n"


def test_a_training_that_counts_no_more_than_a_start_is_a_fault(tmp_path: Path) -> None:
    training_length = written(tmp_path, "php-fpm.fdata", START)
    with pytest.raises(BoltError, match=r"php-fpm\.fdata: the training counted no more than a start does"):
        subtract(training_length, written(tmp_path, "start", START))
    assert training_length.read_text() == START


COUNTS = st.dictionaries(st.sampled_from([f"1 f{at} {at:x} 1 g 0 0" for at in range(8)]), st.integers(0, 10**12))


@given(start=COUNTS, traffic=COUNTS.filter(lambda counts: any(counts.values())))
def test_start_and_traffic_less_the_start_is_the_traffic(
    tmp_path_factory: pytest.TempPathFactory, start: dict[str, int], traffic: dict[str, int]
) -> None:
    place = tmp_path_factory.mktemp("fdata")

    def profile(name: str, counts: dict[str, int]) -> Path:
        return written(place, name, "".join(f"{what} {count}\n" for what, count in counts.items()))

    both = profile("both", {what: start.get(what, 0) + traffic.get(what, 0) for what in {**start, **traffic}})
    subtract(both, profile("start", start))
    left = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in both.read_text().splitlines()}
    assert left == {what: count for what, count in traffic.items() if count}
    assert counts_of(both) == sum(traffic.values())


def test_profiles_of_one_binary_are_told_by_its_name(tmp_path: Path) -> None:
    for name in ("php-fpm.12.fdata", "php-fpm.7.fdata", "opcache.so.7.fdata", "php-fpm"):
        written(tmp_path, name, START)
    assert [path.name for path in profiles_of("php-fpm", tmp_path)] == ["php-fpm.12.fdata", "php-fpm.7.fdata"]
