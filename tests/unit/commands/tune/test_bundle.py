"""What of a tune's findings a bundle gives as evidence."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.bundle.manifest import Evidence
from phpdyno.commands.tune.bundle import evidence, make_tune_bundle
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.tune import Found, TuneRequest
from phpdyno.session import builds
from tests.support.made_up.builds import BUILD
from tests.support.made_up.sweeps.tunes import BOTH, FOUND, JIT, STAMPS, confirmed, record


def names(found: Found) -> dict[str, Evidence]:
    return {each.name: each for each in evidence(record(found), found)}


def test_each_part_that_stays_is_evidence() -> None:
    found = names(FOUND)
    assert {name: each.settings for name, each in found.items()} == {
        "ini.opcache.jit=tracing": JIT,
        "ini.opcache.validate_timestamps=0": STAMPS,
    }
    assert {each.metric for each in found.values()} == {"cpu"}


def test_a_number_that_was_found_later_stands_in_the_place_of_a_part_s_own() -> None:
    found = names(structs.replace(FOUND, settings={**BOTH, "ini.opcache.jit_buffer_size": "96M"}))
    assert found["ini.opcache.jit=tracing"].settings == {"ini.opcache.jit": "tracing", "ini.opcache.jit_buffer_size": "96M"}


def test_nothing_is_evidence_for_what_was_not_adopted() -> None:
    tcp = confirmed("web.socket=tcp", settings={"web.socket": "tcp"}, goal="throughput")
    found = names(structs.replace(FOUND, settings={"web.socket": "tcp"}, loaded=(tcp,)))
    assert list(found) == ["web.socket=tcp"]
    assert found["web.socket=tcp"].metric == "throughput"


def test_what_it_was_judged_by_is_the_goal(tmp_path: Path) -> None:
    memory = structs.replace(FOUND, parts=(), confirmations=(confirmed(goal="memory"),))
    told = record(memory, asked=TuneRequest(source=AppSource("hello"), goal="memory"))
    manifest = make_tune_bundle(tmp_path / "bundle", "run", told, memory, control={"pool.pm.max_children": "1"})
    assert [each.metric for each in manifest.effects] == ["memory"]
    assert manifest.together is not None
    assert manifest.together.metric == "memory"
    assert manifest.control == {"pool.pm.max_children": "1"}


def test_a_bundle_is_for_the_php_of_the_site_where_another_binary_stood_in_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = "/var/cache/phpdyno/builds/pairs/1a2b/usr/sbin/php-fpm8.2"
    mine = structs.replace(BUILD, like=pair, measuring_only=True)
    monkeypatch.setattr(builds, "finished_builds", lambda: ((tmp_path, mine),))
    for fpm, told in ((pair, "/usr/sbin/php-fpm8.2"), ("/opt/php/sbin/php-fpm", "/opt/php/sbin/php-fpm")):
        known = record(FOUND)
        control = structs.replace(known.control, php=structs.replace(known.control.php, fpm=fpm, version="8.2.32"))
        asked = structs.replace(known, control=control)
        manifest = make_tune_bundle(tmp_path / told.replace("/", "-"), "run", asked, FOUND, control={"php": fpm})
        assert (manifest.php.executable, manifest.php.version, manifest.php.unit) == (told, "8.2.32", "php8.2-fpm")


def test_a_confirmation_of_what_is_not_in_the_bundle_is_not_that_of_all_together(tmp_path: Path) -> None:
    tcp = confirmed("web.socket=tcp", settings={"web.socket": "tcp"}, goal="throughput")
    only = structs.replace(FOUND, settings={"web.socket": "tcp"}, loaded=(tcp,))
    assert make_tune_bundle(tmp_path / "bundle", "run", record(only), only, control={}).together is None
