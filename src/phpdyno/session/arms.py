"""From SPECs on the command line to arms."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from phpdyno.apps.source import App
from phpdyno.errors import UsageError
from phpdyno.knobs.judge import metric_for
from phpdyno.model.arm import AA, Arm, names_apache
from phpdyno.model.build import PROGRAM, stock_of
from phpdyno.model.plan import Metric
from phpdyno.php_build.workshop import finished_builds
from phpdyno.server_files.apache import is_apache
from phpdyno.session.specs import CONTROL_OPTION, SpecReader

CONTROL = "control"
LOADED_CONTROL = "control, loaded"


class Arms(Struct, frozen=True):
    """What is compared: the control, the same under the load that throughput wants, the treatments,
    and the metric of each.

    `notes` say what of a running pool was not taken over, `mismatches` which builds stand in for
    another php-fpm than the control, or than that of the build that the control is, `several` which
    of several PHPs was taken unasked.
    """

    control: Arm
    loaded_control: Arm
    treatments: tuple[Arm, ...]
    metrics: dict[str, Metric]
    notes: tuple[str, ...] = ()
    mismatches: tuple[str, ...] = ()
    several: tuple[str, ...] = ()


def make_arms(
    control: str,
    treatments: Sequence[str],
    *,
    aa: bool = False,
    metric: Metric | None = None,
    workers: int = 1,
    loaded_workers: int = 1,
    script: bool = False,
    app: App | None = None,
) -> Arms:
    """The arms of a comparison, of a `script` or of an `app`; `metric` None: each treatment is
    judged by what its knobs change.

    A pool has `workers` where CPU is measured and `loaded_workers` where throughput is, unless a
    SPEC says how many. Raises UsageError for a SPEC that cannot be, or when there is nothing to
    compare.
    """
    reader = SpecReader(app, script=script)
    if not treatments and not aa:
        raise UsageError("nothing to compare", next_step="give --treatment SPEC (more than once if you like), or --aa")
    given = reader.read(control, CONTROL_OPTION, {})
    bases: dict[Metric, dict[str, str]] = {
        "cpu": reader.for_cpu(given, workers),
        "throughput": {"pool.pm.max_children": str(loaded_workers), **given},
    }
    if script:
        bases = {"cpu": given, "throughput": given}
    metrics: dict[str, Metric] = {AA: metric or "cpu"} if aa else {}
    made = [reader.arm(AA, bases[metrics[AA]], {})] if aa else []
    for spec in treatments:
        changed = reader.read(spec, "--treatment", given)
        if not changed:
            raise UsageError("this treatment changes nothing", where="--treatment", next_step="use --aa to compare the control with itself")
        if spec in {CONTROL, LOADED_CONTROL, *metrics}:
            raise UsageError("this treatment is named twice", where=f"--treatment {spec}")
        metrics[spec] = metric or metric_for(changed)
        made.append(reader.arm(spec, reader.on_top(bases[metrics[spec]], changed), changed))
    _refuse_other_servers(bases["cpu"], [arm for arm in made if metrics[arm.name] == "cpu"])
    controls = reader.arm(CONTROL, bases["cpu"], {}), reader.arm(LOADED_CONTROL, bases["throughput"], {})
    several = tuple(note for note in reader.notes if note == reader.several)
    notes = tuple(note for note in reader.notes if note != reader.several)
    return Arms(*controls, tuple(made), metrics, notes, _mismatches(controls[0], made), several)


def _mismatches(control: Arm, arms: Sequence[Arm]) -> tuple[str, ...]:
    if all(arm.php.fpm == control.php.fpm for arm in arms):
        return ()
    builds = {str((place / PROGRAM).resolve()): build for place, build in finished_builds()}
    own = builds.get(control.php.fpm)
    theirs = own.like if own else control.php.fpm
    found = {build.name: build for arm in arms if (build := builds.get(arm.php.fpm)) and build.like != theirs}
    return tuple(
        f"{name} is PHP {build.php_version} and stands in for {build.like}, and the control is PHP {control.php.version} of {theirs}: they "
        f"differ in more than the build; what it stands in for is --control build={stock_of(name)}"
        for name, build in found.items()
    )


def _refuse_other_servers(control: Mapping[str, str], arms: Sequence[Arm]) -> None:
    """CPU per request is that of PHP's processes: Apache's hold the web server as well, and
    php-fpm's do not."""
    for arm in arms:
        if is_apache(arm) != names_apache(control.get("web.server", "")):
            raise UsageError(
                "the CPU of Apache's processes and of php-fpm's are not of the same thing: one holds the web server, the other does not",
                where=arm.name,
                next_step="judge it by --metric throughput, or give both arms the same web.server",
            )
