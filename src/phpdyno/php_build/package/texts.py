"""The files of a package that are texts: who it depends on, the unit, how it starts and when it
steps aside. Pure."""

from collections.abc import Mapping

from msgspec import Struct, field

from phpdyno.model.build import BUILD_FILE, Build, configuration_of, series_of
from phpdyno.php_build.compile.dropin import BESIDE_INI, EXTENSIONS
from phpdyno.php_build.package.naming import (
    HOME,
    home_of,
    package_name,
    packaged_fpm,
    refuse_unpackable,
    series_beside,
    unit_name,
    version_of,
)
from phpdyno.php_build.source.needs import READY
from phpdyno.php_build.source.versions import as_package
from phpdyno.server_files.php import ini_value
from phpdyno.servers.programs.php import NO_PRELOADING

INI = "ini"
"""The directory of what one that stands alone loads besides its php.ini."""
PLACES = "places"
"""The directory of what any package's php-fpm must be told of the distribution."""
IF_SYSTEMD = "if [ -d /run/systemd/system ]; then"
ASKING = " ".join((*NO_PRELOADING, "-d error_log= -d display_errors=1 -d display_startup_errors=1"))
"""Of a php-fpm that is only asked: it preloads nothing, and says what is wrong to whoever asks, not
to a log."""
FAULTS = ("Unable to load", "Unable to initialize", "Failed loading", "undefined symbol", "API version", "options need to match")
"""What PHP says of an extension that does not fit it."""
CHECK = "--check"
"""To the start script: say whether it would start this build, and start nothing."""


class Contents(Struct, frozen=True):
    """What the texts must know of the files: Debian's word for the processor, the packages of
    linked libraries, and of a build that stands alone its modules by file name with the line that
    loads each (`zend_extension`, `extension`)."""

    architecture: str
    libraries: str = ""
    loads: Mapping[str, str] = field(default_factory=dict)


class _Texts(Struct, frozen=True):
    """A build, where its package lies, and the distribution's PHP that it lies beside:
    configuration, and what it steps aside for."""

    build: Build

    @property
    def name(self) -> str:
        return package_name(self.build)

    @property
    def unit_name(self) -> str:
        return unit_name(self.build)

    @property
    def series(self) -> str:
        return series_beside(self.build.like)

    @property
    def home(self) -> str:
        return home_of(self.build)

    @property
    def configuration(self) -> str:
        return configuration_of(self.series)

    @property
    def _only_one(self) -> str:
        """What all builds that serve one set of pools are."""
        return f"phpdyno-php{self.series}-fpm"

    def control(self, contents: Contents) -> str:
        build = self.build
        apps = " and ".join(f"{each.requests} requests to {each.teaching.app}" for each in build.lessons)
        taught = f" by {apps}" if apps else ""
        theirs = [f"php{self.series}-fpm", *([] if build.alone else [f"php{self.series}-opcache"])]
        uses = "has its extensions compiled in" if build.alone else "uses its extensions"
        return (
            f"Package: {self.name}\n"
            f"Version: {version_of(build)}\n"
            f"Architecture: {contents.architecture}\n"
            "Maintainer: whoever built it <root@localhost>\n"
            "Section: php\n"
            "Priority: optional\n"
            f"Depends: {', '.join([*theirs, *([contents.libraries] if contents.libraries else [])])}\n"
            # Two of them would listen where the pools say; the one that goes gives the site back to
            # the distribution's.
            f"Provides: {self._only_one}\n"
            f"Conflicts: {self._only_one}\n"
            f"Replaces: {self._only_one}\n"
            f"Description: php-fpm {build.php_version}, rebuilt ({build.made_by})\n"
            f" php-fpm compiled anew{taught}.\n"
            f" It lies beside the distribution's, {uses}, and steps aside when that is upgraded.\n"
            f" {unhardened(build)}\n"
        )

    def postinst(self) -> str:
        """After an upgrade the new one runs where the old one did."""
        restart = f'[ -z "$2" ] || systemctl try-restart {self.unit_name}.service || true'
        return _script(f"{IF_SYSTEMD}\n  systemctl daemon-reload || true\n  {restart}\nfi")

    def prerm(self) -> str:
        """Whoever removes it has the distribution's again, now and after the next boot, where this
        one was in use."""
        return _script(
            f'[ "$1" = remove ] || [ "$1" = deconfigure ] || exit 0\n{IF_SYSTEMD}\n'
            f"  enabled=no active=no\n"
            f"  systemctl is-enabled --quiet {self.unit_name}.service && enabled=yes\n"
            f"  systemctl is-active --quiet {self.unit_name}.service && active=yes\n"
            f"  systemctl disable --now {self.unit_name}.service || true\n"
            f"  [ $enabled = no ] || systemctl enable php{self.series}-fpm.service || true\n"
            f"  [ $active = no ] || systemctl start php{self.series}-fpm.service || true\n"
            "fi"
        )

    def start(self) -> str:
        words = " ".join(f'-e "{each}"' for each in FAULTS)
        return f"""#!/bin/sh
# The rebuilt php-fpm where it fits what is installed now, else the distribution's own, with a notice.
# {CHECK}: whether the one that runs may take its configuration anew, for which php-fpm executes itself and not this script.
home={self.home}
stock={packaged_fpm(self.series)}
check=
if [ "$1" = {CHECK} ]; then
  shift
  check=yes
  case $(readlink "/proc/$MAINPID/exe") in "$stock"*) exit 0 ;; esac
fi
# Extensions that do not fit, without the time and the place: these are others of the same fault.
faults() {{
  sed -e 's/^\\[[^]]*\\] //' -e 's/ (tried: .*//' | grep -F {words}
}}
{self._prepared()}installed=$("$stock" -n -v 2>/dev/null | sed -n '1s/^PHP \\([^ ]*\\).*/\\1/p')
reason=
if {self._outdated()}; then
  reason="the distribution has PHP $installed, {self._made_for()}"
{self._upgraded()}elif ! said=$({self._own()} {ASKING} -m 2>&1); then
  reason="this build does not run here"
elif ! tested=$({self._own()} {ASKING} -t "$@" 2>&1); then
  why=$(printf "%s\\n" "$tested" | grep -m 1 ERROR || printf "%s\\n" "$tested" | tail -n 1)
  reason="this build does not take this configuration: $why"
elif found=$(printf "%s\\n" "$said" | faults); then
  # What is wrong with the distribution's too is no reason to step aside.
  theirs=$("$stock" {ASKING} -m 2>&1 | faults)
  if fault=$(printf "%s\\n" "$found" | grep -m 1 -vxF -e "$theirs"); then
    reason="an installed extension does not fit this build: $fault"
  fi
fi
if [ -n "$check" ]; then
  [ -z "$reason" ] || echo "phpdyno: $reason; not reloaded. To go on with $stock: systemctl restart {self.unit_name}" >&2
  [ -z "$reason" ]
  exit
fi
if [ -n "$reason" ]; then
  echo "phpdyno: $reason; starting $stock instead. {self._anew()}" >&2
  exec "$stock" "$@"
fi
exec {self._own()} "$@"
"""

    @property
    def _keeps_ini_files(self) -> bool:
        """Whether it has ini files made anew at each start."""
        return self.build.alone or bool(self.build.places)

    def _prepared(self) -> str:
        """Its own ini files, anew at each start, for the eyes of whoever starts it only."""
        if not self._keeps_ini_files:
            return ""
        steps = (self._told_places() if self.build.places else "") + (self._carried() if self.build.alone else "")
        return f"""run=${{RUNTIME_DIRECTORY:-/run/{self.unit_name}}}
(
  umask 077
  rm -rf "$run/{PLACES}" "$run/{BESIDE_INI}"
{steps})
"""

    def _told_places(self) -> str:
        """What only the distribution's php-fpm knows: a scanned file counts above php.ini, so what
        that sets is left out."""
        ini = (self.build.ini or "/dev/null") if self.build.alone else f"{self.configuration}/php.ini"
        return f"""  # Told as if it were compiled in: what php.ini sets counts.
  mkdir -p "$run/{PLACES}"
  while IFS= read -r line; do
    grep -Eqs "^[[:blank:]]*${{line%%=*}}[[:blank:]]*=[[:blank:]]*[^[:space:];]" {ini} || printf '%s\\n' "$line"
  done < "$home/{PLACES}/{PLACES}.ini" > "$run/{PLACES}/{PLACES}.ini"
"""

    def _carried(self) -> str:
        """What a build that stands alone carries: conf.d without what it loads."""
        loading = r"/^[[:blank:]]*(zend_)?extension[[:blank:]]*=/Id"
        return f"""  # The settings of {BESIDE_INI} count; what it loads this program has in itself.
  mkdir -p "$run/{BESIDE_INI}"
  for file in {self.configuration}/{BESIDE_INI}/*.ini; do
    [ ! -f "$file" ] || sed -E '{loading}' "$file" > "$run/{BESIDE_INI}/${{file##*/}}"
  done
"""

    def _own(self) -> str:
        program = '"$home/php-fpm"'
        told = f"$run/{PLACES}:" if self.build.places else ""
        if self.build.alone:
            return f'env PHP_INI_SCAN_DIR="{told}$run/{BESIDE_INI}:$home/{INI}" {program} -c "{self.build.ini or "/dev/null"}"'
        # Behind the colon stands what it reads by itself.
        scanning = f'env PHP_INI_SCAN_DIR="{told}$PHP_INI_SCAN_DIR" ' if told else ""
        return f'{scanning}{program} -d "extension_dir=$home/{EXTENSIONS}"'

    def _outdated(self) -> str:
        """A test of the shell: extensions of another version than the program's may not load; of
        two PHPs of one series the older one lacks what the newer one mended."""
        version = self.build.php_version
        if not self.build.alone:
            return f'[ "$installed" != "{self.build.loads}" ]'
        if series_of(version) != self.series:
            return "false"
        return f'dpkg --compare-versions "$installed" gt "{as_package(version)}"'

    def _upgraded(self) -> str:
        """A branch of the shell: a package may mend holes and keep the version of its PHP."""
        package, version = self.build.package, self.build.package_version
        if not package:
            return ""
        return (
            f"elif now=$(dpkg-query -W -f='${{Version}}' {package} 2>/dev/null) &&\n"
            f'  dpkg --compare-versions "$now" gt "{version}"; then\n'
            f'  reason="{package} was upgraded since: $now is installed, and this build was made for {version}"\n'
        )

    def _made_for(self) -> str:
        build = self.build
        if build.alone or build.loads == build.php_version:
            return f"and this build is of {build.php_version}"
        return f"and this build was made beside {build.loads}"

    def _anew(self) -> str:
        build = self.build
        if not build.as_packaged:
            return "Build it anew with phpdyno build."
        return f"Build it anew: phpdyno build --refresh --like php-fpm{self.series}"

    def unit(self) -> str:
        configuration, number = self.configuration, self.series.replace(".", "")
        # Without systemd's library it cannot say that it is ready.
        kind = "notify" if READY in self.build.options else "exec"
        socket = f"/run/php/php-fpm.sock {configuration}/pool.d/www.conf {number}"
        given = f"--nodaemonize --fpm-config {configuration}/php-fpm.conf"
        # It goes when the unit stops.
        place = f"RuntimeDirectory={self.unit_name}\n" if self._keeps_ini_files else ""
        return f"""[Unit]
Description=php-fpm {series_of(self.build.php_version)}, rebuilt by phpdyno ({self.build.made_by})
After=network.target
Conflicts=php{self.series}-fpm.service

[Service]
Type={kind}
{place}ExecStart={self.home}/start {given}
ExecStartPost=-/usr/lib/php/php-fpm-socket-helper install {socket}
ExecStopPost=-/usr/lib/php/php-fpm-socket-helper remove {socket}
ExecReload={self.home}/start {CHECK} {given}
ExecReload=/bin/kill -USR2 $MAINPID

[Install]
WantedBy=multi-user.target
"""

    def readme(self) -> str:
        unit, series = self.unit_name, self.series
        return f"""php-fpm {self.build.php_version}, compiled anew ({self.build.made_by}).
What it was made of is in {self.home}/{BUILD_FILE}.

Switch to it:     systemctl disable --now php{series}-fpm && systemctl enable --now {unit}
The way back:     systemctl disable --now {unit} && systemctl enable --now php{series}-fpm
Or for good:      apt remove {self.name}

{unhardened(self.build)}

{self._uses()}
{self._told()}{self._command_line()}"""

    def _told(self) -> str:
        if not self.build.places:
            return ""
        names = ", ".join(sorted(self.build.places))
        where = f"{self.home}/{PLACES}"
        return f"The distribution's php-fpm knows by itself: {names}. This one is told in {where}, where php.ini does not say.\n\n"

    def _command_line(self) -> str:
        places = f"{self.home}/{PLACES}:" if self.build.places else ""
        if self.build.alone:
            told, how = "must be told what to load", f"PHP_INI_SCAN_DIR={places}{self.home}/{INI} {self.home}/php -m"
        else:
            told = f"read the ini files of {self.configuration}, and must be told where extensions are"
            scanning = f"PHP_INI_SCAN_DIR={places} " if places else ""
            how = f"{scanning}{self.home}/php -d extension_dir={self.home}/{EXTENSIONS} -m"
        return f"The programs php and php-cgi of the same build, which nothing starts, {told}:\n{how}\n"

    def _uses(self) -> str:
        aside = f"says so in the journal, and starts the distribution's php-fpm instead. {self._anew()}\n"
        if not self.build.alone:
            return (
                f"It uses the distribution's configuration ({self.configuration}) and extensions. When these are upgraded it notices\n"
                f"when it starts next, {aside}"
            )
        read = f"reads {self.build.ini}" if self.build.ini else "reads no php.ini"
        told = (
            f"Its extensions are compiled in. It uses the pools in {self.configuration} and {read}. Of files in conf.d the settings\n"
            f"count, as they are when it starts, and no line that loads an extension; those in {self.home}/{INI} are read last.\n"
        )
        if series_of(self.build.php_version) == self.series:
            return f"{told}Where the distribution has a newer PHP {self.series} when it starts, it {aside}"
        return f"{told}Nobody mends its holes but you: build it anew whenever its source is.\n"

    def places(self) -> str:
        """A line each, as the start script takes them."""
        lines = [f"{name}={ini_value(value, as_text=True)}" for name, value in sorted(self.build.places.items())]
        return (
            "; The distribution's php-fpm has these compiled in. They count where php.ini and conf.d do not set them.\n"
            + "\n".join(lines)
            + "\n"
        )

    def ini(self, loads: Mapping[str, str]) -> str:
        """What one that stands alone loads: its own opcache, and extensions that were added to
        it."""
        lines = [f"extension_dir={self.home}/{EXTENSIONS}", *(f"{kind}={self.home}/{EXTENSIONS}/{file}" for file, kind in loads.items())]
        return "; Read after php.ini and the settings of conf.d.\n" + "\n".join(lines) + "\n"


def unhardened(build: Build) -> str:
    """What a deployed build is without: the distribution's flags that make holes harder to use, and
    one that forgives what C does not."""
    # What BOLT lays out is linked so.
    lost = ("-fstack-protector-strong", "-D_FORTIFY_SOURCE", "-fno-strict-aliasing", *(() if build.recipe.bolt else ("-Wl,-z,now",)))
    return f"It is compiled without the distribution's {', '.join(lost[:-1])} and {lost[-1]}."


def package_texts(build: Build, contents: Contents) -> dict[str, str]:
    """The package's own files as texts, by their path below the root. Raises DynoError for a build
    that cannot be packaged."""
    refuse_unpackable(build)
    texts = _Texts(build)
    return {
        "DEBIAN/control": texts.control(contents),
        "DEBIAN/postinst": texts.postinst(),
        "DEBIAN/prerm": texts.prerm(),
        "DEBIAN/postrm": _script(f"{IF_SYSTEMD} systemctl daemon-reload || true; fi"),
        f"{HOME}/{texts.name}/start": texts.start(),
        **({f"{HOME}/{texts.name}/{PLACES}/{PLACES}.ini": texts.places()} if build.places else {}),
        **({f"{HOME}/{texts.name}/{INI}/phpdyno.ini": texts.ini(contents.loads)} if build.alone else {}),
        f"usr/lib/systemd/system/{texts.unit_name}.service": texts.unit(),
        f"usr/share/doc/{texts.name}/README": texts.readme(),
    }


def _script(text: str) -> str:
    return f"#!/bin/sh\nset -e\n{text}\n"
