"""The bottleneck: each row of the decision table with its sentence, their order, and that there
always is an answer."""

import json
from dataclasses import dataclass
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.experiment.common.limits.bottleneck import STOLEN, find_bottleneck, shares_of
from phpdyno.model.runs.bottleneck import Bottleneck, Kind, Load
from phpdyno.report.bottleneck import bottleneck_sentence
from tests.support.made_up.loads import SECOND_NS, load


@dataclass(frozen=True)
class Row:
    """A load, what is found, and the whole sentence."""

    load: Load
    kind: Kind
    sentence: str


TABLE = [
    Row(
        load(php=97, php_cores=98, helper_cores=60, queue_share=1.0),
        "php",
        "php-fpm's core is busy 98 % of the time, 97 % with php-fpm: PHP's CPU is the limit",
    ),
    Row(
        load(php=195, php_cores=196, php_on=(2, 3), helpers_on=(0, 1), helper_cores=60),
        "php",
        "php-fpm's 2 cores are busy 98 % of the time, nearly all of it with php-fpm: PHP's CPU is the limit",
    ),
    Row(
        load(php=40, php_cores=96),
        "stranger_beside_php",
        "php-fpm's core is busy 96 % of the time, but php-fpm uses only 40 %: something else runs there",
    ),
    Row(
        load(php=38, php_cores=40, busy_workers=5.0, queue_share=0.93),
        "workers",
        "all 5 workers are busy (5.0 on the mean, requests queue in 93 % of the samples) while their core idles 60 % of the time:"
        " too few workers",
    ),
    Row(
        load(php=70, php_cores=72, workers=1, queue_share=0.8),
        "workers",
        "the only worker is busy (requests queue in 80 % of the samples) while their core idles 28 % of the time: too few workers",
    ),
    Row(
        load(php=99, php_cores=99, workers=1, php_on=(2, 3), helpers_on=(0,)),
        "workers",
        "the only worker is busy (99 % of a core each) while their 2 cores idle 50 % of the time: too few workers",
    ),
    Row(
        load(c=None, php=38, php_cores=40, busy_workers=4.9),
        "workers",
        "all 5 workers are busy (4.9 on the mean) while their core idles 60 % of the time: too few workers",
    ),
    Row(
        load(c=30, workers=32, queue_share=0.7),
        "starting_workers",
        "requests queue in 70 % of the samples at c = 30 although the pool may have 32 workers (php-fpm's core is busy 32 % of the time):"
        " php-fpm has not started enough of them",
    ),
    Row(
        load(database=80, helper_cores=96),
        "database",
        "the core of nginx, MariaDB and the generator is busy 96 % of the time, MariaDB uses 80 %: the database is the limit",
    ),
    Row(
        load(web=60, generator=30, helper_cores=97),
        "web",
        "nginx's process is busy 60 % of the time, the core of nginx and the generator is busy 97 % of the time:"
        " the host is too small for this load",
    ),
    Row(
        load(web=95, generator=30, php_on=(2,), helpers_on=(0, 1), helper_cores=130),
        "web",
        "nginx's process is busy 95 % of the time, the 2 cores of nginx and the generator are busy 65 % of the time:"
        " the host is too small for this load",
    ),
    Row(
        load(web=None, generator=96, helper_cores=97),
        "generator",
        "the generator's thread is busy 96 % of the time, the core of the generator is busy 97 % of the time:"
        " the host is too small for this load",
    ),
    Row(
        load(web=33, generator=30, database=30, helper_cores=97),
        "helpers",
        "the core of nginx, MariaDB and the generator is busy 97 % of the time (nginx 33 %, MariaDB 30 %, the generator 30 %):"
        " the host is too small for this load",
    ),
    Row(
        load(web=3, generator=10, helper_cores=97),
        "stranger_beside_helpers",
        "the core of nginx and the generator is busy 97 % of the time, little of it with these (nginx 3 %, the generator 10 %):"
        " something else runs there",
    ),
    Row(
        load(php=96, php_cores=97, web=50, generator=40, helper_cores=95),
        "all_full",
        "php-fpm's core is busy 97 % of the time, the core of nginx and the generator is busy 95 % of the time"
        " (nginx 50 %, the generator 40 %): nothing has room, and the host is too small for this load",
    ),
    Row(
        load(php=60, php_on=(0,), php_cores=99, helper_cores=99, web=20),
        "shared_core",
        "php-fpm shares a core with the rest, and it is busy 99 % of the time (php-fpm 60 %, nginx 20 %, the generator 10 %):"
        " the host is too small for this load",
    ),
    Row(
        load(php=97, php_cores=98, stolen=30),
        "stolen",
        "the hypervisor takes 20 % of the time for which there is work: this tells of the host, not of the app",
    ),
    Row(
        load(c=1),
        "concurrency",
        "nothing is full at c = 1 (php-fpm's core is busy 32 % of the time, the core of nginx and the generator is busy 20 % of the time):"
        " one request at a time cannot use more",
    ),
    Row(
        load(c=5, busy_workers=5.0),
        "concurrency",
        "nothing is full at c = 5 (php-fpm's core is busy 32 % of the time, the core of nginx and the generator is busy 20 % of the time):"
        " 5 requests at a time cannot use more",
    ),
    Row(
        load(c=None, queue_share=0.02),
        "offered_rate",
        "nothing is full at the offered rate (php-fpm's core is busy 32 % of the time,"
        " the core of nginx and the generator is busy 20 % of the time): all that is asked is served",
    ),
    Row(
        load(),
        "unknown",
        "nothing that was read is full at c = 10 (php-fpm's core is busy 32 % of the time,"
        " the core of nginx and the generator is busy 20 % of the time, whether requests queue could not be read):"
        " what requests wait for (locks, disk, another host) was not read",
    ),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.kind)
def test_each_case_has_its_finding_and_its_sentence(row: Row) -> None:
    found = find_bottleneck(row.load)
    assert found.kind == row.kind
    assert bottleneck_sentence(found) == row.sentence


def test_every_finding_has_a_row() -> None:
    assert {row.kind for row in TABLE} == set(get_args(Kind))


def test_who_else_runs_on_a_full_core_is_said_before_a_limit_is_named() -> None:
    assert find_bottleneck(load(php=50, php_cores=99)).kind == "stranger_beside_php"
    assert find_bottleneck(load(php=91, php_cores=99)).kind == "php"
    assert find_bottleneck(load(web=40, generator=30, helper_cores=97)).kind == "stranger_beside_helpers"
    assert find_bottleneck(load(web=40, generator=40, helper_cores=97)).kind == "helpers"
    assert find_bottleneck(load(php=50, php_cores=99, helper_cores=97)).kind == "stranger_beside_php"


def test_a_neighbour_of_the_helpers_takes_nothing_from_a_php_that_is_full() -> None:
    assert find_bottleneck(load(php=96, php_cores=97, helper_cores=97)).kind == "php"
    assert find_bottleneck(load(php=96, php_cores=97, helper_cores=97, web=60, generator=30)).kind == "all_full"


def test_a_queue_behind_a_full_core_is_no_lack_of_workers() -> None:
    assert find_bottleneck(load(php=95, php_cores=95, queue_share=1.0, busy_workers=5.0)).kind == "php"
    assert find_bottleneck(load(php=85, php_cores=86, queue_share=1.0, busy_workers=5.0)).kind == "workers"


def test_components_stand_for_cores_that_were_not_read() -> None:
    shares = shares_of(load(php=40, php_cores=None, helper_cores=None, database=25))
    assert (shares.php_cores, shares.helper_cores) == (0.4, 0.4)
    shared = shares_of(load(php=40, php_cores=None, helper_cores=None, php_on=(0,)))
    assert shared.helper_cores == 0.55


def test_what_was_stolen_limits_nothing_where_cores_would_have_room_even_so() -> None:
    waits = load(php=4, php_cores=6, helper_cores=12, stolen=20, busy_workers=5.0, queue_share=1.0)
    assert shares_of(waits).stolen >= STOLEN
    assert find_bottleneck(waits).kind == "workers"
    assert find_bottleneck(load(php=60, php_cores=72, stolen=20, busy_workers=5.0, queue_share=1.0)).kind == "stolen"


def test_a_few_stolen_ticks_of_idle_cores_are_no_finding() -> None:
    assert find_bottleneck(load(c=1, php=1, php_cores=2, generator=1, web=1, helper_cores=2, stolen=2)).kind == "concurrency"


def test_a_core_read_a_moment_late_is_full_and_not_fuller() -> None:
    full = find_bottleneck(load(php=101, php_cores=101))
    assert "busy 100 % of the time, nearly all of it with php-fpm" in bottleneck_sentence(full)
    assert bottleneck_sentence(full, php="Apache").startswith("Apache's core is busy 100 % of the time, nearly all of it with Apache")


def test_two_threads_of_the_generator_are_full_when_each_is() -> None:
    wide = load(generator=150, helper_cores=170, helpers_on=(0, 2, 3))
    assert find_bottleneck(wide).kind == "generator"
    two = msgspec.structs.replace(wide, generator_threads=2)
    assert find_bottleneck(two).kind != "generator"
    full = msgspec.structs.replace(load(generator=190, helper_cores=200, helpers_on=(0, 2, 3)), generator_threads=2)
    assert "the generator's 2 threads are busy 95 % of the time" in bottleneck_sentence(find_bottleneck(full))


@pytest.mark.parametrize(
    "change",
    [
        {"duration_ns": 0},
        {"workers": 0},
        {"generator_threads": 0},
        {"concurrency": 0},
        {"php_cores": ()},
        {"php_ns": -1},
        {"network_ns": -1},
        {"queue_share": 1.1},
        {"queue_share": float("nan")},
        {"busy_workers": float("inf")},
        {"busy_workers": -1.0},
    ],
)
def test_readings_that_cannot_be_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"interval|core|grows|number|share"):
        msgspec.structs.replace(load(), **change)


def test_a_finding_survives_the_journal() -> None:
    found = find_bottleneck(load(queue_share=0.3))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Bottleneck) == found


CPU = st.integers(0, 5 * SECOND_NS)
MAYBE_CPU = st.none() | CPU
LOADS = st.builds(
    Load,
    duration_ns=st.integers(1, 10 * SECOND_NS),
    concurrency=st.none() | st.integers(1, 10_000),
    workers=st.integers(1, 10_000),
    php_cores=st.sets(st.integers(0, 7), min_size=1).map(lambda cores: tuple(sorted(cores))),
    helper_cores=st.sets(st.integers(0, 7), min_size=1).map(lambda cores: tuple(sorted(cores))),
    php_ns=CPU,
    generator_ns=CPU,
    web_ns=MAYBE_CPU,
    database_ns=MAYBE_CPU,
    php_cores_ns=MAYBE_CPU,
    helper_cores_ns=MAYBE_CPU,
    stolen_ns=MAYBE_CPU,
    busy_workers=st.none() | st.floats(0, 10_000),
    queue_share=st.none() | st.floats(0, 1),
    network_ns=MAYBE_CPU,
    generator_threads=st.integers(1, 4),
)


@given(LOADS)
def test_it_always_answers_in_one_line_with_a_figure(made: Load) -> None:
    found = find_bottleneck(made)
    sentence = bottleneck_sentence(found)
    assert any(letter.isdigit() for letter in sentence)
    assert "\n" not in sentence
    assert "nan" not in sentence
    assert "None" not in sentence
    assert "-" not in sentence.replace("php-fpm", "")  # no negative share
    json.loads(msgspec.json.encode(found))


@given(LOADS)
def test_more_workers_are_advised_only_where_cores_have_room_and_requests_outnumber_the_workers(made: Load) -> None:
    found = find_bottleneck(made)
    if found.kind == "workers":
        assert found.shares.php_cores < 0.9
        assert made.concurrency is None or made.concurrency > made.workers


def test_services_are_no_strangers() -> None:
    found = find_bottleneck(load(php=40, php_cores=41, helper_cores=97, services=70))
    assert found.kind == "helpers"
    assert "the services 70 %" in bottleneck_sentence(found)
    assert find_bottleneck(load(php=40, php_cores=41, helper_cores=97)).kind == "stranger_beside_helpers"
