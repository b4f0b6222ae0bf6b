"""Records of tunes made up for tests."""

from phpdyno.journal.tune import TUNE_SCHEMA, TunePart, TuneRecord
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.tune import (
    Change,
    ChangeEffect,
    Confirmed,
    Found,
    NumberTried,
    PartFound,
    Race,
    Racer,
    Screening,
    Side,
    StageTime,
    Step,
    Together,
    TunedRatio,
    TuneRequest,
)
from tests.support.made_up.bundles import HOST

JIT = {"ini.opcache.jit": "tracing", "ini.opcache.jit_buffer_size": "64M"}
STAMPS = {"ini.opcache.validate_timestamps": "0"}
BOTH = {**JIT, **STAMPS}
HOSTILE = "env.X=<script>alert(1)</script>\x1b[31m"


def confirmed(name: str = "both", **changes: object) -> Confirmed:
    """The combination, improved by 7 %."""
    told: dict[str, object] = {
        "name": name,
        "settings": BOTH,
        "goal": "cpu",
        "kind": "improved",
        "relevance": "relevant",
        "ratio": TunedRatio(1.073, 1.062, 1.084, 21),
        "aa": TunedRatio(1.001, 0.992, 1.010, 21),
        "confidence": 0.95,
        "decision": "adopted",
        "before": Side(21.4, 25.1, 40.0, 10_240.0),
        "after": Side(19.9, 23.4, 39.0, 12_288.0),
    }
    return Confirmed(**{**told, **changes})  # type: ignore[arg-type]


FOUND = Found(
    scripts=("index.php", "lib/a.php"),
    changes=(
        Change("ini.opcache.jit=tracing", JIT, "cpu"),
        Change("ini.opcache.validate_timestamps=0", STAMPS, "cpu"),
        Change("ini.zend.assertions=-1", {"ini.zend.assertions": "-1"}, "cpu", "the control has the same value already"),
        Change(HOSTILE, {"env.X": "1"}, "cpu", "php-fpm does not start: \x1b[31mboo"),
        Change("web.socket=tcp", {"web.socket": "tcp"}, "throughput"),
    ),
    plan="screening 2 knobs in 4 rows of 5 blocks (120 s) decides 1.4% each",
    times=(StageTime("screen", 120.0, 150.0, 0.014), StageTime("race", 60.0, 210.0, None), StageTime("confirm", 50.0, 260.0, 0.012)),
    screening=Screening(
        4,
        5,
        12,
        4,
        0.014,
        effects=(
            ChangeEffect("ini.opcache.jit=tracing", "helps", TunedRatio(1.062, 1.041, 1.083)),
            ChangeEffect("ini.opcache.validate_timestamps=0", "open", TunedRatio(1.006, 0.991, 1.021)),
        ),
        together=(Together(("ini.opcache.jit", "ini.opcache.validate_timestamps"), TunedRatio(1.02, 1.001, 1.04)),),
    ),
    race=Race(
        9,
        (
            Racer("both", BOTH, TunedRatio(1.071, 1.05, 1.09, 9), "won"),
            Racer("ini.opcache.jit=tracing", JIT, TunedRatio(1.061, 1.04, 1.08, 9), "not told apart from the winner"),
            Racer("ini.opcache.validate_timestamps=0", STAMPS, None, "there was no time for it"),
        ),
        "both",
        "open",
    ),
    numbers=(NumberTried({"ini.opcache.jit_buffer_size": "96M"}, TunedRatio(1.001, None, None, 3)),),
    confirmations=(confirmed(),),
    parts=(
        PartFound("ini.opcache.jit=tracing", JIT, TunedRatio(1.062, 1.05, 1.07, 12), kept=True, reason="kept: it adds to the rest"),
        PartFound(
            "ini.opcache.validate_timestamps=0",
            STAMPS,
            TunedRatio(1.012, 1.002, 1.022, 12),
            kept=True,
            reason="kept: it adds to the rest",
        ),
    ),
    ladder=(
        Step("+ ini.opcache.jit=tracing", JIT, TunedRatio(1.061, 1.05, 1.072, 21)),
        Step("both", BOTH, TunedRatio(1.073, 1.062, 1.084, 21)),
    ),
    loaded=(
        confirmed(
            "web.socket=tcp",
            settings={"web.socket": "tcp"},
            goal="throughput",
            kind="regressed",
            ratio=TunedRatio(0.9, 0.85, 0.95, 7),
            aa=None,
            decision="not adopted",
            reason="that it is better by more than the margin was not shown",
            before=None,
            after=None,
        ),
    ),
    settings=BOTH,
    notes=("there was no time to measure the throughput of pool.pm=dynamic",),
)


def record(found: Found = FOUND, **changes: object) -> TuneRecord:
    """A tune of hello that ended well."""
    told: dict[str, object] = {
        "schema": TUNE_SCHEMA,
        "phpdyno": "0.0.made-up",
        "started": "2026-01-02T03:04:05+0000",
        "argv": ("tune", "hello"),
        "asked": TuneRequest(source=AppSource("hello"), budget_s=300.0),
        "app": "hello",
        "app_version": "1",
        "control": Arm("control", PhpBuild("/usr/sbin/php-fpm8.2", "8.2.29")),
        "host": HOST,
        "parts": (TunePart("look", 9.5, 0), TunePart("screen-1", 118.0, 5)),
        "found": found,
        "spent_s": 280.0,
        "outcome": "finished",
        "bundle": "bundle" if found.settings else "",
    }
    return TuneRecord(**{**told, **changes})  # type: ignore[arg-type]
