"""SPECs read for one comparison: names and values checked, paths found, commits resolved, the
running pool imported."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.apps.files.revisions import repository_of
from phpdyno.apps.folder import FolderApp
from phpdyno.apps.source import App
from phpdyno.bundle.write.live_place import basis_of_live
from phpdyno.config.nearest import suggestion
from phpdyno.config.spec import LIVE, KnownNames, parse_spec
from phpdyno.errors import UsageError
from phpdyno.knobs.catalogue import OS_NAMES, POOL_NAMES, WEB_NAMES, knob_for, pool_ini
from phpdyno.knobs.judge import check_together, check_values, ini_name_of
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.server_files.nginx import BUFFER_DIRECTIVES, added_buffers
from phpdyno.server_files.php import SPARES, without_unfit_spares
from phpdyno.servers.host_settings import refuse_host_settings
from phpdyno.servers.live.drift import drift_notes
from phpdyno.servers.live.nginx import site_before
from phpdyno.servers.live.pool import LivePool, import_pool
from phpdyno.servers.placement import ini_options, loading
from phpdyno.servers.programs.choosing import named_php, others_beside
from phpdyno.servers.programs.extensions import extension_digests
from phpdyno.servers.programs.ini_reading import Parser
from phpdyno.servers.programs.php import IniFiles, default_cli, default_fpm, ini_files, inspect_php
from phpdyno.session.builds import place_of_build, without_build
from phpdyno.session.ini_values import IniValues, ours_in_words

CONTROL_OPTION = "--control"
ARM_OPTION = "--arm"
PRELOADED = "ini.opcache.preload"
PROCESSES = frozenset(
    f"pool.{name}"
    for name in (
        "pm",
        "pm.max_children",
        *SPARES,
        "pm.max_spawn_rate",
        "pm.process_idle_timeout",
    )
)
"""Settings that say how many workers a pool has."""
OF_THE_APP = "the app's own description says it, so that a copy keeps to its own database"
SCRIPT_LAYERS = ("ini", "env", "php", "ext")


class Imported(Struct, frozen=True):
    """A running pool that a SPEC named, the ini files that its PHP reads, and the text of all its
    configuration files by path (`basis`), as they were when it was imported."""

    pool: LivePool
    files: IniFiles
    basis: dict[str, str]


class SpecReader:
    """Reads SPECs for one app (None: without settings and commits), or for a `script`.

    `notes` say what was not taken over from a pool, and (`several`, '' where it is not so) which of
    several PHPs was taken; `live` is that pool, None where no SPEC named one.
    """

    def __init__(self, app: App | None = None, *, script: bool = False) -> None:
        self.notes: list[str] = []
        self.several = ""
        self._app = app
        self._script = script
        self._values = IniValues(self.notes)
        self._app_checked: set[str] = set()
        self._builds: dict[tuple[str | None, ...], PhpBuild] = {}
        self._pools: dict[str, LivePool] = {}
        self.live: Imported | None = None

    def read(self, spec: str, option: str, base: Mapping[str, str]) -> dict[str, str]:
        """Checked settings of a SPEC on top of `base`; which PHP it names decides which php.ini
        settings there are. Raises UsageError."""
        where = f"{option} {spec}"

        def known(php: Mapping[str, str]) -> KnownNames:
            # (No pool is asked for a script, which is refused below.)
            imported = self._import(php["live"]) if "live" in php and not self._script else {}
            build = self.build({**base, **imported, **{key: value for key, value in php.items() if key != "live"}})
            app = frozenset(self._app.settings) if self._app else frozenset[str]()
            return KnownNames(ini=frozenset(build.ini_names), pool=POOL_NAMES, web=WEB_NAMES, app=app, os=OS_NAMES)

        live = option in {CONTROL_OPTION, ARM_OPTION}
        settings = parse_spec(spec, known=known, base_dir=Path.cwd(), live=live, builds=place_of_build)
        if self._script:
            _refuse_servers(settings, where=where)
        settings = self._settled(settings, base, where)
        named = set(settings)
        check_values(settings, where=where)
        settings = {name: knob_for(name).domain.spelled(value) for name, value in settings.items()}
        refuse_host_settings(settings, where=where)
        self._check_app(settings, where=where)
        if "source" in settings and self._app is not None:
            settings["source"] = repository_of(self._app, where=where).commit(settings["source"], where=where)
        if "live" in settings:
            settings = overlaid(self._import(settings.pop("live")), settings, self._variables())
            # What stands behind a marker is text for the app; the rest has to make sense to our
            # servers too.
            check_values({key: value for key, value in settings.items() if not value.startswith(LIVE)}, where=where)
        for key, value in settings.items():
            if key.startswith("ext.") and value != "off":
                settings[key] = str(Path(value).resolve())  # as /proc/PID/maps shows it
        if "php" in settings:
            settings["php"] = self.build({**without_build(base, settings), **settings}).fpm
        whole = self.on_top(base, settings)
        return settings | self._values.needed({key: settings[key] for key in settings if key in named}, whole, self.parser(whole))

    def _settled(self, settings: Mapping[str, str], base: Mapping[str, str], where: str) -> dict[str, str]:
        """The settings as the arm's own PHP reads them. Raises UsageError for one that it does not
        take."""
        if not any(map(ini_name_of, settings)):
            return dict(settings)
        live = self._import(settings["live"]) if "live" in settings else {}
        whole = {**without_build(base, settings), **live, **{key: value for key, value in settings.items() if key != "live"}}
        parser, php = self.parser(whole), self.build(whole)
        settled = self._values.settled(settings, parser, php, where=where)
        check_values(settled, where=where)
        self._values.check(settled, parser, php, where=where)
        return settled

    def parser(self, settings: Mapping[str, str]) -> Parser:
        """The PHP of an arm as a reader of php.ini values."""
        options, scan_dir = ini_options(settings)
        build = self.build(settings)
        place = settings.get("php.extension_dir")
        env = self._app.described.env if isinstance(self._app, FolderApp) else {}
        own = {key.removeprefix("env."): value for key, value in settings.items() if key.startswith("env.") and not value.startswith(LIVE)}
        given = () if place is None else ("-d", f"extension_dir={place}")
        return Parser(build.fpm, (*given, *options, *loading(settings)), scan_dir, {**env, **own}, frozenset(build.ini_names))

    def build(self, settings: Mapping[str, str]) -> PhpBuild:
        """The PHP of an arm, asked once with the ini files and the extensions that the arm gives
        it."""
        options, scan_dir = ini_options(settings)
        asked = (*options, *loading(settings))
        fpm = named_php(settings["php"], cli=self._script) if "php" in settings else self._default()
        key = (fpm, settings.get("php.extension_dir"), scan_dir, *asked)
        if key not in self._builds:
            self._builds[key] = inspect_php(fpm, settings.get("php.extension_dir"), cli=self._script, options=asked, scan_dir=scan_dir)
        return self._builds[key]

    def _default(self) -> str:
        """The newest PHP; a note says so once where it is not the only one."""
        found = default_cli() if self._script else default_fpm()
        note = others_beside(found, cli=self._script)
        if note and note not in self.notes:
            self.notes.append(note)
            self.several = note
        return found

    def for_cpu(self, control: Mapping[str, str], workers: int) -> dict[str, str]:
        """A control's settings where CPU is measured, `workers` requests at a time.

        How many workers a running pool has is not judged there, and idle ones would serve cold in
        turn. Those that a SPEC names count.
        """
        of_pool = self.live.pool.settings if self.live else {}
        theirs = {name for name in PROCESSES & control.keys() if control[name] == of_pool.get(name)}
        most = control.get("pool.pm.max_children", "") if theirs else ""
        if most and most != str(workers):
            note = f"pm.max_children is {most} in the running pool; where CPU is measured, {workers} here: so many requests are under way"
            self.notes += [note] if note not in self.notes else []
        return {"pool.pm.max_children": str(workers), **{name: value for name, value in control.items() if name not in theirs}}

    def on_top(self, base: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
        """The settings of a treatment with these changes. One with another PHP has nothing of the
        build that the control is."""
        return overlaid(without_build(base, changes), changes, self._variables())

    def _variables(self) -> dict[str, str]:
        """The environment variable of each setting of the app, by full setting name."""
        return {f"app.{name}": setting.env for name, setting in self._app.settings.items()} if self._app else {}

    def arm(self, name: str, settings: dict[str, str], changed: dict[str, str]) -> Arm:
        """An arm of these settings."""
        self._note_preload(self.build(settings).preload if PRELOADED not in settings else "")
        self._check_app_ini(settings)
        self._note_ours(settings)
        check_together(settings, where=name)
        self._note_buffers(settings)
        php = structs.replace(self.build(settings), extensions=extension_digests(settings))
        return Arm(name, php, settings, changed)

    def _note_ours(self, settings: Mapping[str, str]) -> None:
        """Say once which settings are not quite as they are given, and why."""
        app = self._app.described if isinstance(self._app, FolderApp) else None
        told = {name: value for key, value in settings.items() if (name := ini_name_of(key))}
        for note in ours_in_words({**(app.ini if app else {}), **told}, self.build(settings), app.root if app else None):
            self.notes += [note] if note not in self.notes else []

    def _check_app_ini(self, settings: Mapping[str, str]) -> None:
        """The app's [ini], by each PHP that serves it once. Raises UsageError."""
        php = self.build(settings)
        if isinstance(self._app, FolderApp) and self._app.described.ini and php.fpm not in self._app_checked:
            self._values.check_app(self._app.described.ini, self.parser(settings), php, file=str(self._app.described.file))
            self._app_checked.add(php.fpm)

    def _offer_site(self, pool: LivePool) -> None:
        """Say where the running nginx has a server block for the pool, and how to have it here."""
        if isinstance(self._app, FolderApp) and self._app.site is None and (place := site_before(pool.address)):
            self.notes.append(
                f"nginx has a server block of its own before {pool.selector} ({place}); to be served by it: --nginx live:{pool.selector}"
            )

    def _note_buffers(self, settings: Mapping[str, str]) -> None:
        """Say once what nginx is given besides, so that it starts with buffers of these sizes."""
        web = {key.removeprefix("web."): value for key, value in settings.items() if key.startswith("web.")}
        if more := added_buffers(web):
            asked = "; ".join(f"web.{name}={web[name]}" for name in BUFFER_DIRECTIVES if name in web)
            note = f"{asked}: nginx is given {more} as well, since it would not start without"
            self.notes += [note] if note not in self.notes else []

    def _import(self, selector: str) -> dict[str, str]:
        """The running pool's settings, read once, the files of its extensions found where its PHP
        looks for them."""
        first = selector not in self._pools
        if first:
            self._pools[selector] = self._without_fixed(import_pool(selector))
            self.notes += self._pools[selector].in_words()
            self._offer_site(self._pools[selector])
        settings = dict(self._pools[selector].settings)
        options, scan_dir = ini_options(settings)
        files = ini_files(settings["php"], options, scan_dir)
        if first:
            self.live = Imported(self._pools[selector], files, basis_of_live(self._pools[selector], files))
            self.notes += drift_notes(self._pools[selector], files)
        if settings.get(PRELOADED) and not self._is_of_the_app(settings[PRELOADED]):
            self._note_preload(settings[PRELOADED])
            settings[PRELOADED] = ""
        for key, value in settings.items():
            if key.startswith("ext.") and "/" not in value:
                settings[key] = f"{files.extension_dir}/{value.removesuffix('.so')}.so"
        return settings

    def _without_fixed(self, pool: LivePool) -> LivePool:
        """The pool without what the app's own description says: the live site's database would be
        the copy's too."""
        fixed = self._app.fixed if self._app else frozenset[str]()
        theirs = [key for key in pool.settings if key in fixed or f"ini.{pool_ini(key)}" in fixed]
        return structs.replace(
            pool,
            settings={key: value for key, value in pool.settings.items() if key not in theirs},
            left_out={**pool.left_out, **dict.fromkeys(theirs, OF_THE_APP)},
        )

    def _is_of_the_app(self, script: str) -> bool:
        return isinstance(self._app, FolderApp) and Path(script).resolve().is_relative_to(self._app.described.root.resolve())

    def _note_preload(self, script: str) -> None:
        """Say once that a script is not preloaded. That of a `--script` may lie in its directory,
        which is not known here."""
        if script and not self._is_of_the_app(script):
            unless = " unless it lies in the script's directory" if self._script else ", as it lies outside the app's root"
            note = f"opcache.preload: {script} is not preloaded{unless}; give ini.opcache.preload=… to have it"
            self.notes += [note] if note not in self.notes else []

    def _check_app(self, settings: Mapping[str, str], *, where: str) -> None:
        offered = self._app.settings if self._app else {}
        for key, value in settings.items():
            setting = offered.get(key.removeprefix("app.")) if key.startswith("app.") else None
            if setting is not None and setting.values and value not in setting.values:
                hint = suggestion(value, setting.values) or f"it takes {', '.join(setting.values)}"
                raise UsageError(f"{key} cannot be {value!r}", where=where, next_step=hint)


def _refuse_servers(settings: Mapping[str, str], *, where: str) -> None:
    for name in settings:
        if name.partition(".")[0] not in SCRIPT_LAYERS:
            raise UsageError(f"{name} means nothing to a script", where=where, next_step=f"layers of a script: {', '.join(SCRIPT_LAYERS)}")


def overlaid(base: Mapping[str, str], changes: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """`changes` on top of `base`. What would win over a change gives way to it: to a php.ini
    setting the pool's own (php_admin_value) of that name, to a setting of the app the variable that
    it is told by (`variables`, by the setting's full name), to fewer workers the numbers of spare
    ones that are more.
    """
    told = {f"env.{variables[key]}" for key in changes if key in variables}
    names = {pool_ini(key) or key.removeprefix("ini.") for key in changes if pool_ini(key) or key.startswith("ini.")}
    both = {**{key: value for key, value in base.items() if pool_ini(key) not in names and key not in told}, **changes}
    if "pool.pm.max_children" not in changes:
        return both
    pool = {key.removeprefix("pool."): value for key, value in both.items() if key.startswith("pool.pm")}
    fitting = without_unfit_spares(pool, {key.removeprefix("pool.") for key in changes})
    return {key: value for key, value in both.items() if key.removeprefix("pool.") not in pool.keys() - fitting.keys()}
