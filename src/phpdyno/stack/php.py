"""What a php-fpm says of itself, asked once before planning."""

import glob
import re
import shutil
import struct
import subprocess
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.model.arm import PhpBuild
from phpdyno.stack.programs import find_program, program_path

_INI_LINE = re.compile(r"^([a-z_][a-z0-9_.]*) => .* => ", re.IGNORECASE | re.MULTILINE)
_NT_GNU_BUILD_ID = 3


def default_fpm() -> str:
    """The distribution's newest php-fpm. Raises DynoError with the line that installs one."""
    found = sorted(
        (path for place in program_path().split(":") if place for path in glob.glob(f"{place}/php-fpm[0-9]*")),  # noqa: PTH207
        key=lambda path: [int(part) for part in re.findall(r"\d+", Path(path).name)],
    )
    if found:
        return found[-1]
    return shutil.which("php-fpm", path=program_path()) or find_program("php-fpm8.2")


def inspect_php(fpm: str, extension_dir: str | None = None) -> PhpBuild:
    """Version, build id and the php.ini names that this php-fpm knows. Raises DynoError when it is not one or does not run."""
    if not Path(fpm).is_file():
        raise DynoError("there is no such php-fpm", where=fpm, next_step="give the path of a php-fpm binary with php=PATH")
    argv = [fpm, "-i"] if extension_dir is None else [fpm, "-d", f"extension_dir={extension_dir}", "-i"]
    try:
        answer = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False, errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DynoError(f"this php-fpm does not run: {error}", where=fpm) from error
    version = re.search(r"^PHP Version => (\S+)", answer.stdout, re.MULTILINE)
    if answer.returncode != 0 or version is None or "FPM" not in answer.stdout:
        lines = (answer.stderr or answer.stdout).strip().splitlines() or ["no output"]
        raise DynoError(f"this is not a working php-fpm: {lines[-1]}", where=fpm)
    names = sorted({*_INI_LINE.findall(answer.stdout), "zend_extension", "extension"})
    return PhpBuild(
        fpm=str(Path(fpm).resolve()),
        version=version[1],
        extension_dir=extension_dir,
        build_id=read_build_id(Path(fpm)),
        ini_names=tuple(names),
    )


def read_build_id(binary: Path) -> str:
    """The GNU build id of an ELF file in hexadecimal; '' where it has none."""
    data = binary.read_bytes()[: 1 << 16]
    at = data.find(b"GNU\0")
    while at >= 12:
        name_size, size, kind = struct.unpack_from("<III", data, at - 12)
        if name_size == 4 and kind == _NT_GNU_BUILD_ID:
            return data[at + 4 : at + 4 + size].hex()
        at = data.find(b"GNU\0", at + 1)
    return ""
