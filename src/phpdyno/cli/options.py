"""Options that several commands take, each said once."""

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
    tuple[str, ...], Parameter(negative="", show_default=False, help="with --docroot: a path to ask for; more than once if you like")
]
Through = Annotated[Literal["http", "fastcgi"], Parameter(help="http: through nginx; fastcgi: straight to php-fpm")]
Runs = Annotated[Path, Parameter(help="where runs are kept")]
AsJson = Annotated[bool, Parameter(negative="", show_default=False, help="print the result as JSON")]
FromLog = Annotated[
    Path | None,
    Parameter(show_default=False, help="ask what an access log of yours holds (combined format or JSON, .gz too): its GET requests"),
]
LogHost = Annotated[str | None, Parameter(show_default=False, help="with --from-log: the host to keep; default: the most frequent one")]
MostTargets = Annotated[
    int | None, Parameter(show_default=False, help="with --from-log: targets to keep, the most frequent ones; default: 50")
]
SaveWorkload = Annotated[Path | None, Parameter(show_default=False, help="with --from-log: write what it came to into a workload file")]
FromWorkload = Annotated[Path | None, Parameter(name="--workload", show_default=False, help="ask what a workload file holds")]

KeepConn = Annotated[
    bool,
    Parameter(negative="", show_default=False, help="with --transport fastcgi: keep connections (FCGI_KEEP_CONN); each wants a worker"),
]
