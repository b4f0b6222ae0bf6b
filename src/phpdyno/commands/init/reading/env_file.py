"""Variables of `.env` files, as the frameworks read them: a later file wins, and nothing of this
process's environment goes into them."""

import io
import logging
import re
from collections.abc import Mapping
from pathlib import Path

from dotenv.main import DotEnv

from phpdyno.apps.project.php_values import returned_by, text_of

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)")
SYMFONY_DUMPED = ".env.local.php"


def variables_of(folder: Path, *names: str) -> dict[str, str]:
    """Variables of these files of a directory, `${OTHER}` in a value filled in from them."""
    found: dict[str, str] = {}
    logging.getLogger("dotenv.main").setLevel(logging.ERROR)  # its warnings quote lines, which may hold secrets
    for name in names:
        text = text_of(folder / name)
        held = DotEnv(None, stream=io.StringIO(text), interpolate=False).dict() if text else {}
        found |= {key: value for key, value in held.items() if value is not None}
    return {name: _filled(value, found) for name, value in found.items()}


def symfony_variables(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Variables of a Symfony project in the order of its own Dotenv, and the file that each is
    from; only what was dumped for production where that is there."""
    dumped = returned_by(folder / SYMFONY_DUMPED)
    if dumped:
        told = {name: value for name, value in dumped.items() if isinstance(value, str)}
        return told, dict.fromkeys(told, SYMFONY_DUMPED)
    mode = variables_of(folder, ".env", ".env.local").get("APP_ENV", "dev")
    mode = mode if re.fullmatch(r"\w+", mode) else "dev"
    files = (".env", ".env.local", f".env.{mode}", f".env.{mode}.local")
    origins = {variable: name for name in files for variable in variables_of(folder, name)}
    return variables_of(folder, *files), origins


def _filled(value: str, found: Mapping[str, str]) -> str:
    for _ in range(4):
        filled = _VARIABLE.sub(lambda match: found.get(match[1] or match[2], match[0]), value)
        if filled == value or len(filled) > 10_000:
            break
        value = filled
    return value
