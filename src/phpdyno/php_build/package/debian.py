"""A build as a Debian package that lies beside the distribution's PHP."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.model.build import Build
from phpdyno.php_build.compile.dropin import EXTENSIONS
from phpdyno.php_build.package.naming import HOME, package_name, version_of
from phpdyno.php_build.package.texts import Contents, package_texts
from phpdyno.php_build.workshop import DONE, why
from phpdyno.servers.programs.extensions import extension_kind
from phpdyno.servers.supervision.supervisor import Supervisor

MOST_S = 600.0
_DEPENDS = re.compile(r"^shlibs:Depends=(.*)$", re.MULTILINE)


def make_package(place: Path, build: Build, into: Path, supervisor: Supervisor, *, architecture: str) -> Path:
    """Write `NAME_VERSION_ARCH.deb` of the finished build in a directory; it appears whole or not
    at all. Raises DynoError."""
    name = package_name(build)
    own = sorted(path for path in (place / EXTENSIONS).glob("*.so") if not path.is_symlink())
    root = supervisor.live / "package"
    shutil.rmtree(root, ignore_errors=True)
    contents = Contents(
        architecture=architecture,
        libraries=_libraries([*sorted(place.glob("php*")), *own], supervisor),
        loads={path.name: extension_kind(path, where=build.name) for path in own} if build.alone else {},
    )
    texts = package_texts(build, contents)
    made = into / f"{name}_{version_of(build)}_{architecture}.deb"
    partial = into / f".{made.name}.new"
    try:
        shutil.copytree(place, root / HOME / name, symlinks=True, ignore=shutil.ignore_patterns(DONE))
        for path, text in texts.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755 if path.startswith("DEBIAN/p") or path.endswith("/start") else 0o644)
        _run("build-package", ["dpkg-deb", "--root-owner-group", "--build", str(root), str(partial)], supervisor)
        partial.replace(made)
    except OSError as error:
        raise DynoError(
            f"the package cannot be made: {why(error)}",
            where=str(made),
            next_step=f"it is put together in {root}: look at the room of both",
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return made


def _libraries(binaries: Sequence[Path], supervisor: Supervisor) -> str:
    """The packages that these files are linked with, as a control file names them: `libc6 (>=
    2.36), libpcre2-8-0 (>= 10.32)`."""
    source = supervisor.live / "shlibdeps"
    (source / "debian").mkdir(parents=True, exist_ok=True)
    # It reads the file, whose words do not matter here.
    (source / "debian" / "control").write_text("Source: build\n\nPackage: build\nArchitecture: any\n")
    argv = ["dpkg-shlibdeps", "-O", "--ignore-missing-info", *(f"-e{path}" for path in binaries)]
    found = _DEPENDS.search(_run("build-libraries", argv, supervisor, cwd=source))
    return found[1] if found else ""


def _run(what: str, argv: list[str], supervisor: Supervisor, *, cwd: Path | None = None) -> str:
    child = supervisor.run(what, argv, as_service=False, timeout_s=MOST_S, cwd=cwd)
    if child.status != 0:
        raise DynoError(f"the package cannot be made: {child.tail(2)}", where=argv[0], next_step=f"see {child.log}")
    return child.said()
