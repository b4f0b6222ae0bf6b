"""`phpdyno watch` beside a php-fpm that really runs, as root: what it sees, and what it does when
things go wrong."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.programs.php import default_fpm
from tests.support.optional import absent
from tests.support.real.command import phpdyno
from tests.support.real.live import LivePhp, live_php
from tests.support.real.watched import WAIT_S, loaded, pool_text, watching

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="another account's memory can be read by root only"),
]
FAST = ("--interval", "0.3s")


@contextmanager
def started(**texts: str) -> Iterator[LivePhp]:
    with live_php(**texts) as running:
        running.start()
        yield running


def key(live: LivePhp, pool: str = "www2") -> str:
    return f"{live.pid}:{pool}"


@pytest.mark.alone
def test_without_a_status_page_workers_requests_and_queue_come_from_memory_and_the_kernel() -> None:
    with started(www2=pool_text(most=2)) as live, loaded(live, "sleep", clients=5), watching(key(live), *FAST) as watch:
        seen = watch.until(type="pool", most_queue=3, requests_per_s=lambda value: value and value > 1)
        assert (seen["source"], seen["pm"], seen["max_children"], seen["total"]) == ("scoreboard", "static", 2, 2)
        assert seen["active"] == pytest.approx(2.0, abs=0.2)
        assert seen["blocked_cores"] > 1.5
        assert seen["queue_limit"] >= 511
        assert watch.until(type="pool", worker_pss_kib=lambda value: value is not None)["worker_pss_kib"] > 500
        busy = watch.until(type="pool", limit=lambda limit: limit and limit["kind"] == "workers-waiting")
        assert "all 2 workers were busy" in busy["limit"]["because"]
        assert watch.end(signal.SIGINT) == 0
        advice = watch.until(type="advice")
        assert 2 <= advice["low"] <= advice["high"] <= 4, "no more than twice as many as were seen"
        assert advice["confidence"] == "low"
        assert {line["pool"] for line in watch.lines if line["type"] == "pool"} == {"www2"}


def test_the_pool_is_asked_nothing() -> None:
    with started(www2=pool_text(most=2, more="pm.status_path = /status\n")), watching(*FAST) as watch:
        first = watch.until(type="pool", pool="www2")
        idle = watch.until(type="pool", pool="www")
        later = watch.until(type="pool", pool="www2", at=lambda at: at and at > first["at"] + 1.5)
        assert first["requests"] == later["requests"]
        assert (idle["pm"], idle["total"], idle["active"]) == ("ondemand", 0, 0.0)
        watch.end(signal.SIGINT)
    assert watch.errors == ""


def test_a_queue_of_a_unix_socket_is_the_kernels() -> None:
    with (
        started(www=pool_text("www", most=1, listen="{place}/www.sock")) as live,
        loaded(live, "sleep", clients=4, address=f"unix:{live.place}/www.sock"),
        watching(key(live, "www"), *FAST) as watch,
    ):
        assert watch.until(type="pool", most_queue=3)["queue_limit"] >= 511
        watch.end(signal.SIGINT)


@pytest.mark.alone
def test_full_cores_are_never_a_reason_for_more_workers() -> None:
    """SIZING case 1 (fpm-tune 14): every core computes, and a third worker would only wait for
    one."""
    cores = os.cpu_count() or 1
    with started(www2=pool_text(most=3 * cores)) as live, loaded(live, "spin", clients=4 * cores), watching(key(live), *FAST) as watch:
        seen = watch.until(
            type="pool", limit=lambda limit: limit and limit["kind"] == "cores", run_queue_cores=lambda wait: wait and wait > 0.5
        )
        assert "no number of workers helps" in seen["limit"]["because"]
        time.sleep(1.5)
        assert watch.end(signal.SIGINT) == 0
        advice = watch.until(type="advice")
        assert advice["high"] <= 3 * cores
        assert any("no number of workers helps" in reason or "more workers do not help" in reason for reason in advice["reasons"])


def test_a_reload_starts_the_counters_anew_and_is_told() -> None:
    with started(www2=pool_text(most=2)) as live, watching(key(live), *FAST) as watch:
        with loaded(live, "sleep?us=1000", clients=2):
            watch.until(type="pool", requests=lambda count: count and count > 20)
        time.sleep(1.1)  # its start time is in whole seconds
        os.kill(live.pid, signal.SIGUSR2)
        told = watch.until(type="event", text=lambda text: text and "reloaded" in text)
        assert told["pool"] == key(live)
        after = watch.until(type="pool", at=lambda at: at and at >= told["at"], source="scoreboard", total=2)
        assert after["requests"] < 20
        assert all(line["requests_per_s"] is None or line["requests_per_s"] >= 0 for line in watch.lines if line["type"] == "pool")
        watch.end(signal.SIGINT)


def test_workers_that_come_and_go_all_the_time_do_not_confuse_it() -> None:
    """Each worker ends after three requests: a slot is taken, freed and taken again between two
    looks, and while one looks."""
    with (
        started(www2=pool_text(most=6, pm="dynamic", more="pm.max_requests = 3\n")) as live,
        loaded(live, "sleep?us=2000", clients=6),
        watching(key(live), "--interval", "0.2s") as watch,
    ):
        first = watch.until(type="pool")["at"]
        watch.until(type="pool", at=lambda at: at and at > first + 6)
        watch.end(signal.SIGINT)
    pools = [line for line in watch.lines if line["type"] == "pool"]
    assert {line["source"] for line in pools} == {"scoreboard"}
    assert [line["text"] for line in watch.lines if line["type"] == "event"] == []
    assert all(line["requests_per_s"] is not None for line in pools)
    assert all(0 <= line["active"] <= 6 for line in pools)
    assert sum(line["requests_per_s"] * line["over_s"] for line in pools) > 100


def test_a_file_that_was_edited_is_told_and_a_reload_settles_it() -> None:
    """SIZING case 9: what is written is not what is in effect."""
    with started(www2=pool_text(most=2)) as live:
        file = live.place / "pool.d" / "www2.conf"
        file.write_text(file.read_text().replace("pm.max_children = 2", "pm.max_children = 3"))
        with watching(key(live), *FAST) as watch:
            before = watch.until(type="pool")
            assert (before["configured"], before["max_children"]) == (3, 2)
            watch.end(signal.SIGINT)
            assert any("its file says pm.max_children 3, 2 are in effect" in line for line in watch.until(type="advice")["warnings"])
        with watching(key(live), *FAST) as watch:
            watch.until(type="pool")
            file.write_text(file.read_text().replace("pm.max_children = 3", "pm.max_children = 4").replace(str(live.port), "{port}"))
            text = file.read_text().replace("127.0.0.1:{port}", f"{live.place}/moved.sock")
            file.write_text(text)
            time.sleep(1.1)  # its start time is in whole seconds
            os.kill(live.pid, signal.SIGUSR2)
            after = watch.until(type="pool", configured=4, max_children=4, total=4)
            assert after["source"] == "scoreboard"
            watch.until(type="pool", configured=4, queue=lambda queue: queue is not None)
            watch.end(signal.SIGINT)
            assert not any("in effect" in line for line in watch.until(type="advice")["warnings"])


def test_a_pool_that_dies_is_told_and_the_others_go_on_until_none_is_left() -> None:
    with started() as one, started() as other, watching("www2", *FAST) as watch:
        watch.until(type="pool", master=one.pid)
        watch.until(type="pool", master=other.pid)
        gone = key(one)
        one.stop()
        assert "watched no more" in watch.until(type="event", pool=gone)["text"]
        last = watch.lines[-1]["at"]
        watch.until(type="pool", master=other.pid, at=lambda at: at and at > last + 0.5)
        left = key(other)
        other.stop()
        assert watch.end() == 1
        assert "no pool that was watched is left" in watch.errors
        assert {f"{line['master']}:www2" for line in watch.lines if line["type"] == "advice"} == {gone, left}


def test_a_master_that_is_replaced_is_found_again() -> None:
    with started() as live, started() as other, watching("www2", *FAST) as watch:
        watch.until(type="pool", master=live.pid)
        before = live.pid
        live.stop()
        live.start()
        assert "a pool was found" in watch.until(type="event", pool=key(live))["text"]
        assert watch.until(type="pool", master=live.pid)["source"] == "scoreboard"
        assert before != live.pid != other.pid
        watch.end(signal.SIGINT)


def test_two_masters_with_one_pool_name_are_told_apart() -> None:
    with started() as one, started() as other:
        with watching("www2", *FAST) as watch:
            assert watch.until(type="pool", master=one.pid)["config"] == str(one.config)
            assert watch.until(type="pool", master=other.pid)["config"] == str(other.config)
            watch.end(signal.SIGINT)
        with watching(key(other), *FAST) as watch:
            watch.until(type="pool", master=other.pid)
            watch.end(signal.SIGINT)
            assert all(line["master"] == other.pid for line in watch.lines if line["type"] == "pool")
        text = phpdyno("watch", "www2", "--for", "1s")
        assert text.returncode == 0
        assert f"{one.pid}:www2: " in text.stdout
        assert f"{other.pid}:www2: " in text.stdout


def test_a_pool_that_is_not_there_is_refused_with_those_that_are() -> None:
    with started() as live:
        answer = phpdyno("watch", "shop", "--for", "1s")
        assert key(live) in answer.stderr
    assert answer.returncode == 2
    assert answer.stderr.startswith("phpdyno: watch shop: no such pool runs; running: ")
    assert answer.stdout == ""


def test_where_ptrace_is_forbidden_the_page_beside_is_asked_and_it_says_why() -> None:
    page = "pm.status_listen = {place}/status.sock\npm.status_path = /st\n"
    without = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
    with started(www2=pool_text(most=2, more=page)) as live, watching(key(live), *FAST, before=without) as watch:
        seen = watch.until(type="pool", active=lambda active: active is not None)
        assert (seen["source"], seen["total"], seen["max_children"]) == ("status page", 2, 2)
        assert seen["cpu_cores"] is not None
        watch.end(signal.SIGINT)
    assert "ptrace is forbidden here" in watch.errors
    assert "CAP_SYS_PTRACE" in watch.errors
    assert watch.errors.count("\n") == 1, "said once"


@pytest.mark.alone
def test_without_any_source_there_is_still_time_queue_and_a_word_about_it() -> None:
    without = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
    with started(www2=pool_text(most=2)) as live, loaded(live, "spin", clients=4), watching(key(live), *FAST, before=without) as watch:
        seen = watch.until(type="pool", most_queue=lambda most: most and most >= 1, cpu_cores=lambda cores: cores and cores > 0.3)
        assert (seen["source"], seen["active"], seen["total"], seen["max_children"]) == ("/proc", None, 2, 2)
        assert seen["limit"]["kind"] in {"unknown", "cores"}
        watch.end(signal.SIGINT)
        assert watch.until(type="advice")["low"] is None


def test_the_pools_own_socket_is_asked_only_when_told_to() -> None:
    without = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
    with (
        started(www2=pool_text(most=2, more="pm.status_path = /st\n")) as live,
        watching(key(live), "--ask", *FAST, before=without) as watch,
    ):
        seen = watch.until(type="pool", requests_per_s=lambda rate: rate is not None)
        assert (seen["source"], seen["active"], seen["total"]) == ("own socket", 0.0, 2)
        watch.end(signal.SIGINT)


def test_a_stuck_request_is_named_with_what_it_waits_on() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent, started(www2=pool_text(most=2)) as live:
        port = silent.getsockname()[1]
        with loaded(live, "sleep?us=1000", clients=1), watching(key(live), *FAST) as watch:
            first = watch.until(type="pool")["at"]
            watch.until(type="pool", at=lambda at: at and at > first + 5)  # what is usual has to be seen
            with loaded(live, f"hang?port={port}", clients=1):
                stuck = watch.until(type="pool", stuck=bool)["stuck"][0]
            watch.end(signal.SIGINT)
    assert stuck["age_s"] > 9.9
    assert f"127.0.0.1:{port}" in stuck["waits_on"]


def test_a_master_in_a_container_is_read_through_its_root(tmp_path: Path) -> None:
    """Namespaces of its own for mounts, processes and the network; its configuration lies where
    nobody else sees it."""
    place = tmp_path / "inside"
    place.mkdir()
    config = "[global]\nerror_log = /proc/self/fd/2\n" + pool_text("inner", most=3, listen="127.0.0.1:9777")
    script = f"""
        mount --rbind / {place} && mount -t tmpfs tmpfs {place}/mnt && mount -t proc proc {place}/proc && ip link set lo up
        cat > {place}/mnt/fpm.conf <<'END'\n{config}\nEND
        exec chroot {place} {default_fpm()} -F -y /mnt/fpm.conf
    """
    argv = ["unshare", "--mount", "--pid", "--fork", "--net", "--kill-child", "sh", "-ec", script]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as outer:
        try:
            deadline = time.monotonic() + WAIT_S
            while phpdyno("watch", "inner", "--for", "0.3s", "--json").returncode != 0:
                assert time.monotonic() < deadline
                assert outer.poll() is None
            with watching("inner", *FAST) as watch:
                seen = watch.until(type="pool", total=3)
                assert (seen["source"], seen["config"], seen["pm"], seen["max_children"]) == ("scoreboard", "/mnt/fpm.conf", "static", 3)
                assert seen["most_queue"] == 0
                assert seen["cpu_cores"] is not None
                assert not Path("/mnt/fpm.conf").exists()
                watch.end(signal.SIGINT)
        finally:
            outer.kill()


@contextmanager
def grouped(live: LivePhp, **limits: str) -> Iterator[None]:
    """Cgroups of version 1 with these limits (`memory.limit_in_bytes=…`), which hold master and
    workers; skipped where none can be made."""
    name = f"pd-watch-{os.getpid()}"
    groups = {Path("/sys/fs/cgroup", file.partition(".")[0], name): (file, value) for file, value in limits.items()}
    try:
        for group, (file, value) in groups.items():
            group.mkdir()
            (group / file).write_text(value)
    except OSError as error:
        absent(f"no cgroup can be made here: {error}")
    try:
        for group in groups:
            for pid in (live.pid, *children_of(live.pid)):
                (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        live.stop()
        for group in groups:
            group.rmdir()


@pytest.mark.alone
def test_limits_of_the_pools_own_cgroup_count() -> None:
    """SIZING case 3: what a container may have, not what its host has."""
    limits = {"memory.limit_in_bytes": str(400 << 20), "cpu.cfs_quota_us": "30000"}
    with started(www2=pool_text(most=4)) as live, grouped(live, **limits):
        with loaded(live, "spin", clients=4), watching(key(live), *FAST) as watch:
            seen = watch.until(type="pool", limit=lambda limit: limit and limit["kind"] == "throttled", memory_used_kib=bool)
            assert (seen["memory_limit_kib"], seen["cpu_limit_cores"]) == (400 << 10, 0.3)
            assert seen["throttled"] > 0.1
            assert seen["memory_used_kib"] < 400 << 10
            watch.until(type="pool", worker_private_kib=bool)
            watch.end(signal.SIGINT)
            advice = watch.until(type="advice")
        assert advice["high"] <= 4
        said = " ".join(advice["reasons"])
        assert "its cgroup's memory limit" in said
        assert "no number of workers helps" in said


def test_a_record_is_read_back_and_not_written_over(tmp_path: Path) -> None:
    record = tmp_path / "seen.jsonl"
    with started(www2=pool_text(most=2)) as live, loaded(live, "sleep", clients=2):
        first = phpdyno("watch", key(live), "--for", "1.5s", "--interval", "0.5s", "--record", record)
        again = phpdyno("watch", key(live), "--for", "1s", "--record", record)
    assert first.returncode == 0, first.stderr
    assert record.stat().st_mode & 0o777 == 0o600
    shown = phpdyno("watch", "--replay", record)
    assert shown.returncode == 0, shown.stderr
    summary = first.stdout[first.stdout.index("www2 (master") :]
    assert shown.stdout == summary
    assert again.returncode == 2
    assert "it is there already" in again.stderr
    record.write_bytes(record.read_bytes()[:-7])
    assert "www2 (master" in phpdyno("watch", "--replay", record).stdout
    record.write_text("{}\n")
    bad = phpdyno("watch", "--replay", record)
    assert bad.returncode == 2
    assert "line 1 is no line of a record" in bad.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_gives_the_summary(number: signal.Signals) -> None:
    with started() as live:
        for pause_s in (0.0, 0.35):
            with watching(key(live), *FAST) as watch:
                watch.until(type="pool")
                time.sleep(pause_s)
                assert watch.end(number) == 0
                assert watch.lines[-1]["type"] == "advice"
                assert watch.errors == ""


def test_a_reader_that_is_gone_ends_nothing() -> None:
    with started() as live:
        line = f"{sys.executable} -m phpdyno watch {key(live)} --for 1.2s --interval 0.3s | head -n 1; exit ${{PIPESTATUS[0]}}"
        answer = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
