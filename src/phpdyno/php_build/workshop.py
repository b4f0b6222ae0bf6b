"""The cache of builds: sources, trees, profiles, finished builds, each in a directory named by a
digest of all that it depends on.

What is finished has a record in it and never changes; what is not is gone on with after an
interruption. One process works in it at a time.
"""

import contextlib
import errno
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from phpdyno.config.nearest import suggestion
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.files.file_lock import file_lock
from phpdyno.journal.replacing import replace_record
from phpdyno.model.build import BUILD_FILE, BUILD_SCHEMA, Build
from phpdyno.model.decoding import NOT_JSON
from phpdyno.paths import cache_path

LOCK = "lock"
DONE = "done.json"


def digest_of(key: Mapping[str, object]) -> str:
    """16 hexadecimal digits of everything in a key."""
    return hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()[:16]


class Workshop:
    """The directory `builds` of the cache."""

    def __init__(self, cache: Path, note: Callable[[str], None]) -> None:
        self.home = cache / "builds"
        self._note = note

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the cache's lock; wait in short steps, so that Ctrl-C works, while another process
        has it. Raises DynoError."""
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            self.home.chmod(0o755)
        except OSError as error:
            raise DynoError(f"cannot write the cache: {error.strerror}", where=str(self.home), next_step="set PHPDYNO_CACHE") from error
        with file_lock(self.home / LOCK, lambda: self._note("another phpdyno builds in this cache; waiting for it")):
            yield

    def made(self, kind: str, key: Mapping[str, object], make: Callable[[Path], None]) -> Path:
        """The finished directory for a key; `make` fills or completes it where it is not finished.
        Raises what `make` raises, DynoError."""
        place = self._place(kind, key)
        if self.has(kind, key):
            return place
        try:
            place.mkdir(parents=True, exist_ok=True)
            with _without_empty(place):
                make(place)
            (place / DONE).write_text(json.dumps(key, sort_keys=True, indent=1, default=str) + "\n")
        except OSError as error:
            raise _fault(error, place) from error
        return place

    def has(self, kind: str, key: Mapping[str, object]) -> bool:
        """Whether what belongs to a key is finished."""
        return (self._place(kind, key) / DONE).is_file()

    def _place(self, kind: str, key: Mapping[str, object]) -> Path:
        return self.home / kind / digest_of(key)

    # ---- finished builds ----------------------------------------------------------------------

    def builds(self) -> tuple[tuple[Path, Build], ...]:
        """All finished builds with their directories, the newest last."""
        found = []
        for path in (self.home / "finished").glob(f"*/{BUILD_FILE}"):
            with contextlib.suppress(DynoError):
                found.append((path.parent, read_build(path.parent)))
        return tuple(sorted(found, key=lambda each: _when(each[1])))


def empty(place: Path) -> None:
    """A directory of its own for what is made anew, whatever an interrupted session left there."""
    shutil.rmtree(place)
    place.mkdir(mode=0o755)


@contextlib.contextmanager
def _without_empty(place: Path) -> Iterator[None]:
    """What ends before anything lies in `place` leaves no directory."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            place.rmdir()
        raise


def _fault(error: OSError, place: Path) -> DynoError:
    """What went wrong in a step: with the cache, or with a file that it read."""
    if error.errno == errno.ENOENT:
        return DynoError(
            f"a step of a build misses a file: {error.filename}", where=str(place), next_step="remove this directory, try again"
        )
    return DynoError(f"cannot write the cache: {why(error)}", where=str(place), next_step="check the disk's room")


def why(error: OSError) -> str:
    """One reason: a copied tree tells of every file that it could not write."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        *_, reason = error.args[0][0]
        return str(reason)
    return error.strerror or str(error)


def finished_builds() -> tuple[tuple[Path, Build], ...]:
    """Those of the user's cache, as `Workshop.builds` gives them; nothing is made, not even the
    cache."""
    return Workshop(cache_path(), lambda _: None).builds()


def named_build(name: str) -> tuple[Path, Build]:
    """A finished build by its name, or by its recipe for the newest of that, one that is without a
    step only where no other is there.

    Raises UsageError.
    """
    made = finished_builds()
    found = [each for each in made if name in {each[1].name, each[1].recipe.name}]
    if not found:
        hint = suggestion(name, [build.name for _, build in made]) or _how_to_have(name)
        raise UsageError(f"there is no build {name!r}", where="build", next_step=hint)
    return max(found, key=lambda each: (not each[1].skipped, _when(each[1])))


def _when(build: Build) -> tuple[datetime, str]:
    """A key to sort by: the newest last, and always in one order."""
    return build.made_at, build.made


def _how_to_have(name: str) -> str:
    """What to type where nothing of this name is there: it may be a recipe."""
    with contextlib.suppress(UsageError):
        return f"make it with: phpdyno build --train APP --recipe {parse_recipe(name).name}"
    return "see which there are with: phpdyno build --list"


def read_build(place: Path) -> Build:
    """A finished build. Raises DynoError: none there, damaged, newer than this version."""
    path = place / BUILD_FILE
    try:
        build = msgspec.json.decode(path.read_bytes(), type=Build)
    except FileNotFoundError:
        raise DynoError("there is no build here", where=str(place), next_step="see which there are with: phpdyno build --list") from None
    except NOT_JSON as error:
        raise DynoError(f"this build's record cannot be read: {error}", where=str(path)) from error
    if build.schema > BUILD_SCHEMA:
        raise DynoError("this build was made by a newer phpdyno", where=str(path), next_step="update phpdyno")
    return build


def write_build(place: Path, build: Build) -> None:
    """Write the record; it appears whole or not at all. Raises DynoError when the disk takes no
    more."""
    replace_record(place / BUILD_FILE, build)
