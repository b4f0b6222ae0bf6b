"""A PHP that was compiled here, as a part of what was adopted: a package deploys it, and the
bundle's files are for that one. Pure."""

from collections.abc import Mapping

from msgspec import Struct, structs

from phpdyno.bundle.manifest import PROGRAM, REBUILT, ByHand, PhpPlace
from phpdyno.errors import DynoError
from phpdyno.model.build import Build, configuration_of
from phpdyno.php_build.compile.dropin import EXTENSIONS
from phpdyno.php_build.package.naming import home_of, package_name, refuse_unpackable, series_beside, unit_name, version_of
from phpdyno.php_build.package.texts import INI, PLACES


class Rebuilt(Struct, frozen=True):
    """A build, and the settings by which an arm runs it."""

    build: Build
    settings: Mapping[str, str]

    def has_package(self, stock: PhpPlace) -> bool:
        """Whether a package of it would serve the site as `stock` does, whose service reads the
        distribution's files and no others."""
        try:
            refuse_unpackable(self.build)
        except DynoError:
            return False
        usual = configuration_of(series_beside(self.build.like))
        told = {*stock.options, stock.config} - {"-y", "--fpm-config"}
        return told == {f"{usual}/php-fpm.conf"} and not stock.scan_dir and not stock.defined

    def place(self, stock: PhpPlace) -> PhpPlace:
        """Where the package has what the PHP beside it has in `stock`; that itself where there is
        no package."""
        build, home = self.build, home_of(self.build)
        if not self.has_package(stock):
            return stock
        # Compiled elsewhere than the distribution's, it does not know its configuration by itself.
        read = ("-y", stock.config)
        own = structs.replace(stock, version=build.php_version, executable=f"{home}/php-fpm", unit=unit_name(build))
        told = f"{home}/{PLACES}:" if build.places else ""
        if build.alone:
            return structs.replace(
                own, ini_dir=f"{home}/{INI}", scan_dir=f"{told}{home}/{INI}", options=("-c", build.ini or "/dev/null", *read)
            )
        return structs.replace(own, scan_dir=told, options=("-d", f"extension_dir={home}/{EXTENSIONS}", *read))

    def adopted(self, settings: Mapping[str, str], stock: PhpPlace) -> dict[str, str]:
        """What was adopted, as it is once the package is there: the build is one setting, its
        program. Without a package it is left out."""
        rest = {name: value for name, value in settings.items() if name not in self.settings}
        return {PROGRAM: f"{home_of(self.build)}/php-fpm", **rest} if self.has_package(stock) else rest

    def by_hand(self, stock: PhpPlace) -> ByHand:
        """What a person has to do before all else, where the service `stock` runs now."""
        return ByHand(setting=REBUILT, value=self.build.name, todo=self._todo(stock))

    def _todo(self, stock: PhpPlace) -> str:
        build, name = self.build, package_name(self.build)
        if build.measuring_only:
            return (
                f"leave it, and what it brings is not to be had: PHP {build.php_version} is not the installed one, so it is for measuring "
                "only. Build it again when the source of the installed one can be had"
            )
        if not self.has_package(stock):
            given = " ".join(f"{key.removeprefix('php.')}={value}" for key, value in self.settings.items())
            return (
                f"let what starts php-fpm now ({stock.unit}) start this one, with all else that it is given now ({given}): a package would "
                "read the distribution's configuration and no other"
            )
        steps = (
            f"before all else, where it was measured and by whoever built it, package it (`phpdyno build {build.name} --package .`)",
            f"install it (`apt install ./{name}_{version_of(build)}_*.deb`)",
            f"and switch to it (`systemctl disable --now {stock.unit} && systemctl enable --now {unit_name(build)}`)",
        )
        return f"{', '.join(steps)}. Its service has none of what {stock.unit}.service.d adds to the other: copy what you need"
