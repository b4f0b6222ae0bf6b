"""SPECs read for one comparison: names and values checked, paths found, commits resolved, the running pool imported."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from phpdyno.apps.revisions import repository_of
from phpdyno.apps.source import App
from phpdyno.config.nearest import suggestion
from phpdyno.config.spec import KnownNames, parse_spec
from phpdyno.errors import UsageError
from phpdyno.knobs.catalogue import POOL_NAMES, WEB_NAMES, pool_ini
from phpdyno.knobs.judge import check_values
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.stack.extensions import extension_digests
from phpdyno.stack.live_pool import LivePool, import_pool
from phpdyno.stack.php import default_cli, default_fpm, ini_files, inspect_php
from phpdyno.stack.placement import extension_lines, ini_options

CONTROL_OPTION = "--control"
SCRIPT_LAYERS = ("ini", "env", "php", "ext")


class SpecReader:
    """Reads SPECs for one app (None: without settings and commits), or for a `script`. `notes` say what was not taken over from a pool."""

    def __init__(self, app: App | None = None, *, script: bool = False) -> None:
        self.notes: list[str] = []
        self._app = app
        self._script = script
        self._builds: dict[tuple[str | None, ...], PhpBuild] = {}
        self._pools: dict[str, LivePool] = {}

    def read(self, spec: str, option: str, base: Mapping[str, str]) -> dict[str, str]:
        """Checked settings of a SPEC on top of `base`; which PHP it names decides which php.ini settings there are. Raises UsageError."""
        where = f"{option} {spec}"

        def known(php: Mapping[str, str]) -> KnownNames:
            imported = self._import(php["live"]) if "live" in php else {}
            build = self.build({**base, **imported, **{key: value for key, value in php.items() if key != "live"}})
            app = frozenset(self._app.settings) if self._app else frozenset[str]()
            return KnownNames(ini=frozenset(build.ini_names), pool=POOL_NAMES, web=WEB_NAMES, app=app)

        settings = parse_spec(spec, known=known, base_dir=Path.cwd(), live=option == CONTROL_OPTION and not self._script)
        check_values(settings, where=where)
        if self._script:
            _refuse_servers(settings, where=where)
        self._check_app(settings, where=where)
        if "source" in settings and self._app is not None:
            settings["source"] = repository_of(self._app, where=where).commit(settings["source"], where=where)
        if "live" in settings:
            settings = overlaid(self._import(settings.pop("live")), settings)
        for key, value in settings.items():
            if key.startswith("ext.") and value != "off":
                settings[key] = str(Path(value).resolve())  # as /proc/PID/maps shows it
        if "php" in settings:
            settings["php"] = self.build({**base, **settings}).fpm
        return settings

    def build(self, settings: Mapping[str, str]) -> PhpBuild:
        """The PHP of an arm, asked once with the ini files and the extensions that the arm gives it."""
        options, scan_dir = ini_options(settings)
        loading = [word for line in extension_lines(settings).values() if line for word in ("-d", line.replace(" = ", "="))]
        fpm = settings.get("php") or (default_cli() if self._script else default_fpm())
        key = (fpm, settings.get("php.extension_dir"), scan_dir, *options, *loading)
        if key not in self._builds:
            self._builds[key] = inspect_php(
                fpm, settings.get("php.extension_dir"), cli=self._script, options=(*options, *loading), scan_dir=scan_dir
            )
        return self._builds[key]

    def arm(self, name: str, settings: dict[str, str], changed: dict[str, str]) -> Arm:
        """An arm of these settings."""
        php = structs.replace(self.build(settings), extensions=extension_digests(settings))
        return Arm(name, php, settings, changed)

    def _import(self, selector: str) -> dict[str, str]:
        """The running pool's settings, read once, the files of its extensions found where its PHP looks for them."""
        if selector not in self._pools:
            pool = self._pools[selector] = import_pool(selector)
            self.notes += pool.in_words()
        settings = dict(self._pools[selector].settings)
        options, scan_dir = ini_options(settings)
        for key, value in settings.items():
            if key.startswith("ext.") and "/" not in value:
                place = ini_files(settings["php"], options, scan_dir).extension_dir
                settings[key] = f"{place}/{value.removesuffix('.so')}.so"
        return settings

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


def overlaid(base: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """`changes` on top of `base`. A php.ini setting takes the place of the pool's own (php_admin_value) of that name, which would win."""
    names = {pool_ini(key) or key.removeprefix("ini.") for key in changes if pool_ini(key) or key.startswith("ini.")}
    return {**{key: value for key, value in base.items() if pool_ini(key) not in names}, **changes}
