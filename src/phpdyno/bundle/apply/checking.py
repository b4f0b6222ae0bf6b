"""What php-fpm and nginx say of the configuration in a tree: `php-fpm -t`, `nginx -t`, and which
PHP it is."""

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.bundle.apply.tree import TargetTree
from phpdyno.bundle.manifest import MANIFEST, Manifest, PhpPlace
from phpdyno.bundle.places import read_by, unusual
from phpdyno.bundle.reading import Bundle
from phpdyno.bundle.write.live_place import place_here
from phpdyno.config.trusted import refuse_untrusted
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.checkup.readings import read_host_files
from phpdyno.knobs.catalogue.host import PAGES
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.tethered import run_tethered

ASK_S = 60.0
"""Most that a test of a configuration takes: php-fpm preloads meanwhile."""
NGINX = "/usr/sbin/nginx"
_STAMP = re.compile(r"^\[[^\]]*\]\s+|^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\s+")
_GRAVE = re.compile(r"syntax error|Warning:|Fatal error:|Parse error:|cannot be preloaded|\[emerg\]|\bALERT\b|\bERROR\b", re.IGNORECASE)
_PID = re.compile(r"\b(pid|process) \d+|\d+#\d+")
_SAPI = " (fpm-fcgi)"
_VERSION = re.compile(rf"\bPHP (\d+)\.(\d+)\.\S*{re.escape(_SAPI)}")
_TUNABLE = re.compile(r"^(WARNING: )?ld\.so: ", re.IGNORECASE)

Ask = Callable[[Sequence[str]], "subprocess.CompletedProcess[bytes]"]
"""Runs a command to its end."""
Here = Callable[[PhpPlace], PhpPlace]
"""Says where the files of a bundle's running pool lie."""


class ProgramAnswer(Struct, frozen=True):
    """What a program said of its configuration: its exit status and lines, without times and
    process numbers."""

    status: int
    lines: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The line that says best what is wrong."""
        grave = [line for line in self.lines if _GRAVE.search(line)]
        return (grave or list(self.lines) or ["it said nothing"])[0]


def ask_program(argv: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
    """Run a program for its answer. Raises DynoError where it does not run, or not to its end."""
    try:
        return run_tethered(argv, timeout_s=ASK_S)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise DynoError(f"this program does not run: {error}", where=argv[0]) from error


def reserved_here() -> int:
    """Huge pages that this machine reserves, read as those of a manifest's host are."""
    return read_host_files().memory.hugetlb_pages or 0


class Checker:
    """Asks the servers of a tree. In the tree of an image its own programs are asked, after
    chroot(1); that takes root.

    With `unchecked` nobody is asked, for an image without these programs. `here` says where the
    running pool of a bundle has its files.
    """

    def __init__(
        self, bundle: Bundle, tree: TargetTree, *, unchecked: bool = False, ask: Ask = ask_program, here: Here = place_here
    ) -> None:
        self._manifest: Manifest = bundle.manifest
        self._tree = tree
        self._ask = ask
        self._here = here
        self._unchecked = unchecked
        variables = [each for each in bundle.manifest.files if each.kind == "systemd"]
        self._environment = {name.removeprefix("env."): bundle.manifest.settings[name] for each in variables for name in each.settings}

    def refuse_other_places(self) -> None:
        """Raises UsageError where the bundle is for places of an operator's own that no php-fpm
        running here has."""
        php, odd = self._manifest.php, unusual(self._manifest)
        if not odd:
            return
        here, why = None, "only a pool that runs on this machine could say that it is"
        if self._tree.is_host and php.live:
            try:
                here = self._here(php)
            except DynoError as error:
                why = f"the pool {php.live} does not say that it is: {error.what}"
        for name, words in odd.items():
            if here is None or getattr(here, name) != getattr(php, name):
                why = why if here is None else f"of the pool {php.live} it is {getattr(here, name)}"
                what = f"{getattr(php, name)} is no usual {words}, and {why}"
                raise UsageError(what, where=f"{MANIFEST}: php.{name}", next_step="tune again here, or place the bundle's files by hand")

    def refuse_other_php(self) -> None:
        """Raises UsageError where the PHP here has not the version of the bundle, is not where it
        was, is none or is not root's alone."""
        php = self._manifest.php
        if self._unchecked:
            return
        self._refuse_no_program()
        for path in (*read_by(php), *self._named_in_environment()):
            self._tree.refuse_steered(path)
        told = "\n".join(self._run([php.executable, "-n", "-d", "opcache.preload=", "-v"]).lines)
        found = _VERSION.search(told)
        if found is None:
            hint = "tune again with the php-fpm that serves the site" if self._tree.is_host else self._how_to_have()
            raise UsageError("this is not a working php-fpm: it tells no version of one", where=php.executable, next_step=hint)
        if [found[1], found[2]] != php.version.split(".")[:2]:
            what = f"this bundle was proved on PHP {php.version}, and this is {found[0].removesuffix(_SAPI)}"
            raise UsageError(what, where=php.executable, next_step="tune again on this PHP: effects do not carry over")

    def _refuse_no_program(self) -> None:
        """Raises UsageError where the php-fpm named is no program of root's alone."""
        php = self._manifest.php
        place = self._tree.end_of(php.executable)
        if not place.is_file():
            what = f"this bundle is for PHP {php.version}, which is not here"
            usual = "install that PHP, or tune again with the one that is here"
            hint = (self._manifest.before_all_else or usual) if self._tree.is_host else self._how_to_have()
            raise UsageError(what, where=php.executable, next_step=hint)
        if not place.stat().st_mode & 0o111:
            raise UsageError("this is no program", where=php.executable, next_step="tune again with the php-fpm that serves the site")
        if self._tree.is_host:
            refuse_untrusted(Path(php.executable), where=php.executable)
        self._tree.refuse_steered(php.executable)

    def _how_to_have(self) -> str:
        """What to do about an image without its php-fpm."""
        return self._manifest.before_all_else or "install PHP in the image, or give --unchecked to place the files without a test"

    def _named_in_environment(self) -> list[str]:
        """Paths in the variables that php-fpm is tested with: libraries and configuration that it
        would load as root."""
        return [part for value in self._environment.values() for part in re.split(r"[:\s=]", value) if part.startswith("/")]

    def refuse_other_reserve(self) -> None:
        """Raises UsageError where this machine reserves another number of huge pages than the
        bundle's was counted on top of."""
        placed, there = self._manifest.reserving, self._manifest.host.hugetlb_pages
        if placed is None or not self._tree.is_host:
            return
        wanted, here = int(self._manifest.settings[PAGES]), reserved_here()
        if here not in {there, wanted}:
            what = f"vm.nr_hugepages={wanted} is for a machine that reserves {there} for others, and this one reserves {here}"
            by_hand = f"take this file out of {MANIFEST} and reserve {here + wanted - there} yourself"
            raise UsageError(what, where=placed.path, next_step=f"tune here, or {by_hand}")

    def refuse_broken(self) -> dict[str, ProgramAnswer]:
        """What the servers say before anything is changed. Raises DynoError where one would not
        start as it is."""
        told = self._tell(with_environment=False)
        for name, answer in told.items():
            if answer.status != 0:
                raise DynoError(f"{name} refuses the configuration that is there already: {answer.reason}", next_step="mend that first")
        return told

    def refuse_new_faults(self, before: dict[str, ProgramAnswer]) -> None:
        """Raises DynoError where a server refuses the configuration, or warns of what it did not
        warn of before."""
        for name, answer in self._tell(with_environment=True).items():
            new = [line for line in answer.lines if line not in before[name].lines and (_GRAVE.search(line) or _TUNABLE.match(line))]
            if answer.status != 0 or new:
                reason = ProgramAnswer(answer.status, tuple(new) or answer.lines).reason
                raise DynoError(f"{name} refuses the bundle: {reason}", next_step="nothing was changed")

    def _tell(self, *, with_environment: bool) -> dict[str, ProgramAnswer]:
        if self._unchecked:
            return {}
        php = self._manifest.php
        given = [f"PHP_INI_SCAN_DIR={php.scan_dir}"] if php.scan_dir else []
        if with_environment:
            given += [f"{name}={value}" for name, value in self._environment.items()]
        told = {"php-fpm -t": self._run([php.executable, *php.options, "-t"], given)}
        if any(each.kind == "nginx" for each in self._manifest.files):
            told["nginx -t"] = self._run([find_program("nginx") if self._tree.is_host else NGINX, "-t"])
        return told

    def _run(self, argv: Sequence[str], environment: Sequence[str] = ()) -> ProgramAnswer:
        """What a program of the tree says, both of its outputs."""
        whole = [*(["/usr/bin/env", *environment] if environment else []), *argv]
        if not self._tree.is_host:
            whole = [find_program("chroot"), str(self._tree.root), *whole]
        answer = self._ask(whole)
        text = (answer.stdout + b"\n" + answer.stderr).decode("utf-8", "replace")
        lines = [_PID.sub("", _STAMP.sub("", line)).strip() for line in text.splitlines()]
        return ProgramAnswer(answer.returncode, tuple(line for line in lines if line))
