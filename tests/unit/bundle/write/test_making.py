"""What a bundle holds, and what reading one refuses."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from phpdyno.bundle.apply.commands import commands_after, commands_back, follow_of
from phpdyno.bundle.manifest import MANIFEST, README, Manifest
from phpdyno.bundle.places import mode_bits
from phpdyno.bundle.reading import read_bundle
from phpdyno.bundle.write.making import write_bundle
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.runs.tune import Goal
from tests.support.made_up.bundles import EFFECT, FPM, HOST, JIT, POOL, POOL_FILE, SETTINGS, bundle, findings

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other accounts")


def names(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def test_pages_that_the_host_reserved_before_stay_reserved(tmp_path: Path) -> None:
    made = bundle(tmp_path / "some", host=structs.replace(HOST, hugetlb_pages=100))
    assert "vm.nr_hugepages = 164\n" in (made.directory / "sysctl/99-phpdyno.conf").read_text()
    assert made.manifest.settings["os.vm.nr_hugepages"] == "164"
    none = bundle(tmp_path / "none", settings={"os.vm.nr_hugepages": "0"}, host=structs.replace(HOST, hugetlb_pages=100))
    assert none.manifest.settings["os.vm.nr_hugepages"] == "100"
    without = bundle(tmp_path / "without", settings=JIT, host=structs.replace(HOST, hugetlb_pages=100))
    assert without.manifest.settings == JIT


def test_only_files_with_content_are_written(tmp_path: Path) -> None:
    assert names(bundle(tmp_path / "some").directory) == {
        MANIFEST,
        README,
        "php/99-phpdyno.ini",
        "pool/00-phpdyno.conf",
        "pool/zz-phpdyno.conf",
        "nginx/phpdyno.conf",
        "sysctl/99-phpdyno.conf",
        "systemd/phpdyno.conf",
    }
    one = bundle(tmp_path / "one", settings={"ini.opcache.jit": "off"})
    assert names(one.directory) == {MANIFEST, README, "php/99-phpdyno.ini"}
    none = bundle(tmp_path / "none", settings={})
    assert names(none.directory) == {MANIFEST, README}


def test_the_files_say_what_was_proved(tmp_path: Path) -> None:
    made = bundle(tmp_path)
    texts = {name: content.decode() for name, content in made.contents.items()}
    assert "opcache.jit = tracing\nopcache.jit_buffer_size = 64M\n" in texts["php/99-phpdyno.ini"]
    assert "[www]\nphp_admin_value[memory_limit] = 256M\n" in texts["pool/00-phpdyno.conf"]
    assert "pm = static\npm.max_children = 8\n" in texts["pool/zz-phpdyno.conf"]
    assert "fastcgi_buffers 16 16k;\n" in texts["nginx/phpdyno.conf"]
    assert "vm.nr_hugepages = 64\n" in texts["sysctl/99-phpdyno.conf"]
    assert '[Service]\nEnvironment="LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"\n' in texts["systemd/phpdyno.conf"]
    targets = {each.path: each.target for each in made.manifest.files}
    assert targets["pool/zz-phpdyno.conf"] == "/etc/php/8.2/fpm/pool.d/zz-phpdyno.conf"
    assert targets["systemd/phpdyno.conf"] == "/etc/systemd/system/php8.2-fpm.service.d/phpdyno.conf"


def test_percent_signs_and_quotes_reach_the_service(tmp_path: Path) -> None:
    made = bundle(tmp_path, settings={"env.MALLOC_CONF": 'a%b"c\\d'})
    assert b'Environment="MALLOC_CONF=a%%b\\"c\\\\d"' in made.contents["systemd/phpdyno.conf"]


def test_the_preload_script_ships_and_is_named_by_its_place(tmp_path: Path) -> None:
    made = bundle(tmp_path, settings={"ini.opcache.preload": "/x/preload.php"}, preload="<?php\n")
    assert made.contents["preload.php"] == b"<?php\n"
    assert b"opcache.preload = /etc/php/8.2/fpm/phpdyno-preload.php\n" in made.contents["php/99-phpdyno.ini"]
    assert "preload.php" not in bundle(tmp_path / "other", preload="<?php\n").contents


def test_a_preload_script_that_does_not_know_where_the_app_lies_says_so(tmp_path: Path) -> None:
    told = {"settings": {"ini.opcache.preload": "/x/preload.php"}, "preload": "<?php\n"}
    (todo,) = bundle(tmp_path / "nowhere", **told).manifest.by_hand
    assert todo.setting == "ini.opcache.preload"
    assert "Environment=PHPDYNO_PRELOAD_ROOT=DIRECTORY (systemctl edit php8.2-fpm)" in todo.todo
    assert bundle(tmp_path / "known", **told, preload_root="/srv/shop").manifest.by_hand == ()


@pytest.mark.parametrize(("goal", "words"), [("memory", "memory of a worker"), ("p99", "99th percentile of the service time")])
def test_what_an_effect_was_judged_by_is_named(tmp_path: Path, goal: Goal, words: str) -> None:
    page = (bundle(tmp_path, effects=(structs.replace(EFFECT, metric=goal),), together=None).directory / README).read_text()
    assert f"| {words} | −6.8 % (95 % CI " in page


def test_the_manifest_holds_effects_with_intervals(tmp_path: Path) -> None:
    manifest = bundle(tmp_path).manifest
    assert manifest.effects == (EFFECT,)
    assert (manifest.seed, manifest.run, manifest.php.executable) == (7, "2026-tune-shop", FPM)
    assert manifest.settings == SETTINGS
    assert [each.setting for each in manifest.by_hand] == ["web.workers"]


def test_one_effect_that_is_all_of_it_is_told_once(tmp_path: Path) -> None:
    assert (bundle(tmp_path).directory / README).read_text().count("| the JIT |") == 1


def test_the_readme_is_one_a_person_can_act_on(tmp_path: Path) -> None:
    page = (bundle(tmp_path).directory / README).read_text()
    assert "−6.8 % (95 % CI −7.7 to −5.8, 21 blocks)" in page
    assert "phpdyno bundle apply bundle\nsysctl -p /etc/sysctl.d/99-phpdyno.conf\nsystemctl daemon-reload\n" in page
    assert "systemctl restart php8.2-fpm\nsystemctl reload nginx\nphpdyno bundle verify bundle\n" in page
    assert "phpdyno bundle rollback bundle\nsystemctl daemon-reload\n" in page
    assert "systemctl reload nginx\nsysctl vm.nr_hugepages=0\n" in page.partition("bundle rollback")[2]
    assert "worker_processes 2;" in page
    assert "JIT defects" in page


def test_secrets_of_the_control_do_not_enter(tmp_path: Path) -> None:
    made = bundle(tmp_path, based_on={POOL_FILE: POOL + "env[DB] = hunter2\n"})
    assert made.contents["based-on/etc/php/8.2/fpm/pool.d/www.conf.txt"].startswith(b"[www]\n")
    assert not any(b"hunter2" in path.read_bytes() for path in made.directory.rglob("*") if path.is_file())


def test_a_bundle_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    bundle(tmp_path)
    made = bundle(tmp_path, settings={"ini.opcache.jit": "off"})
    assert names(made.directory) == {MANIFEST, README, "php/99-phpdyno.ini"}
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]
    shutil.rmtree(made.directory)
    made.directory.mkdir()
    (made.directory / "mine").write_text("x")
    with pytest.raises(DynoError, match="something else lies here"):
        write_bundle(made.directory, findings())
    assert (made.directory / "mine").read_text() == "x"


def test_a_file_with_another_checksum_is_refused(tmp_path: Path) -> None:
    made = bundle(tmp_path)
    with (made.directory / "php/99-phpdyno.ini").open("a") as stream:
        stream.write("auto_prepend_file = /tmp/x.php\n")
    with pytest.raises(UsageError, match=r"99-phpdyno.ini: its checksum is not the manifest's"):
        read_bundle(made.directory)
    (made.directory / "php/99-phpdyno.ini").unlink()
    with pytest.raises(UsageError, match="the manifest names this file"):
        read_bundle(made.directory)


def test_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this is no bundle"):
        read_bundle(tmp_path / "none")
    (tmp_path / MANIFEST).write_text("{}")
    with pytest.raises(UsageError, match="not understood"):
        read_bundle(tmp_path)


def _edit(made: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = msgspec.json.decode((made / MANIFEST).read_bytes())
    change(document)
    (made / MANIFEST).write_bytes(msgspec.json.encode(document))


@pytest.mark.parametrize(
    "target",
    ["etc/x", "/etc/../x", "/etc//x", "/x", "/proc/sys/x", "/var/lib/phpdyno/bundle/journal.json", "/etc/./x", "/etc/x/", "/etc/\0x"],
)
def test_odd_targets_are_refused(tmp_path: Path, target: str) -> None:
    made = bundle(tmp_path).directory
    _edit(made, lambda document: document["files"][0].update(target=target))
    with pytest.raises(UsageError, match="nothing may be placed"):
        read_bundle(made)


@pytest.mark.parametrize("path", ["/etc/passwd", "../../x", "php/../../x", "./README.md", "php/\0x"])
def test_a_manifest_names_files_of_its_bundle_only(tmp_path: Path, path: str) -> None:
    made = bundle(tmp_path).directory
    _edit(made, lambda document: document["files"][0].update(path=path))
    with pytest.raises(UsageError, match="no name of a file in a bundle"):
        read_bundle(made)


def test_a_file_that_it_is_based_on_has_a_path(tmp_path: Path) -> None:
    made = bundle(tmp_path, based_on={POOL_FILE: POOL}).directory
    _edit(made, lambda document: document["based_on"][0].update(target="/etc/\0x"))
    with pytest.raises(UsageError, match="no path of a configuration file"):
        read_bundle(made)


def test_settings_that_are_not_there_or_make_no_sense_are_refused(tmp_path: Path) -> None:
    made = bundle(tmp_path / "lacking").directory
    _edit(made, lambda document: document["settings"].pop("env.LD_PRELOAD"))
    with pytest.raises(UsageError, match=r"systemd/phpdyno.conf carries env.LD_PRELOAD, which is not among the settings"):
        read_bundle(made)
    made = bundle(tmp_path / "odd").directory
    _edit(made, lambda document: document["settings"].update({"os.vm.nr_hugepages": "many"}))
    with pytest.raises(UsageError, match=r"os.vm.nr_hugepages cannot be 'many'"):
        read_bundle(made)


def test_a_file_that_a_person_took_out_is_neither_placed_nor_undone(tmp_path: Path) -> None:
    made = bundle(tmp_path).directory
    _edit(made, lambda document: document["files"].pop([each["kind"] for each in document["files"]].index("sysctl")))
    follow = follow_of(read_bundle(made).manifest)
    assert "sysctl" not in " ".join((*commands_after(follow), *commands_back(follow)))


def test_two_files_for_one_place_are_refused(tmp_path: Path) -> None:
    made = bundle(tmp_path).directory
    _edit(made, lambda document: document["files"][1].update(target=document["files"][0]["target"]))
    with pytest.raises(UsageError, match="two files for"):
        read_bundle(made)


def test_links_are_no_files_of_a_bundle(tmp_path: Path) -> None:
    made = bundle(tmp_path).directory
    (made / "php/99-phpdyno.ini").rename(tmp_path / "elsewhere")
    (made / "php/99-phpdyno.ini").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="the manifest names this file"):
        read_bundle(made)


@pytest.mark.parametrize(("text", "bits"), [("0644", 0o644), ("640", 0o640), ("0755", None), ("4644", None), ("0666", None), ("x", None)])
def test_modes(text: str, bits: int | None) -> None:
    assert mode_bits(text) == bits


@as_root
def test_root_takes_no_bundle_on_another_accounts_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    made = bundle(tmp_path).directory
    os.chown(made / "php/99-phpdyno.ini", 12345, 12345)
    with pytest.raises(UsageError, match="on the word of account number 12345"):
        read_bundle(made)
    monkeypatch.setenv("SUDO_UID", "12345")
    assert isinstance(read_bundle(made).manifest, Manifest)


def test_what_lies_beside_a_bundle_stays_whatever_its_name(tmp_path: Path) -> None:
    made = bundle(tmp_path)
    beside = made.directory.with_name(f".{made.directory.name}-new")
    beside.mkdir()
    (beside / "work").write_text("somebody's")
    write_bundle(made.directory, findings())
    assert (beside / "work").read_text() == "somebody's"
    assert sorted(path.name for path in made.directory.parent.iterdir() if path.name.startswith(".")) == [beside.name]
    assert made.directory.stat().st_mode & 0o777 == 0o755
