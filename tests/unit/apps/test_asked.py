from pathlib import Path

import pytest

from phpdyno.apps.asked import asked_as
from phpdyno.apps.folder import plain_docroot
from phpdyno.apps.registry import open_app
from phpdyno.errors import UsageError
from phpdyno.model.workload import BROWSER_ENCODING


def test_a_document_root_is_asked_as_a_host_over_https(tmp_path: Path) -> None:
    app = plain_docroot(tmp_path, [])
    assert asked_as(app) is app
    asked = asked_as(app, host="https://shop.example", accept_encoding="none").workload
    assert (asked.host, asked.scheme, asked.accept_encoding) == ("shop.example", "https", "")
    assert app.workload.accept_encoding == BROWSER_ENCODING


def test_a_built_in_app_too(tmp_path: Path) -> None:
    app = open_app("wordpress")
    asked = asked_as(app, host="https://blog.example")
    assert (asked.name, asked.settings, asked.fixed) == (app.name, app.settings, app.fixed)
    assert (asked.workload.host, asked.workload.scheme, asked.workload.targets) == ("blog.example", "https", app.workload.targets)
    with pytest.raises(UsageError, match="a built-in app has no server block"):
        asked_as(app, nginx=str(tmp_path))


def test_a_way_that_cannot_be_names_its_option(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no host name") as caught:
        asked_as(plain_docroot(tmp_path, []), host="a b")
    assert caught.value.where == "--host a b"
    with pytest.raises(UsageError, match="no list of codings"):
        asked_as(plain_docroot(tmp_path, []), accept_encoding="gzip\r\nX: y")
