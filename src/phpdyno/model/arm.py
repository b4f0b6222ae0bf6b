"""An arm: one complete configuration of the stack."""

from msgspec import Struct, field

AA = "A/A"
"""What the control is called where it is compared with itself."""


APACHE = "apache-mod_php"
"""The value of web.server that names Apache with mod_php; without it there are nginx and
php-fpm."""


def names_apache(value: str) -> bool:
    """Whether a value of web.server means it."""
    return value.strip().lower() == APACHE


PLAIN = "default"
"""What an arm of a sweep is called whose SPEC is empty."""


class PhpBuild(Struct, frozen=True):
    """One php-fpm: where it is and what it says of itself. `extension_dir` is set when it is not
    the compiled-in one.

    `extensions` are the shared extensions that an arm names, each path with the first 16 digits of
    its SHA-256. `preload` is the script that its ini files name in opcache.preload, '' for none;
    `disabled` is their disable_functions, `fence` their open_basedir.
    """

    fpm: str
    version: str
    extension_dir: str | None = None
    build_id: str = ""
    ini_names: tuple[str, ...] = ()
    extensions: dict[str, str] = field(default_factory=dict)
    preload: str = ""
    disabled: str = ""
    fence: str = ""

    @property
    def identity(self) -> tuple[str, str, dict[str, str]]:
        """Version, build and extensions: where one of them differs, it is another PHP."""
        return self.version, self.build_id, self.extensions


class Arm(Struct, frozen=True):
    """One complete configuration, as differences from the app's and the distribution's defaults.

    `settings` maps full knob names (`ini.opcache.jit`, `pool.pm.max_children`, `web.socket`,
    `env.NAME`) to values as text. `changed` are the settings in which a treatment differs from the
    control; empty for the control and for an A/A arm.
    """

    name: str
    php: PhpBuild
    settings: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)

    def layer(self, prefix: str) -> dict[str, str]:
        """The settings of one layer (`ini`, `pool`, `web`, `env`), without the prefix."""
        start = prefix + "."
        return {key[len(start) :]: value for key, value in self.settings.items() if key.startswith(start)}
