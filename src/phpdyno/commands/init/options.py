"""The command `phpdyno init` and its options."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import RequestOptions


def init(
    folder: Annotated[Path, Parameter(name="DIR", help="the project's directory, or its document root")] = Path(),
    /,
    *,
    from_log: Annotated[Path | None, Parameter(show_default=False, help="targets from an access log of yours")] = None,
    log_host: Annotated[str | None, Parameter(show_default=False, help="with --from-log: the host to keep")] = None,
    log_format: Annotated[
        str | None, Parameter(show_default=False, help="with --from-log: nginx's log_format, Apache's LogFormat, or @FILE:NAME")
    ] = None,
    most_targets: Annotated[int | None, Parameter(show_default=False, help="with --from-log: targets to keep; default: 20")] = None,
    output: Annotated[Path | None, Parameter(show_default=False, help="the file to write; default: app.toml in the project's root")] = None,
    force: Annotated[bool, Parameter(negative="", show_default=False, help="write over a file that is there")] = False,
    print_only: Annotated[bool, Parameter(name="--print", negative="", show_default=False, help="print it, and write nothing")] = False,
    no_check: Annotated[bool, Parameter(negative="", show_default=False, help="do not check the app afterwards")] = False,
) -> int:
    """Write an app.toml for a PHP app (WordPress, Laravel, Symfony, Drupal, Magento, Yii, CodeIgniter, plain), and check it."""
    from phpdyno.commands.init import command  # noqa: PLC0415 (what reads a log: not for --help)

    log = RequestOptions(from_log=from_log, log_host=log_host, log_format=log_format, most_targets=most_targets)
    return command.run(folder, log=log, output=output, force=force, print_only=print_only, check=not no_check)
