"""The estimate in words, and what it is made of."""

import pytest
from msgspec import structs

from phpdyno.journal.records import Calibrated
from phpdyno.workflows.estimate import Decidable, in_words

FOUND = Calibrated(4, 130_000, 129_000, {"A/A": 40}, 1.0, 0.5, "", sigma_pair=0.237, sigma_start=0.00304)


def test_in_words() -> None:
    said = in_words("hello", "8.2.1", FOUND, (Decidable(0.01, 49.3), Decidable(0.05, 4.8), Decidable(0.005, 179.9)))
    assert said == (
        "hello on PHP 8.2.1: 0.129 ms of php-fpm's CPU per request; pairs of slots of 4 requests scatter by 24 %, starts by 0.3 %: "
        "a difference of 1 % is decidable in about 50 s, one of 5 % is decidable in about 5 s, one of 0.5 % is decidable in about 3 min."
    )


def test_without_nginx_it_says_over_what() -> None:
    said = in_words("hello", "8.2.1", FOUND, (Decidable(0.01, 49.3),), "fastcgi")
    assert said.startswith("hello on PHP 8.2.1 over FastCGI: 0.129 ms")


def test_one_request_per_slot_and_what_takes_too_long() -> None:
    dear = structs.replace(FOUND, slot_requests=1, request_cpu_ns=21_100_000)
    said = in_words("shop", "8.2.1", dear, (Decidable(0.01, 700.0), Decidable(0.005, None)))
    assert "21.1 ms" in said
    assert "slots of one request" in said
    assert said.endswith("a difference of 1 % is decidable in about 12 min, one of 0.5 % takes more than an hour.")


@pytest.mark.parametrize(("seconds", "words"), [(1.0, "5 s"), (97.0, "95 s"), (98.0, "100 s"), (101.0, "2 min")])
def test_no_more_digits_than_there_are(seconds: float, words: str) -> None:
    assert in_words("hello", "8.2.1", FOUND, (Decidable(0.01, seconds),)).endswith(f"in about {words}.")
