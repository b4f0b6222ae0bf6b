"""Which ini files and extensions an instance's PHP reads: the operator's own, and copies only of
those that must differ or are closed.

A directory of which only the settings count (`php.settings_dir`) is copied without the lines that
load extensions.
"""

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from phpdyno.config.spec import NONE
from phpdyno.errors import UsageError
from phpdyno.knobs.proof import CARRIED
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.paths import ServiceUser
from phpdyno.server_files.php import scan_path
from phpdyno.servers.instance import PRELOAD, ArmFailed
from phpdyno.servers.programs.extensions import extension_kind, loads, with_other_extensions
from phpdyno.servers.programs.php import IniFiles

NO_INI = "/dev/null"


def write_as_read(path: Path, text: str) -> None:
    """Write what was read from the operator's files: bytes of a value that are not UTF-8 are the
    same again."""
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


class Placement(Struct, frozen=True):
    """`options` for the command line, `scan_dir` for PHP_INI_SCAN_DIR, `lines` that our own
    fragment loads extensions with.

    `originals` maps each file that was placed in the live directory to the one that it stands for.
    """

    options: tuple[str, ...]
    scan_dir: str
    lines: tuple[str, ...] = ()
    originals: dict[str, str] = field(default_factory=dict)


def ini_options(settings: Mapping[str, str]) -> tuple[tuple[str, ...], str | None]:
    """Options and PHP_INI_SCAN_DIR (None: the compiled-in one) with which a PHP reads what an arm's
    php.ini and php.scan_dir say."""
    main, scanned = settings.get("php.ini"), settings.get("php.scan_dir")
    options = ("-c", NO_INI if main == NONE else main) if main else ()
    return options, "" if scanned == NONE else scanned


def extension_lines(settings: Mapping[str, str]) -> dict[str, str]:
    """The ini line of each extension that the arm names, the one that loads it; '' for one to
    be left out. Raises UsageError for a bad file."""
    lines = {}
    for key, value in settings.items():
        if key.startswith("ext."):
            lines[key[4:].lower()] = "" if value == "off" else f"{extension_kind(Path(value), where=key)} = {value}"
    return lines


def loading(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Options with which a PHP that is asked something loads the extensions that an arm names.
    Raises UsageError as `extension_lines`."""
    return tuple(word for line in extension_lines(settings).values() if line for word in ("-d", line.replace(" = ", "=")))


def place_php(arm: Arm, files: IniFiles, directory: Path, fragment: Path, user: ServiceUser) -> Placement:
    """Decide, and write into `directory` (which the servers' account can read) what has to be
    placed; copies of files of which only the settings count into `fragment`, where they are read
    before our own. Raises ArmFailed."""
    placer = _Placer(directory, user)
    try:
        wanted = {name: placer.readable_extension(line) for name, line in extension_lines(arm.settings).items()}
    except UsageError as error:
        raise ArmFailed(arm, str(error)) from error
    options, scanned = ini_options(arm.settings)
    main = placer.changed(files.main, wanted) if files.main not in {"", NO_INI} else None
    if main is not None:
        options = ("-c", placer.write("php.ini", main, files.main))
    texts = [placer.changed(path, wanted) for path in files.scanned]
    if any(text is not None for text in texts):
        (directory / "conf.d").mkdir()
        for number, (path, text) in enumerate(zip(files.scanned, texts, strict=True)):
            name = f"conf.d/{number:03d}-{Path(path).name}"
            if text is None:
                (directory / name).symlink_to(path)
                placer.originals[str(directory / name)] = path
            else:
                placer.write(name, text, path)
        place = scan_path(fragment, str(directory / "conf.d"))
    else:
        place = str(fragment) if scanned == "" else scan_path(fragment, scanned)
    if settings := arm.settings.get("php.settings_dir"):
        carry_settings(Path(settings), fragment)
    lines = tuple(line for name, line in wanted.items() if line and name not in placer.loaded)
    return Placement(options, place, lines, placer.originals)


def carry_settings(directory: Path, into: Path) -> None:
    """Copies of a directory's ini files without the lines that load extensions, in the order in
    which PHP reads them."""
    into.mkdir(exist_ok=True)
    for number, path in enumerate(sorted(directory.glob("*.ini"))):
        try:
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            continue  # PHP, started by the same user, does not read it either
        write_as_read(into / f"{CARRIED}{number:03d}-{path.name}", with_other_extensions(text, dict.fromkeys(loads(text), "")))


def with_own_preload(ini: Mapping[str, str], arm: Arm, app: PreparedApp) -> tuple[dict[str, str], dict[str, str]]:
    """`ini` with the script to preload in the app's copy where it lies in the app's root, and what
    the copy stands for.

    A script elsewhere would bring in classes of the live site: it stays only where the arm or the
    app itself names it.
    """
    named = ini.get(PRELOAD)
    script = arm.php.preload if named is None else named
    copy = copy_of(script, app.root, app.original)
    if copy is None or (named is None and not _lies_at(copy, app).is_file()):
        return {**ini, PRELOAD: named or ""}, {}
    return {**ini, PRELOAD: str(copy)}, {str(copy): script}


def _lies_at(path: Path, app: PreparedApp) -> Path:
    """Where we find what the app's servers see at a path."""
    if not (app.place and app.root):
        return path
    if app.written is None:
        return app.place / path.relative_to(app.root)
    made = app.written / path.relative_to(app.root)
    return made if made.is_file() else path


def copy_of(script: str, root: Path | None, original: Path | None) -> Path | None:
    """Where in `root`, the copy of `original`, a script lies; None for one that is not of it."""
    if root is None or original is None or not Path(script).is_absolute():
        return None
    for path, place in ((Path(script), original), (Path(script).resolve(), original.resolve())):
        if path.is_relative_to(place):
            return root / path.relative_to(place)
    return None


def texts_in(real: Mapping[str, str]) -> frozenset[str]:
    """Names of the php.ini settings whose value comes from the running pool: a text, also where it
    looks like a keyword."""
    return frozenset(key.partition(".")[2] for key in real)


class _Placer:
    """Copies into an instance's directory. `loaded` are the extensions whose own line in an ini
    file was changed."""

    def __init__(self, directory: Path, user: ServiceUser) -> None:
        self.directory = directory
        self.user = user
        self.originals: dict[str, str] = {}
        self.loaded: set[str] = set()

    def readable_extension(self, line: str) -> str:
        """The line, loading a copy where the servers' account may not read the file."""
        kind, _, path = line.partition(" = ")
        if not line or may_read(Path(path), self.user):
            return line
        copy = self.directory / Path(path).name
        shutil.copyfile(path, copy)
        self.originals[str(copy)] = path
        return f"{kind} = {copy}"

    def changed(self, path: str, wanted: Mapping[str, str]) -> str | None:
        """The text that has to stand for an ini file; None where PHP can read the file as it is."""
        try:
            text = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None  # PHP, which listed it, will say what is wrong with it
        named = [name for name in loads(text) if name in wanted]
        self.loaded.update(named)
        if not named and may_read(Path(path), self.user):
            return None
        return with_other_extensions(text, {name: wanted[name] for name in named})

    def write(self, name: str, text: str, original: str) -> str:
        """A copy with this text; its path."""
        copy = self.directory / name
        write_as_read(copy, text)
        self.originals[str(copy)] = original
        return str(copy)


def may_read(path: Path, user: ServiceUser) -> bool:
    """Whether the servers' account may read a file, by the mode bits of it and of the directories
    above."""
    if not user.switch:
        return os.access(path, os.R_OK)
    real = path.resolve()
    return all(_allows(place, user, stat.S_IXOTH) for place in real.parents) and _allows(real, user, stat.S_IROTH)


def _allows(place: Path, user: ServiceUser, bit: int) -> bool:
    try:
        status = place.stat()
    except OSError:
        return False
    shift = 6 if status.st_uid == user.uid else 3 if status.st_gid == user.gid else 0
    return bool(status.st_mode & (bit << shift))
