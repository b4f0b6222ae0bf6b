"""From what the user names to an app."""

from collections.abc import Callable, Sequence
from pathlib import Path

from phpdyno.apps.built_in.mediawiki import MediaWiki
from phpdyno.apps.built_in.symfony_hello import SymfonyHello
from phpdyno.apps.built_in.wordpress import WordPress
from phpdyno.apps.folder import FolderApp, plain_docroot, with_found_root
from phpdyno.apps.peers import with_peers
from phpdyno.apps.source import App
from phpdyno.config.app_toml import FILE_NAME, load_app_toml
from phpdyno.config.nearest import nearest
from phpdyno.config.values import absolute
from phpdyno.errors import UsageError
from phpdyno.host.sockets.network import allowed
from phpdyno.package import APP_FILES

HOW = "name a built-in app ({names}), an app.toml or its directory, or give --docroot DIR --url /, or --script FILE.php"


def _hello() -> App:
    return FolderApp(load_app_toml(APP_FILES / "hello" / FILE_NAME))


BUILT_IN: dict[str, Callable[[], App]] = {"hello": _hello, "mediawiki": MediaWiki, "symfony-hello": SymfonyHello, "wordpress": WordPress}


def open_app(reference: str | None = None, *, docroot: Path | None = None, urls: Sequence[str] = ()) -> App:
    """The app that `reference` names (built in, an app.toml, a directory that holds one), or the
    one in `docroot`.

    It may reach the peers that this process lets through. Only descriptions are read here. Raises
    UsageError: nothing or two things named, an unknown name (with the nearest), a missing file or
    directory, a bad app.toml or URL.
    """
    return with_peers(_opened(reference, docroot, urls), allowed())


def _opened(reference: str | None, docroot: Path | None, urls: Sequence[str]) -> App:
    if docroot is not None:
        if reference is not None:
            raise UsageError("both an app and --docroot are given", where=reference, next_step="give one of the two")
        return plain_docroot(docroot, urls)
    if urls:
        raise UsageError("--url belongs to --docroot; an app names its own targets", where=urls[0], next_step="add it to the app.toml")
    if reference is None:
        raise UsageError("no app is named", next_step=_how())
    if reference in BUILT_IN:
        return BUILT_IN[reference]()
    return _from_path(reference)


def _from_path(reference: str) -> App:
    path = absolute(Path(), reference, where=reference)
    if path.is_dir():
        if not (path / FILE_NAME).is_file():
            raise UsageError(f"the directory holds no {FILE_NAME}", where=reference, next_step=f"write one, or use --docroot {reference}")
        return _described(path / FILE_NAME)
    if path.is_file() or path.suffix == ".toml":
        return _described(path)
    if "/" in reference:
        raise UsageError("there is no such file or directory", where=reference, next_step=_how())
    near = nearest(reference, BUILT_IN)
    raise UsageError("there is no such app", where=reference, next_step=(f"did you mean {near}? Else " if near else "") + _how())


def _described(file: Path) -> App:
    return FolderApp(with_found_root(load_app_toml(file), where=f"{file}: docroot"))


def _how() -> str:
    return HOW.format(names=", ".join(sorted(BUILT_IN)))
