"""The bundle of a tune: what was adopted, with its evidence."""

from collections.abc import Mapping
from pathlib import Path

from phpdyno.bundle.live_place import basis_of_live, place_of_live
from phpdyno.bundle.making import Findings, write_bundle
from phpdyno.bundle.manifest import Evidence, Manifest, debian_place
from phpdyno.journal.tune import TuneRecord
from phpdyno.model.plan import Metric
from phpdyno.model.tune import Confirmed, Found, PartFound, Ratio, metric_of
from phpdyno.report.tune_words import confirmed_words, part_words
from phpdyno.stack.live_pool import LivePool
from phpdyno.stack.php import IniFiles


def make_tune_bundle(
    directory: Path, run: str, record: TuneRecord, found: Found, *, live: tuple[LivePool, IniFiles] | None = None, preload: str = ""
) -> Manifest:
    """Write it; `live` is the running pool that the control was read from. Raises DynoError, UsageError."""
    php = record.control.php
    place = place_of_live(live[0], live[1], php.version) if live else debian_place(php.version, php.fpm)
    together = [each for each in found.confirmations if each.decision == "adopted"]
    return write_bundle(
        directory,
        Findings(
            run=run,
            app=record.app,
            seed=record.asked.seed,
            php=place,
            host=record.host,
            control=record.control.settings,
            settings=found.settings,
            effects=evidence(record, found),
            together=_confirmed(together[-1]) if together else None,
            preload=preload,
            based_on=basis_of_live(*live) if live else {},
        ),
    )


def evidence(record: TuneRecord, found: Found) -> tuple[Evidence, ...]:
    """One for each part that was adopted, by its own metric."""
    parts = [each for each in found.parts if each.kept and _adopted(each.settings, found.settings)]
    confidence = 1.0 - (1.0 - record.asked.confidence) / max(1, len(found.parts))
    told = [_evidence(each, record.asked.metric, confidence, part_words(each)) for each in parts]
    whole = [each for each in found.confirmations if not parts and each.decision == "adopted"]
    loaded = [each for each in found.loaded if each.decision == "adopted" and _adopted(each.settings, found.settings)]
    return (*told, *(_confirmed(each) for each in (*whole, *loaded)))


def _confirmed(each: Confirmed) -> Evidence:
    return _evidence(each, metric_of(each.goal), each.confidence, confirmed_words(each))


def _evidence(each: Confirmed | PartFound, metric: Metric, confidence: float, verdict: str) -> Evidence:
    seen = each.ratio or Ratio(1.0, None, None)
    return Evidence(
        name=each.name,
        settings=each.settings,
        metric=metric,
        ratio=seen.ratio,
        low=seen.low,
        high=seen.high,
        confidence=confidence,
        blocks=seen.blocks,
        verdict=verdict,
    )


def _adopted(settings: Mapping[str, str], all_of_them: Mapping[str, str]) -> bool:
    return all(all_of_them.get(name) == value for name, value in settings.items())
