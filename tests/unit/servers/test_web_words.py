"""What a web server could not pass on, in its own words."""

import pytest

from phpdyno.servers.web_words import web_fault

AT = "2026/11/20 08:00:00 [error] 12#12: *3 "
FROM = ", client: 127.0.0.1, server: , request: x\n"
READING = " while reading response header from upstream"
BIG = f"{AT}upstream sent too big header{READING}{FROM}"
TIMED_OUT = f"{AT}upstream timed out (110: Connection timed out){READING}{FROM}"
PHPS = f'{AT}FastCGI sent in stderr: "PHP message: PHP Warning:  x"{READING}{FROM}'


@pytest.mark.parametrize(("had", "give"), [({}, "32k"), ({"fastcgi_buffer_size": "16k"}, "32k"), ({"fastcgi_buffer_size": "32k"}, "64k")])
def test_a_header_that_is_too_big_names_the_setting_that_helps(had: dict[str, str], give: str) -> None:
    told = web_fault(PHPS + BIG, had)
    assert told.startswith("nginx: upstream sent too big header while reading response header from upstream (")
    assert told.endswith(f"web.fastcgi_buffer_size={give})")


def test_any_other_fault_is_told_as_it_stands_there() -> None:
    assert web_fault(BIG + TIMED_OUT, {}) == f"nginx: upstream timed out (110: Connection timed out){READING}"
    assert web_fault(PHPS, {}) == ""
