"""Bad input: one clear line, a non-zero exit, nothing started, nothing lost."""

import re
import subprocess
from pathlib import Path

import pytest

from phpdyno.drive.driver import NativeDriver
from phpdyno.drive.requests import native_targets
from phpdyno.errors import DynoError
from phpdyno.experiment.common import answer_check
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.model.workload import Target, Workload
from tests.support.real.command import COMMAND, phpdyno, site
from tests.support.real.stack import plain_arm, plain_bench
from tests.support.traces import traces_of

pytestmark = pytest.mark.integration


def refused(*argv: str | Path, code: int = 2) -> str:
    """The one line that a refused command prints."""
    answer = phpdyno(*argv)
    assert answer.returncode == code, answer.stdout + answer.stderr
    lines = answer.stderr.strip().splitlines()
    assert len(lines) == 1, answer.stderr
    assert lines[0].startswith("phpdyno: ")
    assert answer.stdout == ""
    assert traces_of() == []
    return lines[0]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("ini.opcache.jti=tracing", ["opcache.jti", "opcache.jit"]),
        ("pool.max_children=3", ["max_children", "pm.max_children"]),
        ("webb.socket=tcp", ["webb", "web"]),
        ("web.sokcet=tcp", ["sokcet", "socket"]),
        ("ini.opcache.enable", ["="]),
        ("ini.opcache.enable=perhaps", ["opcache.enable", "boolean"]),
        ("pool.pm.max_children=lots", ["pm.max_children", "whole number"]),
        ("os.vm.nr_hugepages=many", ["os.vm.nr_hugepages", "whole number"]),
        ("ini.opcache.jit=off;ini.opcache.jit=tracing", ["opcache.jit", "twice"]),
        ("php=/no/such/php-fpm", ["/no/such/php-fpm"]),
        ("@/no/such.toml", ["/no/such.toml"]),
    ],
)
def test_a_spec_that_cannot_be(spec: str, words: list[str], tmp_path: Path) -> None:
    code = 1 if spec.startswith("php=") else 2
    line = refused("compare", "hello", "--treatment", spec, "--runs", tmp_path / "runs", code=code)
    assert all(word in line for word in words), line
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("command", "connections"), [(("compare", "hello", "--aa"), 400), (("measure", "hello"), 200)])
def test_too_few_open_files_are_said_with_the_ulimit_that_helps(command: tuple[str, ...], connections: int, tmp_path: Path) -> None:
    argv = [*COMMAND, *command, "--concurrency", "200", "--runs", str(tmp_path / "runs")]
    limited = ["/bin/sh", "-c", 'ulimit -n 256 && exec "$@"', "sh", *argv]
    answer = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    line = answer.stderr.strip()
    assert f"{connections} connections need" in line
    assert f"this process may open 256; ulimit -n {connections // 100}" in line
    assert not (tmp_path / "runs").exists()


def test_a_post_that_does_not_say_what_it_does(tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text('name = "shop"\ndocroot = "."\n[[target]]\npath = "/"\nmethod = "POST"\nbody = "secret=1"\n')
    line = refused("compare", tmp_path / "app.toml", "--aa", "--runs", tmp_path / "runs")
    assert "POST may change what the app keeps; add writes = true" in line
    assert "secret" not in line


def test_kept_connections_belong_to_fastcgi(tmp_path: Path) -> None:
    assert "--transport fastcgi" in refused("compare", "hello", "--aa", "--keep-conn", "--runs", tmp_path / "runs")


def test_a_binary_that_is_no_php_fpm(tmp_path: Path) -> None:
    assert "not a working php-fpm" in refused("compare", "hello", "--treatment", "php=/bin/true", "--runs", tmp_path, code=1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('docroot = "."\nfrontcontroller = "a.php"\n[[target]]\npath = "/"\n', ["app.toml", "frontcontroller", "front_controller"]),
        ('docroot = 7\n[[target]]\npath = "/"\n', ["app.toml", "docroot"]),
        ('docroot = "."\n[[target]]\npath = "/"\nwieght = 2\n', ["app.toml", "wieght", "weight"]),
        ('docroot = "."\n[[target]]\npath = "/"\nweight = "two"\n', ["app.toml", "weight"]),
        ('docroot = "."\n[[target]\n', ["app.toml", "line 3"]),
        ('docroot = "gone"\n[[target]]\npath = "/"\n', ["gone"]),
        ('docroot = "."\n', ["app.toml", "target"]),
    ],
)
def test_an_app_toml_that_cannot_be(text: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text('name = "shop"\n' + text)
    line = refused("compare", tmp_path / "app.toml", "--aa", "--runs", tmp_path / "runs")
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["compare", "wordpres", "--aa"], ["wordpres", "wordpress"]),
        (["compare", "/no/such/app", "--aa"], ["/no/such/app"]),
        (["compare", "--docroot", "/no/such/site", "--url", "/", "--aa"], ["/no/such/site"]),
        (["compare", "hello"], ["--treatment", "--aa"]),
        (["compare", "hello", "--aa", "--budget", "soon"], ["soon", "--budget"]),
        (["compare", "hello", "--aa", "--margin", "many"], ["many", "--margin"]),
        (["compare", "hello", "--aa", "--concurrency", "0"], ["--concurrency"]),
        (["compare", "hello", "--aa", "--transport", "carrier-pigeon"], ["carrier-pigeon"]),
        (["compare", "hello", "--aa", "--treatmnet", "x"], ["--treatmnet"]),
        (["compare", "--resume", "/no/such/run"], ["/no/such/run"]),
        (["compare", "hello", "--aa", "--from-log", "/no/such.log"], ["/no/such.log"]),
        (["compare", "hello", "--aa", "--log-host", "shop.example"], ["--log-host", "--from-log"]),
        (["compare", "--script", "x.php", "--aa", "--from-log", "a.log"], ["--script", "--from-log"]),
        (["compare", "--resume", "/no/such/run", "--workload", "w.toml"], ["--resume", "--workload"]),
        (["measure"], ["no app is named"]),
        (["measure", "wordpres"], ["wordpres", "wordpress"]),
        (["measure", "hello", "--concurrency", "1,ten"], ["--concurrency", "'ten'"]),
        (["measure", "hello", "--concurrency", "1,1"], ["--concurrency", "twice"]),
        (["measure", "hello", "--concurrency", "501"], ["501", "500"]),
        (["measure", "hello", "--open-share", "0"], ["--open-share"]),
        (["measure", "hello", "--budget", "soon"], ["soon", "--budget"]),
        (["measure", "hello", "--control", "pool.pm.max_children=lots"], ["pm.max_children", "whole number"]),
        (["measure", "hello", "--cross-check", "--transport", "fastcgi"], ["--cross-check", "HTTP"]),
        (["measure", "hello", "--from-log", "/no/such.log"], ["/no/such.log"]),
        (["measure", "hello", "--save-workload", "w.toml"], ["--save-workload", "--from-log"]),
        (["measure", "hello", "--workload", "/no/such.toml"], ["/no/such.toml"]),
        (["measure", "--resume", "/no/such/run"], ["/no/such/run"]),
        (["measure", "--resume", "/no/such/run", "--from-log", "a.log"], ["--resume", "--from-log"]),
        (["size"], ["no app is named"]),
        (["size", "wordpres"], ["wordpres", "wordpress"]),
        (["size", "hello", "--p99", "fast"], ["--p99", "'fast'", "200ms"]),
        (["size", "hello", "--rate", "many"], ["--rate", "'many'", "50/s"]),
        (["size", "hello", "--memory", "lots"], ["--memory", "'lots'", "512M"]),
        (["size", "hello", "--cores", "9999"], ["--cores 9999", "name at most"]),
        (["size", "hello", "--most", "0"], ["--most", "0 is not from 1"]),
        (["size", "hello", "--process-max", "0"], ["--process-max"]),
        (["size", "hello", "--control", "pool.pm.max_children=lots"], ["pm.max_children", "whole number"]),
        (["size", "--resume", "/no/such/run"], ["/no/such/run"]),
        (["size", "hello", "--resume", "/no/such/run"], ["--resume", "APP"]),
        (["size", "--resume", "/no/such/run", "--from-log", "a.log"], ["--resume", "--from-log"]),
        (["report", "/no/such/run"], ["/no/such/run"]),
        (["frobnicate"], ["frobnicate"]),
    ],
)
def test_a_command_line_that_cannot_be(argv: list[str], words: list[str]) -> None:
    line = refused(*argv)
    assert all(word in line for word in words), line


UNTIMED = {
    "moved": ("<?php header('Location: http://localhost/elsewhere', true, 301);", ("301", "http://localhost/elsewhere")),
    "absent": ("<?php http_response_code(404); echo 'nothing here';", ("404", "nothing here")),
    "failing": ("<?php http_response_code(500); echo 'broken';", ("500", "broken")),
    "unconnected": ("<?php echo '<h1>Error establishing a database connection</h1>';", ("database connection",)),
    "blank": ("<?php ", ("empty",)),
}


def test_targets_that_may_not_be_timed_are_refused_saying_what_they_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_check, "LEARNING_PAUSE_S", 0.0)
    with plain_bench(tmp_path) as bench, bench.running([plain_arm("control")]) as (instance,):
        site(bench.app.docroot, **{name: body for name, (body, _) in UNTIMED.items()})
        for name, (_, words) in UNTIMED.items():
            workload = Workload((Target(f"/{name}.php"),))
            targets = native_targets(workload, "http", docroot=bench.app.docroot, front_controller="index.php", lengths={})
            driver = NativeDriver(instance.http, targets, keep_alive=True)
            with pytest.raises(DynoError) as caught:
                answer_check.AnswerCheck(workload).learn(DrivenInstance(instance, driver))
            driver.close()
            assert all(word in str(caught.value) for word in (f"/{name}.php", *words)), str(caught.value)


def test_a_target_that_may_not_be_timed_ends_the_command_with_one_line(tmp_path: Path) -> None:
    body, words = UNTIMED["moved"]
    line = refused("compare", "--docroot", site(tmp_path / "site", index=body), "--url", "/", "--aa", "--runs", tmp_path / "runs", code=1)
    assert all(word in line for word in words), line


def test_an_app_that_answers_differently_every_time_is_refused_naming_the_span(tmp_path: Path) -> None:
    body = "<?php echo 'start ', bin2hex(random_bytes(400)), ' end', str_repeat('.', 200);"
    docroot = site(tmp_path / "site", index=body)
    line = refused("compare", "--docroot", docroot, "--url", "/", "--aa", "--runs", tmp_path / "runs", code=1)
    said = r"phpdyno: /: \d+\.\d% of the body changes from one answer to the next \(at most 5% may\); longest span at byte 6: '[0-9a-f]+"
    assert re.match(said, line), line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--knob", "ini.opcache.jti"), ["ini.opcache.jti", "did you mean ini.opcache.jit?"]),
        (("--knob", "ini.opcache.jit=perhaps"), ["--knob ini.opcache.jit=perhaps", "it takes"]),
        (("--knob", "env.LD_PRELOAD=/no/such/library.so"), ["/no/such/library.so", "no such file"]),
        (("--budget", "20s"), ["--budget 20s", "less than a minute"]),
        (("--seed", "-1"), ["--seed", "whole number"]),
        (("--concurrency", "0"), ["--concurrency", "1 to 1000"]),
        (("--control", "web.server=apache-mod_php"), ["php-fpm is what is tuned"]),
        (("--resume", "/no/such/run"), ["/no/such/run", "no tune here"]),
    ],
)
def test_a_tune_that_cannot_be(options: tuple[str, ...], words: list[str], tmp_path: Path) -> None:
    line = refused("tune", "hello", *options, "--runs", tmp_path / "runs", code=2)
    assert all(word in line for word in words), line
    assert not (tmp_path / "runs").exists()
