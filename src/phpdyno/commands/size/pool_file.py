"""The recommended pool as a bundle: settings with their reasons, tested by `php-fpm -t` before
anybody is told of them."""

from collections.abc import Mapping
from pathlib import Path

from phpdyno.bundle.manifest import Evidence, Manifest, debian_place
from phpdyno.bundle.write.live_place import place_of_live
from phpdyno.bundle.write.making import BundleContents, write_bundle
from phpdyno.bundle.write.texts import pool_text
from phpdyno.commands.size.found import SizeFound
from phpdyno.commands.size.record import SizeHeader
from phpdyno.errors import DynoError
from phpdyno.host.files.scratch import scratch_directory
from phpdyno.model.facts import HostFacts
from phpdyno.paths import live_root
from phpdyno.servers.programs.finding import told
from phpdyno.session.builds import site_fpm
from phpdyno.session.specs import Imported

BUNDLE = "bundle"


def make_size_bundle(
    directory: Path, run: str, header: SizeHeader, found: SizeFound, *, host: HostFacts, given: Mapping[str, str], live: Imported | None
) -> Manifest:
    """Write it; `given` are the control's settings, `live` the running pool that they were read
    from. Raises DynoError, UsageError."""
    php = header.arm.php
    place = place_of_live(live.pool, live.files, php.version) if live else debian_place(php.version, site_fpm(php))
    settings = {f"pool.{name}": value for name, value in found.pool.settings.items()}
    check_pool(place.executable, found.pool.settings)
    return write_bundle(
        directory,
        BundleContents(
            run=run,
            app=header.app,
            seed=header.asked.seed,
            php=place,
            host=host,
            control=dict(given),
            settings={**settings, **found.pool.kernel},
            effects=_evidence(found, settings, header.asked.confidence),
            based_on=live.basis if live else {},
            remarks={f"pool.{name}": why for name, why in found.pool.reasons.items()},
        ),
    )


def check_pool(fpm: str, settings: Mapping[str, str]) -> None:
    """Let php-fpm test a pool of these settings. Raises DynoError where it refuses them."""
    with scratch_directory(live_root()) as place:
        config = place / "fpm.conf"
        # The account is not looked up where php-fpm does not run as root.
        start = "[global]\nerror_log = /dev/null\n[www]\nuser = nobody\nlisten = 127.0.0.1:65529\n"
        config.write_text(start + pool_text(settings, "www", "a test"))
        answer = told([fpm, "--test", "--fpm-config", str(config)])
    if answer.returncode != 0:
        said = (answer.stderr or answer.stdout).decode(errors="replace").strip().splitlines()
        raise DynoError(f"php-fpm refuses the recommended pool: {said[0] if said else 'it does not say why'}", where=fpm)


def _evidence(found: SizeFound, settings: Mapping[str, str], confidence: float) -> tuple[Evidence, ...]:
    """The recommended pool over each other one of the confirmation."""
    return tuple(
        Evidence(
            name=f"{found.recommended.workers} workers instead of {row.workers}",
            settings=dict(settings),
            metric="throughput",
            ratio=row.over.value,
            low=row.over.low,
            high=row.over.high,
            confidence=confidence,
            blocks=row.over.rounds,
            verdict=row.words,
        )
        for row in found.confirmed
        if row.over is not None and row.workers != found.recommended.workers
    )
