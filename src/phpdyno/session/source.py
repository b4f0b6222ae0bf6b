"""The app that a run measures: opened by name, its commits prepared, and refused where it is no
longer the one of the plan."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.apps.asked import asked_as
from phpdyno.apps.files.revisions import prepare_commit
from phpdyno.apps.registry import open_app
from phpdyno.apps.script import ScriptApp
from phpdyno.apps.source import App
from phpdyno.errors import DynoError
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.plan import AppSource, Plan
from phpdyno.model.runs.sweep import SweepPlan
from phpdyno.model.workload import Workload
from phpdyno.paths import cache_dir
from phpdyno.servers.programs.extensions import extension_digests
from phpdyno.servers.programs.php import inspect_php
from phpdyno.servers.supervision.supervisor import Supervisor


def prepare_commits(
    definition: App, app: PreparedApp, arms: Sequence[Arm], supervisor: Supervisor, progress: Callable[[str], None]
) -> dict[str, PreparedApp]:
    """The app of each arm that serves a commit, by the arm's name; one copy for each commit. Raises
    DynoError."""
    made: dict[str, PreparedApp] = {}
    for arm in arms:
        commit = arm.settings.get("source")
        if commit and commit not in made:
            made[commit] = prepare_commit(definition, commit, supervisor, cache=cache_dir(), progress=progress, shared=app)
    return {arm.name: made[arm.settings["source"]] for arm in arms if "source" in arm.settings}


def open_source(source: AppSource, control: Arm | None = None) -> App:
    """The app that was named; the script of a `control`'s PHP where a script was. Raises
    UsageError."""
    if source.script and control is not None:
        return ScriptApp(Path(source.script), control)
    app = open_app(source.reference or None, docroot=Path(source.docroot) if source.docroot else None, urls=source.urls)
    return asked_as(app, host=source.host, accept_encoding=source.accept_encoding, nginx=source.nginx)


def workload_for(own: Workload | None, apps: Workload) -> Workload:
    """The workload of a plan: one of the user's `own`, or the app's (`apps`).

    An app that names a host of its own is asked by that name, since it may send other visitors
    there. The scheme, and what requests say of compression, are the app's.
    """
    if own is None:
        return apps
    host = own.host if apps.host == Workload(()).host else apps.host
    return structs.replace(own, host=host, scheme=apps.scheme, forwarded=apps.forwarded, accept_encoding=apps.accept_encoding)


def refuse_changed(plan: Plan | SweepPlan, app: PreparedApp, arms: Sequence[Arm]) -> None:
    """What was measured on other versions of the app, or of the arms' PHP, may not be mixed with
    the rest. Raises DynoError."""
    # A run of before there was a choice goes on without an Accept-Encoding, as it began.
    now_asked = structs.replace(app.workload, accept_encoding=plan.workload.accept_encoding)
    if app.version != plan.app_version or (not plan.source.requests and now_asked != plan.workload):
        raise DynoError(
            f"the app is not the one that this run began with (now {app.version or 'changed'}, then {plan.app_version or 'different'})",
            where=plan.app,
            next_step="start a new run",
        )
    for arm in arms:
        now = inspect_php(arm.php.fpm, arm.php.extension_dir, cli=plan.transport == "script")
        changed = [path for path, digest in extension_digests(arm.settings).items() if arm.php.extensions.get(path) != digest]
        if changed:
            raise DynoError("this extension is not the one that the run began with", where=changed[0], next_step="start a new run")
        if (now.version, now.build_id) != (arm.php.version, arm.php.build_id):
            raise DynoError(
                f"PHP is now {now.version}, the run began with {arm.php.version}", where=arm.php.fpm, next_step="start a new run"
            )
