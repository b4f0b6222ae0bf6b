"""Methods, headers, cookies and bodies through real servers: PHP sees the same over both
transports; and a page for the logged in."""

from pathlib import Path

import msgspec
import pytest

from phpdyno.answers.answer import Answer
from phpdyno.answers.check import require_valid
from phpdyno.drive.driver import NativeDriver
from phpdyno.drive.requests import native_targets
from phpdyno.errors import DynoError
from phpdyno.model.plan import Transport
from phpdyno.model.workload import Target, Workload
from tests.support.real.stack import plain_arm, plain_bench

pytestmark = pytest.mark.integration

TELL = """<?php
$wanted = '/^(HTTP_|CONTENT_|REQUEST_(METHOD|URI)|QUERY_STRING)/';
$told = array_filter($_SERVER, fn($name) => preg_match($wanted, $name), ARRAY_FILTER_USE_KEY);
ksort($told);
echo json_encode(['server' => $told, 'get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE, 'body' => file_get_contents('php://input')]);
"""
ACCOUNT = """<?php
$users = ['1234' => 'ada'];
$user = $users[$_COOKIE['session'] ?? ''] ?? null;
if ($user === null) { header('Location: /login', true, 302); exit; }
echo "<html><body>Hello, $user</body></html>";
"""
TARGETS = (
    Target("/?a=1", headers={"X-Requested-With": "XMLHttpRequest", "User-Agent": "mine"}),
    Target("/", cookies={"session": "a%20b", "theme": "dark"}, name="with cookies"),
    Target("/", method="POST", writes=True, body="user=ada&word=gr%C3%B6%C3%9Fe"),
    # nginx itself refuses these three of a directory (405), whatever its index.
    Target("/api", method="PUT", writes=True, body='{"a": "größe"}', headers={"Content-Type": "application/json"}),
    Target("/", method="POST", writes=True, name="nothing posted"),
    Target("/api", method="DELETE", writes=True),
    Target("/api", method="OPTIONS"),
    Target("/", method="POST", writes=True, body="x" * 200_000, name="large"),
)


def answers(folder: Path, transport: Transport, targets: tuple[Target, ...], index: str) -> list[Answer]:
    folder.mkdir(exist_ok=True)
    with plain_bench(folder, transport=transport, index=index) as bench, bench.running([plain_arm("control")]) as (instance,):
        asked = Workload(targets, "shop.test")
        rendered = native_targets(asked, transport, docroot=bench.app.docroot, front_controller="index.php", lengths={})
        driver = NativeDriver(instance.http or instance.fastcgi, rendered, keep_alive=bool(instance.http))
        fetched = [driver.fetch(number) for number in range(len(targets))]
        driver.close()
    return [Answer(each.status, tuple((name.decode(), value.decode()) for name, value in each.headers), each.body) for each in fetched]


def test_php_sees_the_same_over_both_transports(tmp_path: Path) -> None:
    http = answers(tmp_path / "http", "http", TARGETS, TELL)
    fastcgi = answers(tmp_path / "fastcgi", "fastcgi", TARGETS, TELL)
    assert [answer.status for answer in http] == [200] * len(TARGETS)
    for target, one, other in zip(TARGETS, http, fastcgi, strict=True):
        assert msgspec.json.decode(one.body) == msgspec.json.decode(other.body), target.label
    told = [msgspec.json.decode(answer.body) for answer in http]
    assert told[0]["server"]["HTTP_USER_AGENT"] == "mine"
    assert told[1]["cookie"] == {"session": "a b", "theme": "dark"}
    assert told[2]["post"] == {"user": "ada", "word": "größe"}
    assert told[3]["body"] == '{"a": "größe"}'
    assert told[4]["server"]["CONTENT_LENGTH"] == "0"
    assert told[5]["server"]["REQUEST_METHOD"] == "DELETE"
    assert len(told[7]["body"]) == 200_000


@pytest.mark.parametrize("transport", ["http", "fastcgi"])
def test_a_page_for_those_who_are_logged_in(tmp_path: Path, transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHPDYNO_TEST_SESSION", "1234")
    logged_in = Target("/", cookies={"session": "{env.PHPDYNO_TEST_SESSION}"}, name="logged in")
    stranger = Target("/", cookies={"session": "none"}, name="a stranger")
    page, turned_away = answers(tmp_path, transport, (logged_in, stranger), ACCOUNT)
    assert b"Hello, ada" in page.body
    require_valid(logged_in, page)
    with pytest.raises(DynoError, match=r"a stranger: .*status 302 instead of 200 \(it redirects to '/login'\)"):
        require_valid(stranger, turned_away)


@pytest.mark.parametrize("transport", ["http", "fastcgi"])
def test_head(tmp_path: Path, transport: Transport) -> None:
    target = Target("/", method="HEAD")
    (answer,) = answers(tmp_path, transport, (target,), "<?php echo str_repeat('x', 5000);")
    assert (answer.status, answer.body) == (200, b"")
    require_valid(target, answer)
