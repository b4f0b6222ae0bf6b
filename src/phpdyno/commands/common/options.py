"""Options that several commands take, each said once."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

AppName = Annotated[
    str, Parameter(name="APP", show_default=False, help="hello, symfony-hello, wordpress, mediawiki, or the path of an app.toml")
]
Control = Annotated[
    str, Parameter(show_default=False, help="a SPEC on top of the distribution's settings; live[:POOL]: of your own php-fpm's")
]
Docroot = Annotated[Path | None, Parameter(help="an app of your own: its document root (measured on a copy)")]
Urls = Annotated[
    tuple[str, ...],
    Parameter(name="--url", negative="", show_default=False, help="with --docroot: a path to ask for; more than once if you like"),
]
Through = Annotated[Literal["http", "fastcgi"], Parameter(help="http: through nginx; fastcgi: straight to php-fpm")]
Runs = Annotated[Path, Parameter(help="where runs are kept")]
AsJson = Annotated[bool, Parameter(negative="", show_default=False, help="print the result as JSON")]
Verbose = Annotated[
    bool, Parameter(name=("--verbose", "-v"), negative="", show_default=False, help="tell all that was found, not the answer alone")
]
KeepConn = Annotated[
    bool,
    Parameter(negative="", show_default=False, help="with --transport fastcgi: keep connections (FCGI_KEEP_CONN); each wants a worker"),
]
RUNS, RECIPE, TRAINING = Path("runs"), "pgo", "15s"
"""What is taken where nothing is said."""


@Parameter(name="*")
@dataclass(frozen=True)
class RequestOptions:
    """Where the requests come from when they are not the app's own, as typed."""

    from_log: Annotated[
        Path | None,
        Parameter(show_default=False, help="replay GET requests from an access log (text or JSON, optionally .gz)"),
    ] = None
    log_host: Annotated[
        str | None, Parameter(show_default=False, help="with --from-log: the site to keep; default: the most frequent one")
    ] = None
    log_format: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="with --from-log: nginx's log_format, Apache's LogFormat, or @FILE:NAME out of their configuration; default: recognised",
        ),
    ] = None
    most_targets: Annotated[
        int | None, Parameter(show_default=False, help="with --from-log: targets to keep, the most frequent ones; default: 50")
    ] = None
    save_workload: Annotated[
        Path | None, Parameter(show_default=False, help="with --from-log: write what it came to into a workload file")
    ] = None
    workload: Annotated[Path | None, Parameter(show_default=False, help="ask what a workload file holds")] = None
    host: Annotated[
        str | None, Parameter(show_default=False, help="ask for this host; https://NAME: PHP is told that it is asked over https")
    ] = None
    accept_encoding: Annotated[
        str | None,
        Parameter(show_default=False, help="what requests say of compression; default: as a browser, 'gzip, deflate, br'; none: nothing"),
    ] = None

    nginx: Annotated[
        str | None,
        Parameter(show_default=False, help="a file with the server block to serve by; live[:POOL]: of your own nginx, before that pool"),
    ] = None

    @property
    def given(self) -> str:
        """The first option that was given of those that say what is asked, as it is typed; ''
        without any."""
        return self._first(HOW, among=False)

    @property
    def way(self) -> str:
        """The first option that was given of those that say how is asked, as it is typed; '' without
        any."""
        return self._first(HOW, among=True)

    def _first(self, names: frozenset[str], *, among: bool) -> str:
        given = (name for name, value in asdict(self).items() if value is not None and (name in names) == among)
        return next((f"--{name.replace('_', '-')}" for name in given), "")


NO_REQUESTS = RequestOptions()
HOW = frozenset({"host", "accept_encoding", "nginx"})
"""Those that say how is asked, not what."""


@Parameter(name="*")
@dataclass(frozen=True)
class BuildSourceOptions:
    """What a PHP is built of, as typed."""

    like: Annotated[str, Parameter(show_default=False, help="php-fpm that builds stand in for; default: the newest installed")] = ""
    source: Annotated[
        Path | None,
        Parameter(show_default=False, help="build of this source of PHP: a tarball, a directory or a git checkout; default: the package's"),
    ] = None
    checksum: Annotated[str, Parameter(show_default=False, help="with --source of a tarball: its SHA-256")] = ""
    standalone: Annotated[
        bool, Parameter(negative="", show_default=False, help="compile the control's extensions in: for a source of any version of PHP")
    ] = False
    extension: Annotated[
        tuple[str, ...],
        Parameter(negative="", show_default=False, help="with --standalone: an extension to compile in, or none; default: the control's"),
    ] = ()
    with_extension: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="with --standalone: NAME=PATH, an extension by its source (a directory or a tarball, as PECL has them), compiled with it",
        ),
    ] = ()
    zts: Annotated[bool, Parameter(negative="", show_default=False, help="with --standalone: for threads")] = False


INSTALLED = BuildSourceOptions()

Training = Annotated[str, Parameter(help="how long traffic trains a build")]
