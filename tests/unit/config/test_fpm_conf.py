"""php-fpm's configuration: values as its ini scanner gives them, includes, and errors with file and
line."""

import os
from pathlib import Path

import pytest

from phpdyno.config.fpm_conf import Variables, ini_text, levels_of, read_fpm_conf
from phpdyno.errors import UsageError

NONE = Variables({})


def values(tmp_path: Path, text: str, variables: Variables = NONE) -> list[str]:
    (tmp_path / "fpm.conf").write_text(f"[www]\n{text}\n")
    return [entry.value for entry in read_fpm_conf(tmp_path / "fpm.conf", prefix=tmp_path, variables=variables)["www"]]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("pm = static ; a comment", "static"),
        ("a[b] = on", "1"),
        ("a[b] = none", ""),
        ("a[b] =", ""),
        ("a[b] = 'x;y ${HOME}'", "x;y ${HOME}"),
        ('a[b] = "x;y ${HOME}"', "x;y /root"),
        ("a[b]=${HOME}/bin", "/root/bin"),
        (r'a[b] = "\${HOME}"', "${HOME}"),
        ("a[b] = ${HOME:-/x}${NOPE:-/y}${EMPTY:-/z}${NOPE}", "/root/y/z"),
        ('a[b] = "a ${NOPE:-b c}"', "a b c"),
        ("a[b] = abc'd;f' x", "abcd;f x"),
        ("a[b] = $HOSTNAME", "$HOSTNAME"),
        ("a[b] = /var/log/$pool.log", "/var/log/$pool.log"),
        ("a[b] = one two   three", "one two   three"),
        ("a[b] = E_ALL", "32767"),
        ("a[b] = E_ALL & ~E_DEPRECATED & ~E_STRICT", str(32767 & ~8192 & ~2048)),
        ("a[b] = E_ALL & ~(E_NOTICE|E_DEPRECATED)", str(32767 & ~(8 | 8192))),
        ("a[b] = 5 ^ 1", "4"),
    ],
)
def test_values(tmp_path: Path, line: str, value: str) -> None:
    assert values(tmp_path, line, Variables({"HOME": "/root", "EMPTY": ""})) == [value]


def test_includes_go_on_in_the_open_section_and_lie_below_the_prefix(tmp_path: Path) -> None:
    (tmp_path / "pool.d").mkdir()
    (tmp_path / "pool.d" / "a.conf").write_text("[a]\npm = static\n")
    (tmp_path / "pool.d" / "b.conf").write_text("[b]\npm = dynamic\ninclude = common.conf\n")
    (tmp_path / "common.conf").write_text("pm.max_children = 3\n")
    (tmp_path / "fpm.conf").write_text("; x\n[global]\npid = /run/x\ninclude=pool.d/*.conf\n")
    sections = read_fpm_conf(tmp_path / "fpm.conf", prefix=tmp_path, variables=Variables({}))
    assert list(sections) == ["global", "a", "b"]
    assert [(entry.key, entry.where) for entry in sections["b"]] == [
        ("pm", f"{tmp_path}/pool.d/b.conf:2"),
        ("pm.max_children", f"{tmp_path}/common.conf:1"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("this is no setting", 2, "this line is not understood"),
        ("a = 'open", 2, "the value of a is not understood"),
        ("\na = E_ALL & ~SOMETHING", 3, "expression of a is not understood"),
        ("a = 1 & (2", 2, "expression of a is not understood"),
        ("a = 1 2 | 3", 2, "expression of a is not understood"),
        ("include = fpm.conf", 2, "leads back to"),
    ],
)
def test_what_is_not_understood_names_file_and_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        values(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/fpm.conf:{line}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cycle_over_two_files_names_the_line_that_closes_it(tmp_path: Path) -> None:
    (tmp_path / "other.conf").write_text("\ninclude = fpm.conf\n")
    with pytest.raises(UsageError, match=r"other\.conf:2: the include leads back to .*fpm\.conf"):
        values(tmp_path, "include = other.conf")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_fpm_conf(tmp_path / "none.conf", prefix=tmp_path, variables=Variables({}))


@pytest.mark.parametrize(
    "line",
    [
        "hunter2",
        "env[DB] = 'hunter2",
        "env[DB] = hunter2 | x",
        "env[DB] = 1 hunter2 | 3",
        "env[DB] = hunter2'\nb = ''",
    ],
)
def test_no_error_quotes_what_may_be_a_password(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        values(tmp_path, line)
    assert str(caught.value).startswith(f"{tmp_path}/fpm.conf:2: ")
    assert "hunter" not in str(caught.value)
    assert ("env[DB]" in str(caught.value)) == ("=" in line)


def test_a_quotation_that_never_ends_ends_the_file(tmp_path: Path) -> None:
    assert values(tmp_path, "a = abc'def\nb = 2") == ["abc"]  # as parse_ini_string of PHP 8.2 has it


def test_a_default_of_a_variable_is_part_of_its_name_before_php_8_3(tmp_path: Path) -> None:
    assert values(tmp_path, "a = ${NOPE:-default}", Variables({"NOPE": "x"}, defaults=False)) == [""]


def test_a_variable_of_an_unknown_environment_is_refused(tmp_path: Path) -> None:
    for line in ("pm.max_children = ${MOST}", 'a = "${MOST:-5}"'):
        with pytest.raises(UsageError, match=r"fpm\.conf:2: the environment of php-fpm cannot be read, so what \$\{MOST\} stands for"):
            values(tmp_path, line, Variables(None))


def test_php_fpm_leaves_out_directories_that_an_include_names(tmp_path: Path) -> None:
    (tmp_path / "old.conf").mkdir()
    (tmp_path / "pool.conf").write_text("[b]\npm = static\n")
    (tmp_path / "main").write_text("include = *.conf\n")
    assert list(read_fpm_conf(tmp_path / "main", prefix=tmp_path, variables=NONE)) == ["b"]


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match="is no plain file"):
        read_fpm_conf(tmp_path / "fifo", prefix=tmp_path, variables=NONE)


def test_all_errors_are_fewer_from_php_8_4_on() -> None:
    of = {version: ini_text("E_ALL & ~E_DEPRECATED", Variables({}, levels=levels_of(version)), where="x") for version in ((8, 3), (8, 4))}
    assert of == {(8, 3): "24575", (8, 4): "22527"}
