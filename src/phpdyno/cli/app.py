"""Commands and their options."""

import sys

from cyclopts import App, CycloptsError

from phpdyno import __version__
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

app = App(
    name="phpdyno",
    help="A dynamometer for PHP: one command, one honest verdict per change.\n\n"
    "All that is measured runs in namespaces of its own, without the host's network and files. Where none can be made, --no-bottle with "
    "any command measures in the open. --allow-network HOST:PORT with any command, more than once if you like, lets this peer through.",
    version=__version__,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)

COMMANDS = (
    init,
    compare,
    tune,
    measure,
    size,
    explain,
    watch,
    doctor,
    check,
    build,
    ladder,
    matrix,
    connectors,
    study,
    selfcheck,
    cache,
    report,
    bundle_app,
)
for command in COMMANDS:
    app.command(command)


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
        raise UsageError(" ".join(str(error).split()), next_step="see phpdyno --help") from error
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
