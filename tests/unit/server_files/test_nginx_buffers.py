"""Buffers of nginx that fit each other, whatever an arm asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.knobs.domain import buffers_bytes, size_bytes
from phpdyno.server_files.nginx import added_buffers, fitting_buffers


def test_what_fits_is_left_as_it_is() -> None:
    assert fitting_buffers({}) == {}
    assert added_buffers({}) == ""
    for web in ({"fastcgi_buffer_size": "8k"}, {"fastcgi_buffers": "16 16k", "fastcgi_buffer_size": "16k"}, {"fastcgi_buffers": "16 32k"}):
        assert fitting_buffers(web) == web
        assert added_buffers(web) == ""


@pytest.mark.parametrize(
    ("web", "added"),
    [
        ({"fastcgi_buffer_size": "32k"}, "fastcgi_buffers 17 4k"),
        ({"fastcgi_buffer_size": "128k"}, "fastcgi_buffers 65 4k"),
        ({"fastcgi_buffer_size": "32k", "fastcgi_buffers": "12 4k"}, "fastcgi_busy_buffers_size 45056"),
        ({"fastcgi_buffer_size": "32k", "fastcgi_buffers": "4 4k"}, "fastcgi_buffers 17 4k"),
        ({"fastcgi_buffers": "2 4k"}, "fastcgi_busy_buffers_size 4096"),
    ],
)
def test_what_is_missing_is_added(web: dict[str, str], added: str) -> None:
    assert added_buffers(web) == added


@given(st.integers(1, 2048), st.integers(2, 64), st.integers(1, 256), st.booleans(), st.booleans())
def test_nginx_s_own_rule_holds_for_any_sizes(first: int, count: int, one: int, with_first: bool, with_others: bool) -> None:
    web = {
        **({"fastcgi_buffer_size": f"{first}k"} if with_first else {}),
        **({"fastcgi_buffers": f"{count} {one}k"} if with_others else {}),
    }
    made = fitting_buffers(web)
    total = buffers_bytes(made.get("fastcgi_buffers", "8 4k")) or 0
    each = size_bytes(made.get("fastcgi_buffers", "8 4k").split()[1]) or 0
    larger = max(size_bytes(made.get("fastcgi_buffer_size", "4k")) or 0, each)
    busy = int(made.get("fastcgi_busy_buffers_size", 2 * larger))
    assert larger <= busy <= total - each
    assert made.get("fastcgi_buffer_size") == web.get("fastcgi_buffer_size")
