"""Commands and their options."""

import sys
from collections.abc import Callable

from cyclopts import App, CycloptsError, Group

from phpdyno import __version__
from phpdyno.cli.examples import EPILOGUES
from phpdyno.cli.misused import usage_error
from phpdyno.cli.own_commands import completion, manual
from phpdyno.commands.build.options import build
from phpdyno.commands.bundle.options import bundle_app
from phpdyno.commands.cache.options import cache
from phpdyno.commands.check.options import check
from phpdyno.commands.compare.options import compare
from phpdyno.commands.connectors.options import connectors
from phpdyno.commands.doctor.options import doctor
from phpdyno.commands.explain.options import explain
from phpdyno.commands.init.options import init
from phpdyno.commands.ladder.options import ladder
from phpdyno.commands.matrix.options import matrix
from phpdyno.commands.measure.options import measure
from phpdyno.commands.report.options import report
from phpdyno.commands.selfcheck.options import selfcheck
from phpdyno.commands.size.options import size
from phpdyno.commands.study.options import study
from phpdyno.commands.tune.options import tune
from phpdyno.commands.watch.options import watch
from phpdyno.config.peers import ALLOW_NETWORK, distinct, parse_peer
from phpdyno.config.values import is_utf8
from phpdyno.errors import UsageError
from phpdyno.host.sockets.network import NO_BOTTLE, allow, decline

START = Group("Start here", sort_key=1)
LOOK = Group("Look closer", sort_key=2)
BUILD = Group("A PHP of your own", sort_key=3)
PROVE = Group("Is it right?", sort_key=4)
KEEP = Group("Around it", sort_key=5)

app = App(
    name="phpdyno",
    help="Makes PHP applications provably faster: it runs your app on the real servers, tries each change beside the present state, and "
    "says what it saves, how sure that is, and how to apply or undo it.\n\n"
    "Everything runs on a copy, in namespaces of its own, without the host's network and files. With any command: --no-bottle measures "
    "in the open where no namespaces can be made; --allow-network HOST:PORT lets the app reach this peer.",
    help_epilogue=EPILOGUES[""],
    version=__version__,
    version_flags=("--version", "-V"),
    group_commands=KEEP,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)

COMMANDS: tuple[tuple[Group, tuple[Callable[..., int], ...]], ...] = (
    (START, (init, tune, compare, check, doctor, report)),
    (LOOK, (measure, size, watch, explain)),
    (BUILD, (build, ladder, matrix)),
    (PROVE, (study, selfcheck, connectors)),
    (KEEP, (cache, completion, manual)),
)
"""By the group that `--help` shows them in, the most used ones first; `bundle`, an app of its own,
stands with the first ones."""


def _register() -> None:
    place = 0
    for group, commands in COMMANDS:
        for command in commands:
            place += 1
            app.command(command, group=group, sort_key=place, help_epilogue=EPILOGUES[command.__name__])
    bundle_app.group, bundle_app.help_epilogue = (START,), EPILOGUES["bundle"]
    app.command(bundle_app)


_register()


def run(argv: list[str]) -> int:
    """Parse and carry out. Raises UsageError for a command line that cannot be parsed, or that no
    journal could hold."""
    for argument in argv:
        if not is_utf8(argument):
            raise UsageError("an argument is not UTF-8 text", where=argument, next_step="a path can be named through a link")
    if NO_BOTTLE in argv:
        decline()
        argv = [argument for argument in argv if argument != NO_BOTTLE]
    argv = _with_peers_allowed(argv)
    try:
        result = app(argv, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise usage_error(error) from error
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _with_peers_allowed(argv: list[str]) -> list[str]:
    """The arguments without the peers that they let through. Raises UsageError."""
    rest, peers, given = [], [], iter(argv)
    for argument in given:
        name, equals, value = argument.partition("=")
        if name != ALLOW_NETWORK:
            rest.append(argument)
            continue
        value = value if equals else next(given, "")
        where = f"{ALLOW_NETWORK} {value}".rstrip()
        if not value or value.startswith("--"):
            raise UsageError("no peer is named", where=where, next_step=f"write {ALLOW_NETWORK} HOST:PORT")
        peers.append(parse_peer(value, where=where))
    if peers:
        allow(distinct(peers, where=ALLOW_NETWORK))
    return rest
