"""What comes from outside (a pool's file, an extension's bytes) gives a value or one clear line,
never another fault."""

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from phpdyno.config.fpm_conf import Variables, read_fpm_conf
from phpdyno.errors import UsageError
from phpdyno.servers.programs.extensions import extension_kind, loads, with_other_extensions

patient = settings(deadline=None)  # the machine is shared
PIECES = st.sampled_from(
    ["[", "]", "www", "=", " ", "'", '"', "${", "}", "$pool", "(", ")", "&", "|", "~", "!", "^", ";", "\n", "E_ALL", "7", "\\"]
)
TEXT = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=20).map("".join))


@patient
@given(TEXT)
def test_any_configuration_is_read_or_refused_with_its_line(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fpm.conf"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        try:
            sections = read_fpm_conf(path, prefix=Path(folder), variables=Variables({}))
        except UsageError as error:
            assert str(error).startswith(f"{path}:")  # noqa: PT017 (either outcome is right)
        else:
            assert all(entry.where.startswith(f"{path}:") for entries in sections.values() for entry in entries)


@patient
@given(st.binary(max_size=80))
@example(bytes(22) + b"\xff" * 8 + bytes(12) + b"\x01\x00" + bytes(8))  # a table of sections that lies beyond what an offset can be
def test_any_bytes_are_an_extension_or_are_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.so"
        path.write_bytes(b"\x7fELF\x02\x01" + bytes(10) + b"\x03\x00" + data)
        try:
            extension_kind(path, where="ext.x")
        except UsageError as error:
            assert "\n" not in str(error)  # noqa: PT017


@patient
@given(TEXT)
def test_an_ini_file_without_the_extension_stays_as_it_is(text: str) -> None:
    assert with_other_extensions(text, {}) == text
    assert "gone" not in loads(with_other_extensions(f"{text}\nextension=gone.so\n", {"gone": ""}))
