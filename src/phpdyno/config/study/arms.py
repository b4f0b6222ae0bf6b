"""The arms of a study file: levels of factors and settings, inherited along `based_on`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from phpdyno.config.nearest import suggestion
from phpdyno.config.values import as_text
from phpdyno.errors import UsageError
from phpdyno.model.runs.study import StudyArm

Factors = Mapping[str, Mapping[str, str]]
"""SPEC by factor and level."""


class RawArm(Struct, frozen=True, forbid_unknown_fields=True):
    """An arm as the file has it: `spec` and `levels` come on top of those of the arm that it is
    based on."""

    name: str
    based_on: str | None = None
    levels: dict[str, str] = field(default_factory=dict)
    spec: str = ""


def complete_arms(path: Path, factors: Factors, raw: Sequence[RawArm]) -> dict[str, StudyArm]:
    """Every arm by name, in the file's order, with all that it inherits.

    Raises UsageError: a name twice, an arm or a level that does not exist, a cycle, a factor left
    open, two arms that are the same.
    """
    by_name: dict[str, RawArm] = {}
    for number, arm in enumerate(raw):
        if not arm.name.strip():
            raise UsageError("the name is empty", where=f"{path}: arm[{number}].name")
        if arm.name in by_name:
            raise UsageError(f"there are two arms {arm.name!r}", where=f"{path}: arm[{number}].name", next_step="rename or drop one")
        by_name[arm.name] = arm
    arms = {name: _complete(path, factors, by_name, name) for name in by_name}
    _refuse_same(path, arms)
    return arms


def spec_settings(spec: str, *, where: str) -> dict[str, str]:
    """`ini.a=1;web.b=2` by key. The names are checked by the comparison, which knows the PHP and
    the app that they are for."""
    settings: dict[str, str] = {}
    for part in (piece.strip() for piece in spec.split(";")):
        if not part:
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if part.startswith("@"):
            raise UsageError("a study file is data only and names no other files", where=where, next_step="write the settings out")
        if not equals or not key:
            raise UsageError(f"{part!r} is no setting", where=where, next_step="write LAYER.NAME=value, joined by ';'")
        if key in settings:
            raise UsageError(f"{key} is set twice", where=where, next_step="keep one of the two")
        settings[key] = as_text(value, where=where)
    return settings


def _complete(path: Path, factors: Factors, by_name: Mapping[str, RawArm], name: str) -> StudyArm:
    number = list(by_name).index(name)
    levels: dict[str, str] = {}
    settings: dict[str, str] = {}
    for each in _line(path, by_name, name):
        where = f"{path}: arm[{list(by_name).index(each.name)}]"
        for factor, level in each.levels.items():
            _check_level(factors, factor, level, where=f"{where}.levels.{factor}")
        levels.update(each.levels)
        settings.update(spec_settings(each.spec, where=f"{where}.spec"))
    for factor, choices in factors.items():
        if factor not in levels:
            known = ", ".join(choices)
            raise UsageError(
                f"{name!r} has no level of {factor}", where=f"{path}: arm[{number}].levels", next_step=f"choose one of: {known}"
            )
    chosen = {factor: levels[factor] for factor in factors}
    return StudyArm(name, chosen, {**_settings_of(path, factors, chosen), **settings})


def _settings_of(path: Path, factors: Factors, levels: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for factor, level in levels.items():
        where = f"{path}: factor.{factor}.{level}"
        for key, value in spec_settings(factors[factor][level], where=where).items():
            if key in settings:
                raise UsageError(f"another factor sets {key} as well", where=where, next_step="a setting belongs to one factor")
            settings[key] = value
    return settings


def _line(path: Path, by_name: Mapping[str, RawArm], name: str) -> list[RawArm]:
    """The arm and what it is based on, the root first."""
    line = [by_name[name]]
    while (base := line[0].based_on) is not None:
        where = f"{path}: arm[{list(by_name).index(line[0].name)}].based_on"
        if base not in by_name:
            raise UsageError(f"there is no arm {base!r}", where=where, next_step=suggestion(base, by_name))
        if base in [each.name for each in line]:
            around = " -> ".join([*(each.name for each in reversed(line)), base])
            raise UsageError(f"arms are based on each other in a cycle: {around}", where=where, next_step="let one of them stand alone")
        line.insert(0, by_name[base])
    return line


def _check_level(factors: Factors, factor: str, level: str, *, where: str) -> None:
    if factor not in factors:
        raise UsageError(f"there is no factor {factor!r}", where=where, next_step=suggestion(factor, factors))
    if level not in factors[factor]:
        raise UsageError(f"{factor} has no level {level!r}", where=where, next_step=suggestion(level, factors[factor]))


def _refuse_same(path: Path, arms: Mapping[str, StudyArm]) -> None:
    seen: dict[tuple[tuple[str, str], ...], str] = {}
    for number, arm in enumerate(arms.values()):
        key = tuple(sorted(arm.settings.items()))
        if key in seen:
            raise UsageError(f"{arm.name!r} is the same as {seen[key]!r}", where=f"{path}: arm[{number}]", next_step="drop one")
        seen[key] = arm.name
