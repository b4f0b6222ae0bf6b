from pathlib import Path

import pytest

from phpdyno.config.workload_toml import WorkloadFile, load_workload, save_workload, workload_text
from phpdyno.errors import UsageError
from phpdyno.model.arrival import Arrival
from phpdyno.model.workload import Target, Workload

FILE = WorkloadFile(
    Workload((Target("/", 12.0), Target('/a?b="\\c', 0.1, 302, "status")), "shop.example:8080"),
    Arrival(12.25, 3600, 40, 1.5, 1.0625),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    save_workload(path, FILE, remarks=["from access.log\nkept: all", "evil\x1b[31m\r[[target]]"])
    assert load_workload(path) == FILE
    assert "\x1b" not in path.read_text()


def test_the_text() -> None:
    assert workload_text(FILE, remarks=["from access.log"]) == (
        "# from access.log\n\n"
        'host = "shop.example:8080"\n\n'
        "[arrival]\nrate_per_s = 12.25\nspan_s = 3600\npeak_per_s = 40\ndispersion = 1.5\nminute_dispersion = 1.0625\n\n"
        '[[target]]\npath = "/"\nweight = 12\nstatus = 200\n\n'
        '[[target]]\npath = "/a?b=\\"\\\\c"\nweight = 0.1\nstatus = 302\nanswers = "status"\n'
    )


def test_everything_that_a_target_may_send_is_read_back(tmp_path: Path) -> None:
    body = 'a="b"\\\n\x7f größe 🎡'
    sent = {"X-A": 'say "hi" \\'}
    login = Target("/login", 2.0, 303, "status", "POST", headers=sent, cookies={"sid": "{env.SID}"}, body=body, writes=True, name="log in")
    file = WorkloadFile(Workload((Target("/"), login, Target("/", method="HEAD"))))
    path = tmp_path / "shop.toml"
    save_workload(path, file)
    assert load_workload(path) == file


def test_targets_alone_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "least.toml"
    path.write_text('[[target]]\npath = "/"\n')
    assert load_workload(path) == WorkloadFile(Workload((Target("/"),)))


@pytest.mark.parametrize(
    ("text", "key", "what"),
    [
        ("", "", "target"),
        ("target = []", "target", "there is no target"),
        ('[[target]]\npath = "shop"', r"target\[0\].path", "does not start with '/'"),
        ('[[target]]\npath = "/a b"', r"target\[0\].path", "percent-encode"),
        ('[[target]]\npath = "/"\nweight = 0', r"target\[0\].weight", "not above 0"),
        ('[[target]]\npath = "/"\nweight = nan', r"target\[0\].weight", "not above 0"),
        ('[[target]]\npath = "/"\nstatus = 42', r"target\[0\].status", "no HTTP status"),
        ('[[target]]\npath = "/"\nwieght = 1', r"target\[0\].wieght", "did you mean target.weight"),
        ("[[target]]\npath = 1", r"target\[0\].path", "got int"),
        ('hots = "a"\n[[target]]\npath = "/"', "hots", "did you mean host"),
        ('host = "a b"\n[[target]]\npath = "/"', "host", "no host name"),
        ('[[target]]\npath = "/"\n[arrival]\nrate_per_s = 1.0\nspan_s = 1', "arrival", "add peak_per_s"),
        ('[[target]]\npath = "/"\n[arrival]\nrate_per_s = 0\nspan_s = 1\npeak_per_s = 1', "arrival.rate_per_s", "> 0"),
        ('[[target]]\npath = "/"\n[arrival]\nrate_per_s = inf\nspan_s = 1\npeak_per_s = 1', "arrival.rate_per_s", "<= "),
        ('[[target]]\npath = "/"\n[arrival]\nrate_per_s = nan\nspan_s = 1\npeak_per_s = 1', "arrival.rate_per_s", "> 0"),
        ('[[target]]\npath = "/"\n[arrival]\nrate_per_s = 1\nspan_s = 1\npeak_per_s = 1\nburst = 2', "arrival.burst", "unknown key"),
        ('[[target]]\npath = "/"\nmethod = "POST"', r"target\[0\].method", "add writes = true"),
        ('[[target]]\npath = "/"\nmethod = "BREW"', r"target\[0\].method", "use one of GET, HEAD"),
        ('[[target]]\npath = "/"\nheaders = { A = 1 }', r"target\[0\].headers", "write text"),
        ('[[target]]\npath = "/"\n[[target]]\npath = "/"', r"target\[1\]", "is called '/' as well"),
        ("[[target", "", "not valid TOML"),
    ],
)
def test_errors_name_file_and_key(tmp_path: Path, text: str, key: str, what: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=what) as caught:
        load_workload(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    if key:
        assert caught.match(rf"bad\.toml: {key}")


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        save_workload(path, FILE)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["missing/w.toml", "a\0b"])
def test_what_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be written|cannot be the name"):
        save_workload(tmp_path / name, FILE)


def test_what_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="percent-encode"):
        save_workload(tmp_path / "w.toml", WorkloadFile(Workload((Target("/a\nb"),))))
    assert not (tmp_path / "w.toml").exists()
