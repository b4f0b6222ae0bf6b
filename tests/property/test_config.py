from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from phpdyno.config.spec import LAYERS, KnownNames, parse_spec
from phpdyno.errors import UsageError

patient = settings(deadline=None)  # the machine is shared
KNOWN = KnownNames(ini=frozenset({"opcache.jit", "memory_limit"}), pool=frozenset({"pm"}), web=frozenset({"socket"}))
VALUES = st.text(st.characters(exclude_characters=";\x7f", min_codepoint=32, max_codepoint=0x2FF)).map(str.strip)
QUOTES = ('"', "'")
BARE = VALUES.filter(lambda value: not value.startswith(QUOTES))
QUOTED = st.text(st.characters(exclude_characters="\"'\\\x7f", min_codepoint=32, max_codepoint=0x2FF)).map('"{}"'.format)
"""As php.ini has them: what stands in quotes may hold a ';'."""


@patient
@given(st.text(max_size=200))
@example("@\n0")
def test_any_text_is_a_spec_or_a_usage_error(text: str) -> None:
    try:
        settings = parse_spec(text, known=KNOWN, base_dir=Path("/nowhere"))
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017 (either outcome is right)
    else:
        assert all(key.partition(".")[0] in set(LAYERS) - {"app", "live"} for key in settings)


@patient
@given(
    st.dictionaries(st.sampled_from(["pool.pm", "web.socket", "env.A", "env.b_2"]), BARE),
    st.dictionaries(st.sampled_from(["ini.opcache.jit", "ini.memory_limit"]), BARE | QUOTED),
)
def test_what_is_written_is_read(others: dict[str, str], of_php_ini: dict[str, str]) -> None:
    settings = {**others, **of_php_ini}
    text = ";".join(f"{key}={value}" for key, value in settings.items())
    assert parse_spec(text, known=KNOWN, base_dir=Path("/nowhere")) == settings
