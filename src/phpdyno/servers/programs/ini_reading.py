"""What the very PHP of an arm makes of php.ini text: its own parser reads a value, and says what it
does not take."""

import os
import re
import subprocess
from collections.abc import Mapping

from msgspec import Struct, field

from phpdyno.config.ini_syntax import (
    as_literal,
    bare_word,
    check_syntax,
    is_literal,
    is_plain,
    misread,
    operands_in,
    unknown_constant,
    variables_in,
)
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.files.scratch import scratch_directory
from phpdyno.paths import live_root
from phpdyno.server_files.php import render_ini, scan_path
from phpdyno.servers.programs.php import NO_PRELOADING, traits_in
from phpdyno.servers.supervision.tethered import run_tethered

_SLOT, _END, _LAST = "user_agent", "from", "phpdyno-was-read"
"""A setting of PHP that is any text, and one behind it that shows that the parser came so far."""
_WARNED = re.compile(r"PHP Warning: +(?:PHP Startup: +)?(.*?)(?: in Unknown on line \d+)?$", re.MULTILINE)
_ABOUT = re.compile(r'[Ii]nvalid "?([a-z_][a-z0-9_.]*)"? (?:setting|value)', re.IGNORECASE)
_TIMEOUT_S = 30
_PATH = "PATH"


class Parser(Struct, frozen=True):
    """A PHP as an arm starts it: program, options, the directories that it scans for ini files
    (None: the compiled-in one), the variables of its environment, and the `names` of its settings,
    for which ${NAME} may stand as well."""

    program: str
    options: tuple[str, ...] = ()
    scan_dir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def read(self, settings: Mapping[str, str], *, where: str) -> dict[str, str]:
        """Settings with their values as PHP reads them. Raises as `value`."""
        return {name: self.value(text, where=f"{where}: ini.{name}") for name, text in settings.items()}

    def value(self, text: str, *, where: str) -> str:
        """What PHP reads in `NAME = text`, as the value of an arm: an expression is its number, a
        text goes without its quotes.

        Raises UsageError for a text that can be read in two ways or in none, an unknown constant
        or variable; DynoError when the PHP does not run.
        """
        if is_plain(text) or is_literal(text):
            return text
        check_syntax(text, where=where)
        for name in variables_in(text):
            if name not in self.env and name not in self.names:
                what = f"${{{name}}} is set neither in [env] nor by env.{name}, so it would be empty"
                raise UsageError(what, where=where, next_step=f"write the value out, or give env.{name}=…")
        read = self._read(text)
        if read is None:
            raise misread(text, where=where)
        for word in operands_in(text):
            if self._read(word) == word:
                raise unknown_constant(word, text, where=where)
        word = bare_word(text)
        if word.startswith("E_") and read == word:
            raise unknown_constant(word, text, where=where)
        return as_literal(read)

    def _read(self, text: str) -> str | None:
        """None where the parser does not come to the end."""
        told = self._told(f"{_SLOT} = {text}\n{_END} = {_LAST}\n")
        if _shown(told, _END) != _LAST:
            return None
        return _shown(told, _SLOT)

    def complaints(self, settings: Mapping[str, str]) -> dict[str, str]:
        """What PHP says when it starts with these settings, by the name of the setting that it is
        about; '' where it names none."""
        told = self._told(render_ini(settings))
        without = set(_WARNED.findall(self._told("")))
        found: dict[str, str] = {}
        for line in _WARNED.findall(told):
            about = _ABOUT.search(line)
            if line not in without:
                found.setdefault(about[1] if about else "", line)
        return found

    def values(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Every php.ini setting as this PHP has it when it starts with these."""
        return traits_in(self._told(render_ini(settings))).values

    def _told(self, fragment: str) -> str:
        with scratch_directory(live_root()) as place:
            (place / "phpdyno.ini").write_text(fragment, encoding="utf-8", errors="surrogateescape")
            scan = str(place) if self.scan_dir == "" else scan_path(place, self.scan_dir)
            env = {_PATH: os.environ.get(_PATH, "/usr/bin:/bin"), **self.env, "PHP_INI_SCAN_DIR": scan}
            argv = [self.program, *self.options, *NO_PRELOADING, "-i"]
            try:
                answer = run_tethered(argv, timeout_s=_TIMEOUT_S, env=env)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise DynoError(f"this PHP does not run: {error}", where=self.program) from error
        return (answer.stdout + b"\n" + answer.stderr).decode("utf-8", "surrogateescape")


def _shown(told: str, name: str) -> str:
    """A setting in the output of -i, which shows it twice: as it is here, and everywhere."""
    found = re.search(rf"^{re.escape(name)} => (.*)$", told, re.MULTILINE)
    if found is None:
        return ""
    both = found[1]
    once = both[: (len(both) - len(" => ")) // 2]
    return "" if once == "no value" else once
