"""The bundle of a tune: what was adopted, with its evidence."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from phpdyno.bundle.manifest import Evidence, Manifest, debian_place
from phpdyno.bundle.write.live_place import place_of_live
from phpdyno.bundle.write.making import BundleContents, write_bundle
from phpdyno.commands.tune.builds import rebuilt_in
from phpdyno.commands.tune.words import kind_words
from phpdyno.journal.tune import TuneRecord
from phpdyno.model.runs.tune import Confirmed, Found, Goal, PartFound, TunedRatio
from phpdyno.session.builds import site_fpm
from phpdyno.session.specs import Imported


def make_tune_bundle(
    directory: Path,
    run: str,
    record: TuneRecord,
    found: Found,
    *,
    control: Mapping[str, str],
    live: Imported | None = None,
    preload: str = "",
    preload_root: str = "",
) -> Manifest:
    """Write it. `control` is what the settings were proved on top of, `live` the running pool that
    it was read from, `preload_root` where the preload script looks for the app ('': nowhere yet).
    Raises DynoError, UsageError."""
    php = record.control.php
    place = place_of_live(live.pool, live.files, php.version) if live else debian_place(php.version, site_fpm(php))
    together = [each for each in found.confirmations if each.decision == "adopted" and _adopted(each.settings, found.settings)]
    return write_bundle(
        directory,
        BundleContents(
            run=run,
            app=record.app,
            seed=record.asked.seed,
            php=place,
            host=record.host,
            control=dict(control),
            settings=found.settings,
            effects=evidence(record, found),
            together=_confirmed(together[-1]) if together else None,
            preload=preload,
            preload_root=preload_root,
            based_on=live.basis if live else {},
            rebuilt=rebuilt_in(found.settings),
        ),
    )


def evidence(record: TuneRecord, found: Found) -> tuple[Evidence, ...]:
    """One for each part that was adopted, by its own goal; a number that was found later may stand
    in the place of a part's own."""
    parts = [
        structs.replace(each, settings={name: found.settings[name] for name in each.settings})
        for each in found.parts
        if each.kept and each.settings.keys() <= found.settings.keys()
    ]
    confidence = 1.0 - (1.0 - record.asked.confidence) / max(1, len(found.parts))
    told = [_evidence(each, record.asked.goal, confidence, each.reason) for each in parts]
    whole = [each for each in found.confirmations if not parts and each.decision == "adopted" and _adopted(each.settings, found.settings)]
    loaded = [each for each in found.loaded if each.decision == "adopted" and _adopted(each.settings, found.settings)]
    return (*told, *(_confirmed(each) for each in (*whole, *loaded)))


def _confirmed(each: Confirmed) -> Evidence:
    return _evidence(each, each.goal, each.confidence, _verdict(each))


def _verdict(each: Confirmed) -> str:
    """`improved, relevant`; why there is no number where there is none."""
    return each.reason if each.kind == "invalid" else kind_words(each)


def _evidence(each: Confirmed | PartFound, goal: Goal, confidence: float, verdict: str) -> Evidence:
    seen = each.ratio or TunedRatio(1.0, None, None)
    return Evidence(
        name=each.name,
        settings=each.settings,
        metric=goal,
        ratio=seen.ratio,
        low=seen.low,
        high=seen.high,
        confidence=confidence,
        blocks=seen.blocks,
        verdict=verdict,
    )


def _adopted(settings: Mapping[str, str], all_of_them: Mapping[str, str]) -> bool:
    return all(all_of_them.get(name) == value for name, value in settings.items())
