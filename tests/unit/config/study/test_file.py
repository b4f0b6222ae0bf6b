"""Study files: what they become, and one clear line for everything that cannot be."""

import tomllib
from pathlib import Path

import pytest

from phpdyno.commands.build.named import named, without_builds
from phpdyno.config.study.file import load_study
from phpdyno.config.values import read_toml
from phpdyno.errors import UsageError
from phpdyno.model.runs.study import ReferenceSweep, StudyBuild
from tests.support.places import ROOT

HEAD = """\
name = "small"
title = "A small study"
[apps]
hello = "hello"
[load]
workers = 4
concurrency = 4
[factor.opcache]
on = "ini.opcache.enable=1"
off = "ini.opcache.enable=0"
[factor.socket]
unix = "web.socket=unix"
tcp = "web.socket=tcp"
"""
ARMS = """\
[[arm]]
name = "control"
levels = { opcache = "on", socket = "unix" }
[[arm]]
name = "off"
based_on = "control"
levels = { opcache = "off" }
[[arm]]
name = "off, tcp"
based_on = "off"
levels = { socket = "tcp" }
spec = "ini.memory_limit=64M"
"""
COMPARISON = """\
[[comparison]]
name = "cpu"
app = "hello"
metric = "cpu"
control = "control"
treatments = ["off"]
budget_s = 60
"""
NO_LOAD = HEAD.replace("[load]\nworkers = 4\nconcurrency = 4\n", "")
SWEEP = """\
[[sweep]]
name = "loads"
app = "hello"
budget_s = 60
"""
FIGURES = """\
[reference]
source = "x"
[[reference.sweep]]
machine = "another one"
[reference.sweep.per_s."off"]
5 = 1852.83
"""
REFERENCE = '[reference]\nsource = "x"\n'


BUILD = '[[build]]\nname = "trained"\nrecipe = "pgo"\ntrain = ["hello"]\n'
BUILT_HEAD = 'name = "built"\ntitle = "Built"\n[apps]\nhello = "hello"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_arms_inherit_levels_and_settings_along_the_line(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, HEAD + ARMS + COMPARISON))
    assert study.arm("off, tcp").levels == {"opcache": "off", "socket": "tcp"}
    assert study.arm("off, tcp").settings == {"ini.opcache.enable": "0", "web.socket": "tcp", "ini.memory_limit": "64M"}
    assert study.arm("off").settings == {"ini.opcache.enable": "0", "web.socket": "unix"}
    assert (study.load.workers, study.confidence, study.seed) == (4, 0.95, 1)


def test_a_treatment_says_only_what_differs_and_load_goes_into_the_control(tmp_path: Path) -> None:
    loaded = COMPARISON.replace('"cpu"', '"throughput"').replace('["off"]', '["off", "off, tcp"]')
    study = load_study(write(tmp_path, HEAD + ARMS + COMPARISON + loaded))
    cpu, throughput = study.comparisons
    assert study.treatment_spec(cpu, "off") == "ini.opcache.enable=0"
    assert study.treatment_spec(throughput, "off, tcp") == "ini.opcache.enable=0;web.socket=tcp;ini.memory_limit=64M"
    assert study.control_spec(cpu) == "ini.opcache.enable=1;web.socket=unix"
    assert study.control_spec(throughput).startswith("pool.pm=static;pool.pm.max_children=4;ini.opcache.enable=1")
    assert (cpu.margin, throughput.margin) == (0.01, 0.05)


def test_without_a_list_all_other_arms_are_treatments(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, HEAD + ARMS + COMPARISON.replace('treatments = ["off"]\n', "")))
    assert study.comparisons[0].treatments == ("off", "off, tcp")


def test_a_sweep_needs_no_load_and_no_comparison(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, NO_LOAD + ARMS + SWEEP + "concurrency = [5, 1]\nopen_share = 0.7\n" + FIGURES))
    assert study.comparisons == ()
    (sweep,) = study.sweeps
    assert (sweep.arms, sweep.concurrency, sweep.open_share) == (("control", "off", "off, tcp"), (1, 5), 0.7)
    assert (study.budget_of({sweep.name}), study.budget_of(())) == (60, 0)
    assert study.reference is not None
    assert study.reference.sweeps == (ReferenceSweep("another one", {"off": {"5": 1852.83}}),)


def test_a_sweep_has_the_references_loads_and_no_open_loop_by_default(tmp_path: Path) -> None:
    (sweep,) = load_study(write(tmp_path, NO_LOAD + ARMS + SWEEP)).sweeps
    assert (sweep.concurrency, sweep.open_share) == ((1, 3, 5, 10, 20, 30, 40, 50), 0.0)


def test_the_pool_study_stands_beside_every_figure_of_the_reference() -> None:
    study = load_study(ROOT / "studies" / "fpm-sweep.toml")
    assert study.reference is not None
    assert [len(figures) for each in study.reference.sweeps for figures in each.per_s.values()] == [5, 5, 7, 5, 5]
    assert study.arm("dynamic 5").settings["pool.pm.max_children"] == "5"
    assert Path(study.apps["phpinfo"]).is_file()


def test_an_app_toml_is_relative_to_the_study_file(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, HEAD.replace('hello = "hello"', 'hello = "../shop/app.toml"') + ARMS + COMPARISON))
    assert study.apps == {"hello": str(tmp_path.parent / "shop" / "app.toml")}


def test_the_committed_studies_can_be_read() -> None:
    every = sorted((ROOT / "studies").glob("*.toml"))
    # Studies of another kind are read by the commands that carry them out.
    files = [file for file in every if "kind" not in read_toml(file)]
    assert 0 < len(files) < len(every)
    for file in files:
        study = load_study(file)
        # One is of nobody's claim.
        assert (study.reference is None) == (file.stem == "best-build"), file
        # Each contrast can be made from some comparison.
        for contrast in study.contrasts:
            assert any({contrast.arm, contrast.against} <= {each.control, *each.treatments} for each in study.comparisons), contrast.title


def test_arms_name_builds_of_the_study_and_the_php_that_these_stand_beside(tmp_path: Path) -> None:
    arms = '[[arm]]\nname = "stock"\nspec = "build=stock"\n[[arm]]\nname = "off"\nspec = "build=trained;ini.memory_limit=1G"\n'
    comparison = COMPARISON.replace('= "control"', '= "stock"')
    study = load_study(write(tmp_path, BUILT_HEAD + arms + comparison + BUILD))
    assert study.builds == (StudyBuild("trained", "pgo", ("hello",)),)
    found = named(study, {"trained": "pgo-1a2b3c4d", "stock": "pgo-1a2b3c4d/stock"})
    assert [each.settings for each in found.arms] == [
        {"build": "pgo-1a2b3c4d/stock"},
        {"build": "pgo-1a2b3c4d", "ini.memory_limit": "1G"},
    ]
    # Looked up before they are made: no arm may look like another one then.
    assert [each.settings for each in without_builds(study).arms] == [
        {"env.PHPDYNO_BUILD": "stock"},
        {"env.PHPDYNO_BUILD": "trained", "ini.memory_limit": "1G"},
    ]


def test_a_build_may_stand_alone(tmp_path: Path) -> None:
    arms = '[[arm]]\nname = "stock"\nspec = "build=stock"\n[[arm]]\nname = "off"\nspec = "build=trained;ini.memory_limit=1G"\n'
    text = BUILT_HEAD + arms + COMPARISON.replace('= "control"', '= "stock"') + BUILD + "standalone = true\n"
    assert load_study(write(tmp_path, text)).builds == (StudyBuild("trained", "pgo", ("hello",), alone=True),)


@pytest.mark.parametrize(("treatment", "shorter"), [("tcp", 500), ("no opcache", 150)])
def test_the_opcache_study_measures_its_headlines_in_full_slots_as_well(treatment: str, shorter: int) -> None:
    study = load_study(ROOT / "studies" / "opcache.toml")
    loaded = [each for each in study.comparisons if each.app == "symfony-hello" and each.metric == "throughput"]
    mine = [each for each in loaded if treatment in each.treatments]
    # None: 20 for each in flight.
    (full,) = [each for each in mine if each.slot_requests is None]
    assert full.treatments == (treatment,)
    assert shorter in [each.slot_requests for each in mine]


def test_opcache_on_against_off_is_told_from_full_slots() -> None:
    study = load_study(ROOT / "studies" / "opcache.toml")
    first = next(each for each in study.comparisons if each.metric == "throughput" and "no opcache" in each.treatments)
    assert (first.app, first.slot_requests) == ("symfony-hello", None)
    # Six blocks of two pairs at least, by the rates that were seen: 1,150 requests per second, and
    # 60 without opcache.
    assert first.budget_s >= 1.2 * 6 * 2 * (2000 / 1150 + 2000 / 60)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("name =", "is not valid TOML"),
        ("titel = 1\n" + HEAD + ARMS + COMPARISON, "titel: unknown key; did you mean title?"),
        (HEAD + ARMS + COMPARISON + "buget = 3\n", "comparison[0].buget: unknown key; did you mean comparison.budget_s?"),
        (HEAD + ARMS + COMPARISON.replace("budget_s = 60\n", ""), "comparison[0]: misses the key budget_s; add budget_s = 300"),
        (HEAD + ARMS + COMPARISON.replace("60", "0"), "comparison[0].budget_s: Expected float > 0"),
        (HEAD + ARMS + COMPARISON.replace("60", '"5m"'), "comparison[0].budget_s: Expected float, got str; add budget_s = 300"),
        (HEAD + ARMS, "comparison: there is none; add [[comparison]]"),
        (
            NO_LOAD + ARMS + COMPARISON.replace('"cpu"', '"throughput"'),
            "load: is missing, and a comparison by throughput needs it; add [load]",
        ),
        (NO_LOAD + ARMS + SWEEP.replace('"hello"', '"helo"'), "sweep[0].app: [apps] names no 'helo'; did you mean hello?"),
        (NO_LOAD + ARMS + SWEEP + 'arms = ["of"]\n', "sweep[0].arms[0]: there is no arm 'of'; did you mean off?"),
        (NO_LOAD + ARMS + SWEEP + 'arms = ["off", "off"]\n', "sweep[0].arms[1]: 'off' is listed twice"),
        (NO_LOAD + ARMS + SWEEP + "arms = []\n", "sweep[0].arms: there is no arm to sweep"),
        (NO_LOAD + ARMS + SWEEP + "concurrency = []\n", "sweep[0].concurrency: Expected array of length"),
        (NO_LOAD + ARMS + SWEEP + "concurrency = [3, 1, 3]\n", "sweep[0].concurrency: a number of requests in flight is listed twice"),
        (NO_LOAD + ARMS + SWEEP + "concurrency = [0]\n", ": Expected int >= 1"),
        (NO_LOAD + ARMS + SWEEP + "concurrency = [1001]\n", "Expected int <= 1000"),
        (NO_LOAD + ARMS + SWEEP + "open_share = 0\n", "sweep[0].open_share: Expected float > 0"),
        (HEAD + ARMS + COMPARISON + 'settle = "soon"\n', "comparison[0].settle: Invalid value 'soon'"),
        (NO_LOAD + ARMS + SWEEP + "open_shar = 0.7\n", "sweep[0].open_shar: unknown key; did you mean sweep.open_share?"),
        (NO_LOAD + ARMS + SWEEP.replace("budget_s = 60\n", ""), "sweep[0]: misses the key budget_s; add budget_s = 300"),
        (NO_LOAD + ARMS + SWEEP + SWEEP, "comparison: two parts are called 'loads'"),
        (NO_LOAD + ARMS + SWEEP + FIGURES.replace('"off"', '"of"'), "reference.sweep[0].per_s.of: there is no arm 'of'; did you mean off?"),
        (NO_LOAD + ARMS + SWEEP + FIGURES.replace("5 =", "7 ="), "reference.sweep[0].per_s.off.7: no sweep measures 'off' with 7"),
        (
            NO_LOAD + ARMS + SWEEP + FIGURES.replace("machine", "machin"),
            "reference.sweep[0].machin: unknown key; did you mean reference.sweep.machine?",
        ),
        (HEAD + COMPARISON, "misses the key arm; add [[arm]]"),
        ("arm = []\n" + HEAD + COMPARISON, "arm: there is none; add [[arm]]"),
        ("comparison = []\n" + HEAD + ARMS, "comparison: there is none; add [[comparison]]"),
        (HEAD.replace('hello = "hello"\n', "") + ARMS + COMPARISON, "apps: there is none; add [apps]"),
        (HEAD.replace("small", "a/b") + ARMS + COMPARISON, "name: Expected str matching regex"),
        (HEAD + ARMS + ARMS + COMPARISON, "arm[3].name: there are two arms 'control'; rename or drop one"),
        (HEAD + ARMS.replace('"off"\nlevels', '"of"\nlevels') + COMPARISON, "arm[2].based_on: there is no arm 'of'; did you mean off?"),
        (HEAD + ARMS.replace('name = "control"\n', 'name = "control"\nbased_on = "off"\n') + COMPARISON, "in a cycle: "),
        (HEAD + ARMS.replace('name = "control"\n', 'name = "control"\nbased_on = "control"\n') + COMPARISON, "cycle: control -> control"),
        (
            HEAD + ARMS.replace('opcache = "off"', 'opcache = "of"') + COMPARISON,
            "arm[1].levels.opcache: opcache has no level 'of'; did you",
        ),
        (HEAD + ARMS.replace("levels = { socket", "levels = { sockt") + COMPARISON, "no factor 'sockt'; did you mean socket?"),
        (HEAD + ARMS.replace(', socket = "unix"', "") + COMPARISON, "arm[0].levels: 'control' has no level of socket; choose one of: unix"),
        (HEAD + ARMS.replace('levels = { opcache = "off" }', "") + COMPARISON, "arm[1]: 'off' is the same as 'control'"),
        (HEAD + ARMS.replace('name = "off"', 'name = " "') + COMPARISON, "arm[1].name: the name is empty"),
        (HEAD + ARMS.replace("ini.memory", "@ini.memory") + COMPARISON, "arm[2].spec: a study file is data only"),
        (HEAD + ARMS.replace("=64M", "") + COMPARISON, "arm[2].spec: 'ini.memory_limit' is no setting"),
        (HEAD + ARMS.replace("=64M", "=64M;ini.memory_limit=1") + COMPARISON, "arm[2].spec: ini.memory_limit is set twice"),
        (HEAD.replace("web.socket=tcp", "ini.opcache.enable=1") + ARMS + COMPARISON, "factor.socket.tcp: another factor sets ini.opcache"),
        (HEAD + ARMS + COMPARISON.replace('"hello"', '"helo"'), "comparison[0].app: [apps] names no 'helo'; did you mean hello?"),
        (HEAD + ARMS + COMPARISON.replace('["off"]', '["of"]'), "comparison[0].treatments[0]: there is no arm 'of'; did you mean off?"),
        (HEAD + ARMS + COMPARISON.replace('["off"]', '["off", "off"]'), "treatments[1]: 'off' is listed twice"),
        (HEAD + ARMS + COMPARISON.replace('["off"]', '["control"]'), "treatments[0]: 'control' is the control itself"),
        (HEAD + ARMS + COMPARISON.replace('["off"]', "[]"), "comparison[0].treatments: there is nothing to compare"),
        (
            HEAD + ARMS + COMPARISON.replace('= "control"', '= "cntrol"'),
            "comparison[0].control: there is no arm 'cntrol'; did you mean cont",
        ),
        (
            HEAD + ARMS + COMPARISON.replace('["off"]', '["control"]').replace('l = "control"', 'l = "off, tcp"'),
            "does not say what ini.mem",
        ),
        (HEAD + ARMS + COMPARISON.replace('"cpu"\ncontrol', '"p99"\ncontrol'), "comparison[0].metric: Invalid value 'p99'; use \"cpu\""),
        (HEAD + ARMS + COMPARISON + COMPARISON, "comparison: two parts are called 'cpu'"),
        (HEAD + ARMS + COMPARISON.replace('"cpu"', '"throughput"') + "slot_requests = 3\n", "slot of 3 cannot hold 4 requests in flight"),
        (HEAD + ARMS + COMPARISON.replace('"cpu"', '"throughput"') + "slot_requests = 79\n", "79 is below 20 requests for each of 4 in"),
        (
            HEAD + ARMS + COMPARISON + '[[syscalls]]\napp = "hello"\narms = ["x"]\nrequests = 5\n',
            "syscalls[0].arms[0]: there is no arm 'x'",
        ),
        (HEAD + ARMS + COMPARISON + '[[syscalls]]\napp = "hello"\narms = []\nrequests = 5\n', "syscalls[0].arms: Expected array of length"),
        (
            HEAD + ARMS + COMPARISON + '[[contrast]]\ntitle = "x"\narm = "off"\nagainst = "on"\n',
            "contrast[0].against: there is no arm 'on'",
        ),
        (HEAD + ARMS + COMPARISON + REFERENCE + "throughput_per_s = { of = 3 }\n", "throughput_per_s.of: there is no arm 'of'; did you"),
        (HEAD + ARMS + COMPARISON + REFERENCE + "syscalls = { off = { read = 3 } }\n", "syscall_requests: is missing"),
        (HEAD + ARMS + COMPARISON + REFERENCE + "sorce = 3\n", "reference.sorce: unknown key; did you mean reference.source?"),
        (
            HEAD + ARMS + COMPARISON + '[[note]]\ntext = "x"\ncontrast = "y"\nours = "smaller"\n',
            "note[0].contrast: there is no contrast 'y'",
        ),
        (HEAD + ARMS + COMPARISON + '[[note]]\ntext = "x"\nours = "smaller"\n', "note[0]: contrast and ours belong together"),
        (HEAD + ARMS + COMPARISON + BUILD.replace('"pgo"', '"pog"'), "build[0].recipe: 'pog' is no part of a recipe; did you mean pgo?"),
        (HEAD + ARMS + COMPARISON + BUILD.replace('"hello"', '"helo"'), "build[0].train[0]: [apps] names no 'helo'; did you mean hello?"),
        (HEAD + ARMS + COMPARISON + BUILD.replace('"trained"', '"stock"'), "build[0].name: 'stock' is taken"),
        (HEAD + ARMS + COMPARISON + BUILD + BUILD, "build[1].name: 'trained' is taken"),
        (HEAD + ARMS.replace("ini.memory_limit=64M", "build=traind") + COMPARISON + BUILD, "arm[2]: there is no build 'traind'; did you"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_study(write(tmp_path, text))
    assert said in str(caught.value)
    assert str(tmp_path / "study.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        load_study(tmp_path / "none.toml")


def test_the_texts_above_are_what_they_seem() -> None:
    assert tomllib.loads(HEAD + ARMS + COMPARISON)
