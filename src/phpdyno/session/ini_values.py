"""php.ini values of SPECs and of an app's [ini] as the PHP of the arm reads them, and what that PHP
says against them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from phpdyno.config.ini_syntax import is_plain
from phpdyno.config.spec import LIVE, unknown_ini
from phpdyno.errors import UsageError
from phpdyno.knobs.catalogue import knob_for
from phpdyno.knobs.hardened import SETTING, asked_in
from phpdyno.knobs.judge import check_values, ini_name_of
from phpdyno.knobs.knob import with_needs
from phpdyno.model.arm import PhpBuild
from phpdyno.servers.own_ini import CACHES
from phpdyno.servers.programs.ini_reading import Parser

SIZE_HINT = "write a number of bytes, or one with K, M or G right behind it: 128M"


class IniValues:
    """Reads values with a PHP, each once. `notes` are told which of them were more than they looked
    like."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        self._read: dict[tuple[object, ...], str] = {}
        self._complaints: dict[tuple[object, ...], dict[str, str]] = {}

    def settled(self, settings: Mapping[str, str], parser: Parser, php: PhpBuild, *, where: str) -> dict[str, str]:
        """The settings with php.ini's own text read: `E_ALL & ~E_NOTICE` is its number, a text goes
        without its quotes. Raises UsageError."""
        return {key: self._value(key, text, parser, php, where=where) for key, text in settings.items()}

    def _value(self, key: str, text: str, parser: Parser, php: PhpBuild, *, where: str) -> str:
        if not ini_name_of(key) or text.startswith(LIVE):
            return text
        if text.lower() in {"none", "null"}:
            self._note(f"{key}: without quotes {text} is empty to PHP; the text is written '\"{text}\"'")
        if is_plain(text):
            return text
        place = f"{where}: {key}" if key not in where else where
        known = (parser.program, parser.options, parser.scan_dir, tuple(sorted(parser.env.items())), text)
        if known not in self._read:
            self._read[known] = parser.value(text, where=place)
        value = self._read[known]
        if value.lstrip("-").isdecimal() and value not in text:
            self._note(f"{key}: {text} is {value} to PHP {php.version}")
        return value

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def check(self, settings: Mapping[str, str], parser: Parser, php: PhpBuild, *, where: str) -> None:
        """Raise UsageError for a value that this PHP complains of when it starts with it."""
        own = {name: value for key, value in settings.items() if (name := ini_name_of(key)) and not value.startswith(LIVE)}
        asked = {name: value for name, value in own.items() if name not in {"extension", "zend_extension"}}
        if not asked:
            return
        known = (parser.program, parser.options, parser.scan_dir, tuple(sorted(asked.items())))
        if known not in self._complaints:
            self._complaints[known] = parser.complaints(asked)
        for name, words in self._complaints[known].items():
            key = next((each for each in settings if name and ini_name_of(each) == name), "")
            place = where if not key or key in where else f"{where}: {key}"
            hint = SIZE_HINT if "quantity" in words else ""
            raise UsageError(f"PHP {php.version} does not take this value: {words}", where=place, next_step=hint)

    def check_app(self, ini: Mapping[str, str], parser: Parser, php: PhpBuild, *, file: str) -> None:
        """Raise UsageError for a setting in [ini] that this PHP does not know, or a value that it
        does not take."""
        values = {}
        for name, text in ini.items():
            where = f"{file}: ini.{name}"
            if name not in php.ini_names:
                raise unknown_ini(name, php.ini_names, where=where)
            values[f"ini.{name}"] = self._value(f"ini.{name}", text, parser, php, where=where)
            check_values({f"ini.{name}": values[f"ini.{name}"]}, where=file)
        self.check({key: value for key, value in values.items() if "{db_socket}" not in value}, parser, php, where=file)

    def needed(self, changed: Mapping[str, str], settings: Mapping[str, str], parser: Parser) -> dict[str, str]:
        """What the changes need to have an effect and an arm of these `settings` has not; each is
        noted. Raises DynoError where one of the changes needs what another one switches off."""
        if not any(knob_for(key).needs for key in changed):
            return {}
        told = parser.values({name: value for key, value in settings.items() if (name := ini_name_of(key)) and not value.startswith(LIVE)})
        base = {f"ini.{name}": value for name, value in told.items()}
        whole = with_needs(changed, base, knob_for)
        added = {key: value for key, value in whole.settings.items() if key not in changed}
        for key, value in added.items():
            asking = next(name for name in (*changed, *added) if key in knob_for(name).needs)
            self._note(f"{asking} has no effect while {key.removeprefix('ini.')} is {base.get(key) or 'empty'}: {key}={value} is added")
        return added


def ours_in_words(ini: Mapping[str, str], php: PhpBuild, root: Path | None) -> Iterator[str]:
    """What of these php.ini settings is otherwise in every instance of an app with this `root`."""
    if asked := asked_in(ini.get(SETTING, php.disabled)):
        yield f"{SETTING} names {', '.join(asked)}: enabled in every arm, as the proofs ask a worker with them; the app finds them too"
    for name in CACHES:
        if ini.get(name):
            yield f"{name}: each arm has a directory of its own, empty at first, instead of {ini[name]}"
    for name, value in ini.items():
        inside = root is not None and any(part.startswith("/") and Path(part).is_relative_to(root) for part in value.split(":"))
        if inside and name != "opcache.preload":
            yield f"{name} leads into the app's root: what is meant is in the copy of it ({value})"
