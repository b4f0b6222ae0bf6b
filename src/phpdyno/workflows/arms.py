"""From SPECs on the command line to arms."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from phpdyno.config.spec import KnownNames, parse_spec
from phpdyno.errors import UsageError
from phpdyno.knobs.catalogue import POOL_NAMES, WEB_NAMES
from phpdyno.knobs.judge import check_values
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.stack.php import default_fpm, inspect_php

CONTROL = "control"
AA = "A/A"


def make_arms(control: str, treatments: Sequence[str], *, aa: bool, concurrency: int) -> tuple[Arm, tuple[Arm, ...]]:
    """The control and the treatments. Raises UsageError for a SPEC that cannot be, or when there is nothing to compare."""
    builds: dict[tuple[str, str | None], PhpBuild] = {}
    if not treatments and not aa:
        raise UsageError("nothing to compare", next_step="give --treatment SPEC (more than once if you like), or --aa")
    base = _settings(control, "--control", {}, builds)
    base.setdefault("pool.pm.max_children", str(concurrency))
    control_arm = _arm(CONTROL, base, {}, builds)
    made = [Arm(AA, control_arm.php, dict(base), {})] if aa else []
    names = {CONTROL, *(arm.name for arm in made)}
    for spec in treatments:
        changed = _settings(spec, "--treatment", base, builds)
        if not changed:
            raise UsageError("this treatment changes nothing", where="--treatment", next_step="use --aa to compare the control with itself")
        if spec in names:
            raise UsageError("this treatment is named twice", where=f"--treatment {spec}")
        names.add(spec)
        made.append(_arm(spec, {**base, **changed}, changed, builds))
    return control_arm, tuple(made)


def _settings(spec: str, option: str, base: Mapping[str, str], builds: dict[tuple[str, str | None], PhpBuild]) -> dict[str, str]:
    """Checked settings of a SPEC; which PHP it names decides which php.ini settings there are."""

    def known(php: Mapping[str, str]) -> KnownNames:
        return KnownNames(ini=frozenset(_build({**base, **php}, builds).ini_names), pool=POOL_NAMES, web=WEB_NAMES)

    settings = parse_spec(spec, known=known, base_dir=Path.cwd())
    check_values(settings, where=f"{option} {spec}")
    if "php" in settings:
        settings["php"] = _build({**base, **settings}, builds).fpm
    return settings


def _build(settings: Mapping[str, str], builds: dict[tuple[str, str | None], PhpBuild]) -> PhpBuild:
    key = (settings.get("php") or default_fpm(), settings.get("php.extension_dir"))
    if key not in builds:
        builds[key] = inspect_php(*key)
    return builds[key]


def _arm(name: str, settings: dict[str, str], changed: dict[str, str], builds: dict[tuple[str, str | None], PhpBuild]) -> Arm:
    return Arm(name, _build(settings, builds), settings, changed)
