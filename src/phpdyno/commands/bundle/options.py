"""The commands of `phpdyno bundle` and their options."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

bundle_app = App(
    name="bundle", help="Apply what `phpdyno tune` proved, verify it on the running workers, roll it back.", result_action="return_value"
)
BundleDir = Annotated[Path, Parameter(name="DIR", help="the directory of a bundle, runs/…/bundle")]
AppliedDir = Annotated[
    Path | None, Parameter(name="DIR", show_default=False, help="where the bundle is, or was, that is meant; default: whatever is applied")
]
TreeRoot = Annotated[Path, Parameter(help="root of the file system: / is this machine, another one an image")]
Reload = Annotated[
    tuple[str, ...],
    Parameter(negative="", show_default=False, help="a service to reload or restart at the end; without it you are told what to type"),
]


@bundle_app.command(name="apply")
def apply_bundle(
    directory: BundleDir,
    /,
    *,
    root: TreeRoot = Path("/"),
    reload: Reload = (),
    unchecked: Annotated[
        bool, Parameter(negative="", show_default=False, help="in an image without php-fpm: place the files without a test")
    ] = False,
) -> int:
    """Place a bundle's files, tested, or change nothing. Starts, reloads and restarts nothing that is not named."""
    from phpdyno.commands.bundle import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run_apply(directory, root, reload=reload, unchecked=unchecked)


@bundle_app.command(name="verify")
def verify_bundle(
    directory: BundleDir,
    /,
    *,
    root: TreeRoot = Path("/"),
    pool: Annotated[
        str, Parameter(show_default=False, help="the pool, where its name alone does not say which: PROGRAM/POOL or PID/POOL")
    ] = "",
) -> int:
    """Prove on the running workers that every setting of an applied bundle is at work. Changes nothing."""
    from phpdyno.commands.bundle import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run_verify(directory, root, pool=pool)


@bundle_app.command(name="rollback")
def rollback_bundle(
    directory: AppliedDir = None,
    /,
    *,
    root: TreeRoot = Path("/"),
    reload: Reload = (),
    discard_edits: Annotated[
        bool, Parameter(negative="", show_default=False, help="also where placed files were edited since: the edits are lost")
    ] = False,
) -> int:
    """Put everything back as it was before the apply: content, owner, mode, absence. The record in the tree says what that is."""
    from phpdyno.commands.bundle import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run_rollback(directory, root, reload=reload, discard=discard_edits)
