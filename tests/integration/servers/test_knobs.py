"""Knobs on real servers: what their proofs read is really there, and differs from the control's."""

from pathlib import Path

import pytest

from phpdyno._native import OUTCOMES, Engine, Target
from phpdyno.knobs.judge import prove
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.verdict import ProofOutcome
from phpdyno.server_files.fastcgi import http_request
from tests.support.real.stack import plain_arm, plain_bench

pytestmark = pytest.mark.integration


def shown(tmp_path: Path, settings: dict[str, str]) -> tuple[WorkerFacts, WorkerFacts]:
    """What the workers of a plain control and of an arm show after a few requests through nginx."""
    names = tuple(name.removeprefix("env.") for name in settings if name.startswith("env."))
    with plain_bench(tmp_path) as bench, bench.running([plain_arm("control"), plain_arm("arm", settings)]) as instances:
        for instance in instances:
            request = http_request(path="/", host="localhost")
            engine = Engine(instance.http, [Target.http(request, status=200)], keep_alive=False, response_timeout_ns=5_000_000_000)
            assert {OUTCOMES[engine.fetch(0).outcome] for _ in range(5)} == {"ok"}
        control, arm = (instance.read_facts(names) for instance in instances)
        return control, arm


def proofs(tmp_path: Path, settings: dict[str, str]) -> dict[str, ProofOutcome]:
    control, arm = shown(tmp_path, settings)
    return {outcome.knob: outcome for outcome in prove(settings, control, arm, {})}


def test_opcache_tells_the_size_of_what_it_has(tmp_path: Path) -> None:
    settings = {
        "ini.opcache.memory_consumption": "96",
        "ini.opcache.interned_strings_buffer": "16",
        "ini.opcache.max_accelerated_files": "20000",
    }
    found = proofs(tmp_path, settings)
    assert all(outcome.proved for outcome in found.values()), found


def test_a_table_of_files_that_is_rounded_to_the_control_s(tmp_path: Path) -> None:
    (outcome,) = proofs(tmp_path, {"ini.opcache.max_accelerated_files": "16000"}).values()
    assert not outcome.proved
    assert "16229" in outcome.detail


def test_pool_and_web_server_tell_how_they_are_set(tmp_path: Path) -> None:
    settings = {
        "pool.pm": "static",
        "pool.pm.max_children": "3",
        "pool.listen.backlog": "64",
        "web.workers": "2",
        "web.fastcgi_keepalive": "1",
        "web.fastcgi_buffers": "16 16k",
        "web.fastcgi_buffer_size": "16k",
        "web.access_log": "on",
    }
    control, arm = shown(tmp_path, settings)
    found = {outcome.knob: outcome for outcome in prove(settings, control, arm, {"pool.pm": "dynamic"})}
    assert all(outcome.proved for outcome in found.values()), found
    assert arm.servers.process_manager == "static"
    assert (control.servers.process_manager, control.servers.access_log_bytes, control.servers.web_workers) == ("", None, 1)


@pytest.mark.parametrize("manager", ["dynamic", "ondemand"])
def test_the_status_page_names_the_pool_s_manager(tmp_path: Path, manager: str) -> None:
    found = proofs(tmp_path, {"pool.pm": manager, "pool.pm.max_children": "3"})
    assert all(outcome.proved for outcome in found.values()), found
    assert found["pool.pm"].detail.startswith(f"the status page says {manager}")


def test_a_buffered_log_is_there_at_once_and_a_tcp_pool_keeps_connections_too(tmp_path: Path) -> None:
    settings = {"web.access_log": "buffered", "web.socket": "tcp", "web.fastcgi_keepalive": "1", "pool.pm.max_children": "2"}
    found = proofs(tmp_path, settings)
    assert all(outcome.proved for outcome in found.values()), found


def test_the_kernel_tells_of_a_worker(tmp_path: Path) -> None:
    control, arm = shown(tmp_path, {"env.LD_BIND_NOW": "1"})
    assert control.kernel.text_kib > 1024
    assert control.kernel.thp_off is False
    assert control.kernel.hugepages is not None
    assert control.kernel.somaxconn
    assert control.kernel.lazy is None
    assert arm.kernel.lazy is not None
    assert arm.exe not in arm.kernel.lazy  # Debian's php-fpm binds at once


PAGES = Path("/proc/sys/vm/nr_hugepages")


@pytest.mark.usefixtures("unreserved")
@pytest.mark.parametrize(("others", "order"), [(0, ["arm", "control"]), (8, ["arm", "control"]), (8, ["control", "arm"])])
def test_reserved_pages_are_there_for_one_arm_besides_those_of_others_and_gone_afterwards(
    tmp_path: Path, others: int, order: list[str]
) -> None:
    """Whoever starts first. Eight are too few for opcache's memory, which takes all of it or
    nothing."""
    PAGES.write_text(str(others))
    wanted = {"os.vm.nr_hugepages": "24", "ini.opcache.memory_consumption": "32", "ini.opcache.interned_strings_buffer": "4"}
    same = {name: value for name, value in wanted.items() if not name.startswith("os.")}
    arms = {"arm": plain_arm("arm", wanted), "control": plain_arm("control", same)}
    with plain_bench(tmp_path) as bench, bench.running([arms[name] for name in order]) as instances:
        assert [each.arm.name for each in instances] == order
        assert [name for name, _ in sorted(zip(order, instances, strict=True), key=lambda each: each[1].number)] == order
        facts = {each.arm.name: each.read_facts(()) for each in instances}
        arm, control = facts["arm"], facts["control"]
        (outcome,) = prove({"os.vm.nr_hugepages": "24"}, control, arm, {})
        assert outcome.proved, outcome.detail
        # What is touched of it is shown, in pages of 2 MiB.
        assert control.hugetlb_kib == 0 < arm.hugetlb_kib
        assert int(PAGES.read_text()) == others + 24
    assert int(PAGES.read_text()) == others


def test_an_arm_without_transparent_huge_pages(tmp_path: Path) -> None:
    control, arm = shown(tmp_path, {"os.thp": "never"})
    assert (control.kernel.thp_off, arm.kernel.thp_off) == (False, True)
