"""What running workers prove of a bundle."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.bundle.apply.applying import apply
from phpdyno.bundle.apply.checking import Checker
from phpdyno.bundle.apply.proving import Live, SettingProof, mark_in, prove_all
from phpdyno.bundle.apply.tree import Disk
from phpdyno.bundle.apply.verifying import verify
from phpdyno.bundle.reading import Bundle
from phpdyno.bundle.write.division import MARK
from phpdyno.errors import DynoError
from phpdyno.model.facts import WorkerFacts
from tests.support.made_up.bundles import SETTINGS, FakeServers, bundle, image
from tests.support.made_up.facts import JIT_ON, PLAIN, with_ini, with_jit

LIBRARY = SETTINGS["env.LD_PRELOAD"]


@pytest.fixture
def made(tmp_path: Path) -> Bundle:
    return bundle(tmp_path / "made")


def worker(made: Bundle) -> WorkerFacts:
    """One that has all of it."""
    mark = mark_in(made.manifest, made.contents)
    facts = with_ini(with_jit(PLAIN, JIT_ON), memory_limit="256M")
    kernel = structs.replace(facts.kernel, hugepages=64)
    return structs.replace(facts, env={MARK: mark, "LD_PRELOAD": LIBRARY}, preloaded=(LIBRARY,), workers=8, kernel=kernel)


def live(made: Bundle, *workers: WorkerFacts) -> Live:
    configured = {"pool.pm": "static", "pool.pm.max_children": "8"}
    return Live(configured=configured, workers=workers or (worker(made),), mark=mark_in(made.manifest, made.contents))


def proved(made: Bundle, told: Live) -> dict[str, SettingProof]:
    return {each.setting: each for each in prove_all(made.manifest, told)}


def test_every_setting_gets_an_answer(made: Bundle) -> None:
    found = proved(made, live(made))
    assert set(found) == set(SETTINGS)
    unasked = {name for name, each in found.items() if each.state == "cannot be asked"}
    assert unasked == {"web.fastcgi_buffers", "web.workers"}
    assert {each.state for name, each in found.items() if name not in unasked} == {"at work"}


def test_an_old_worker_refutes(made: Bundle) -> None:
    found = proved(made, live(made, worker(made), PLAIN))
    assert found["ini.memory_limit"].state == "not at work"
    assert "'128M' in the worker (1 of 2 workers)" in found["ini.memory_limit"].detail
    assert found["env.LD_PRELOAD"].state == "not at work"
    assert "started before php-fpm read" in found["pool.pm"].detail


def test_another_line_that_counts_more_refutes_a_directive(made: Bundle) -> None:
    told = structs.replace(live(made), configured={"pool.pm": "ondemand"})
    found = proved(made, told)
    assert found["pool.pm"].detail == "php-fpm's files say ondemand"
    assert found["pool.pm.max_children"].detail == "php-fpm's files say nothing of it"


def test_without_a_worker_nothing_is_claimed(made: Bundle) -> None:
    told = structs.replace(live(made), workers=(), unasked="chroot")
    found = proved(made, told)
    assert {each.state for each in found.values()} == {"cannot be asked"}
    assert found["ini.opcache.jit"].detail == "chroot"


def test_an_environment_that_cannot_be_read_is_not_called_missing(made: Bundle) -> None:
    told = structs.replace(live(made, PLAIN), env_known=False)
    assert proved(made, told)["env.LD_PRELOAD"].state == "cannot be asked"


def test_the_preload_script_is_looked_for_where_it_was_placed(tmp_path: Path) -> None:
    made = bundle(tmp_path / "made", settings={"ini.opcache.preload": "/x/preload.php"}, preload="<?php\n")
    assert PLAIN.opcache is not None
    opcache = structs.replace(PLAIN.opcache, preloaded_scripts=12)
    facts = structs.replace(with_ini(PLAIN, opcache__preload="/etc/php/8.2/fpm/phpdyno-preload.php"), opcache=opcache)
    found = proved(made, Live(workers=(facts,)))
    assert found["ini.opcache.preload"].state == "at work"


def test_a_directive_without_our_fragment_is_not_claimed(tmp_path: Path) -> None:
    made = bundle(tmp_path / "made", settings={"pool.pm": "static", "ini.opcache.jit": "off"})
    told = Live(configured={"pool.pm": "static"}, workers=(PLAIN,))
    assert proved(made, told)["pool.pm"].state == "cannot be asked"


def test_verify_wants_an_applied_bundle(made: Bundle, tmp_path: Path) -> None:
    tree = image(tmp_path / "root")
    with pytest.raises(DynoError, match="not applied here"):
        verify(made, tree, lambda mark: Live())
    apply(made, tree, Checker(made, tree, ask=FakeServers()), Disk())
    found = verify(made, tree, lambda mark: Live())
    assert {each.detail for each in found.proofs} == {"no process runs in the tree of an image"}
    assert (found.proved, found.refuted) == (0, 0)
    (tree.root / "etc/sysctl.d/99-phpdyno.conf").write_text("vm.nr_hugepages = 1\n")
    with pytest.raises(DynoError, match="edited since"):
        verify(made, tree, lambda mark: Live())
