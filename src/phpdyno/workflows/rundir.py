"""The directory of a run: runs/<time>-<command>-<app>/."""

import errno
import re
import time
from pathlib import Path

from phpdyno.errors import DynoError


def make_run_dir(parent: Path, command: str, app: str) -> Path:
    """Make a new one. Raises DynoError where that cannot be."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", app).strip("-") or "app"
    base = f"{time.strftime('%Y%m%d-%H%M%S')}-{command}-{slug}"
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        run = parent / (base + suffix)
        try:
            run.mkdir(parents=True)
            (run / "logs").mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            what = "the disk is full" if error.errno in {errno.ENOSPC, errno.EDQUOT} else f"cannot make the run directory: {error.strerror}"
            raise DynoError(what, where=str(run), next_step="name another place with --runs DIR") from error
        return run
    raise DynoError("too many runs in this second", where=str(parent))
