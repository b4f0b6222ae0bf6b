"""Arms of different kinds of server are not judged by the CPU of their PHP processes."""

from pathlib import Path

import pytest

from phpdyno.errors import UsageError
from phpdyno.model.arm import APACHE, Arm, PhpBuild
from phpdyno.session.arms import _refuse_other_servers
from phpdyno.session.requirements import require_servers

PHP = PhpBuild(__file__, "8.2.36")
WITH_APACHE = {"web.server": APACHE}


def arm(settings: dict[str, str]) -> Arm:
    return Arm("mine", PHP, settings, settings)


@pytest.mark.parametrize(("control", "treatment"), [({}, {}), (WITH_APACHE, WITH_APACHE), ({"web.server": "nginx"}, {})])
def test_equal_servers(control: dict[str, str], treatment: dict[str, str]) -> None:
    _refuse_other_servers(control, [arm(treatment)])


@pytest.mark.parametrize(("control", "treatment"), [({}, WITH_APACHE), (WITH_APACHE, {"web.server": "nginx"})])
def test_different_servers(control: dict[str, str], treatment: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="mine: the CPU of Apache's processes and of php-fpm's are not of the same thing"):
        _refuse_other_servers(control, [arm(treatment)])


def test_nginx_is_not_needed_where_no_arm_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("phpdyno.session.requirements.find_program", asked.append)
    monkeypatch.setattr("phpdyno.session.requirements.require_apache", lambda transport, each: asked.append(f"{transport} {each.name}"))
    require_servers("http", [arm(WITH_APACHE)])
    assert asked == ["http mine"]
    require_servers("http", [arm(WITH_APACHE), arm({})])
    assert asked[1:] == ["nginx", "http mine"]
    assert Path(PHP.fpm).is_file()
