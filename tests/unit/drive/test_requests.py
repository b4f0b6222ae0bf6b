from pathlib import Path

import pytest

from phpdyno.drive.requests import LengthClass, length_class, native_targets, script_for
from phpdyno.errors import UsageError
from phpdyno.model.plan import Transport
from phpdyno.model.workload import Target, Workload


@pytest.fixture
def docroot(tmp_path: Path) -> Path:
    for name in (
        "tools/report.php",
        "dir.php/inner.php",
        "my page.php",
        "größe.php",
        "shop/index.php",
        "a b/index.php",
        "logo.svg",
        "50%.php",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "script"),
    [
        ("/", "/index.php"),
        ("/no/such?x=/my%20page.php", "/index.php"),
        ("/shop/", "/shop/index.php"),
        ("/my%20page.php?a=1", "/my page.php"),
        ("/gr%C3%B6%C3%9Fe.php", "/größe.php"),
        ("/a%20b/", "/a b/index.php"),
        ("/50%25.php", "/50%.php"),
        ("/my%20page.php%3Fa=1", "/index.php"),
        ("/%00", "/index.php"),
        ("/%ff.php", "/\udcff.php"),
        ("//my%20page.php", "/my page.php"),
        ("/no-such.php", "/no-such.php"),
        ("/a..b", "/index.php"),
    ],
)
def test_the_script_is_the_one_that_nginx_finds(docroot: Path, path: str, script: str) -> None:
    assert script_for(Target(path), docroot=docroot, front_controller="index.php") == (script, "")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/tools/report.php/2026/q3?x=/y.php/z", ("/tools/report.php", "/2026/q3")),
        ("/index.php/catalog/7", ("/index.php", "/catalog/7")),
        ("/index.php/", ("/index.php", "/")),
        ("/index.php/a/b.php", ("/index.php", "/a/b.php")),
        ("/my%20page.php/a%2Fb%20c", ("/my page.php", "/a/b c")),
        ("/no-such.php/x", ("/no-such.php", "/x")),
        ("/dir.php/inner.php", ("/dir.php", "/inner.php")),
    ],
)
def test_what_stands_behind_a_script_is_its_path_info(docroot: Path, path: str, expected: tuple[str, str]) -> None:
    assert script_for(Target(path), docroot=docroot, front_controller="index.php") == expected


@pytest.mark.parametrize("path", ["/../x.php", "/shop/../logo.svg", "/%2e%2e/x", "/shop/..", "/shop%2f..%2fx"])
def test_paths_that_climb_are_refused(docroot: Path, path: str) -> None:
    with pytest.raises(UsageError, match=r"'\.\.' segment"):
        script_for(Target(path), docroot=docroot, front_controller="index.php")


def test_a_static_file_is_refused(docroot: Path) -> None:
    with pytest.raises(UsageError, match="static file"):
        script_for(Target("/logo%2Esvg"), docroot=docroot, front_controller="index.php")


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [((1000, 2000), LengthClass(822, 2228)), ((50,), LengthClass(1, 180)), ((0, 0), LengthClass(0, 128))],
)
def test_length_classes(lengths: tuple[int, ...], expected: LengthClass) -> None:
    assert length_class(lengths) == expected


def test_what_no_file_system_can_hold_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be looked up"):
        script_for(Target("/" + "x" * 300), docroot=tmp_path, front_controller="index.php")


@pytest.mark.parametrize("transport", ["http", "fastcgi"])
def test_a_variable_that_is_not_set_is_said_before_anything_is_sent(
    transport: Transport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = Workload((Target("/", cookies={"sid": "{env.PHPDYNO_TEST_SID}"}),))
    monkeypatch.delenv("PHPDYNO_TEST_SID", raising=False)
    with pytest.raises(UsageError, match="PHPDYNO_TEST_SID is not set"):
        native_targets(workload, transport, docroot=tmp_path, front_controller="index.php", lengths={})
    monkeypatch.setenv("PHPDYNO_TEST_SID", "1234")
    assert len(native_targets(workload, transport, docroot=tmp_path, front_controller="index.php", lengths={})) == 1


@pytest.mark.parametrize("transport", ["http", "fastcgi"])
def test_a_variable_in_a_body_is_sent_byte_by_byte(transport: Transport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHPDYNO_TEST_NAME", "caf\udce9")
    workload = Workload((Target("/", method="POST", writes=True, body="name={env.PHPDYNO_TEST_NAME}"),))
    assert len(native_targets(workload, transport, docroot=tmp_path, front_controller="index.php", lengths={})) == 1
