"""Section `speed`: what a user gains, by a tune of WordPress with everything that the catalogue
has."""

import shutil

from phpdyno.commands.tune.words import settings_words
from phpdyno.journal.tune import TuneRecord
from tools.bench.figures import Figure, Target
from tools.bench.results import Room, Sizes
from tools.bench.sections.tunes import tuned

APP = "wordpress"
RUNTIME = Target("≥ 1.11×", at_least=1.11)
KEPT = Target("≤ 110 %", at_most=1.10)


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    runs = room.unfinished
    shutil.rmtree(runs, ignore_errors=True)
    room.say(f"phpdyno tune {APP} --budget {sizes.speed_s:.0f}s")
    return figures_of(tuned(APP, runs, room.logs, budget_s=sizes.speed_s))


def figures_of(record: TuneRecord) -> list[Figure]:
    """The last confirmation that was adopted, the control against itself, what the screening says
    of each change, and the time."""
    found = record.found
    adopted = [each for each in found.confirmations if each.decision == "adopted" and each.ratio is not None]
    gain = Figure("CPU per request, distribution / runtime settings that were adopted", "×", 1.0, None, None, "nothing adopted", RUNTIME)
    beside: list[Figure] = []
    if adopted and (ratio := adopted[-1].ratio):
        said = f"fresh instances, {ratio.blocks} blocks"
        gain = Figure(gain.name, "×", ratio.value, ratio.low, ratio.high, said, RUNTIME, settings_words(_without_paths(found.settings)))
        if aa := adopted[-1].aa:
            beside.append(Figure("the distribution's settings against themselves, beside it", "×", aa.value, aa.low, aa.high, said))
    screened = [
        Figure(f"{each.name}, averaged over what the others are at", "×", each.ratio.value, each.ratio.low, each.ratio.high, "screening")
        for each in (found.screening.effects if found.screening else ())
        if each.ratio is not None
    ]
    used = record.spent_s / record.asked.budget_s
    return [gain, *beside, *screened, Figure("time of the tune, of its budget", "%", used, used, used, "one tune", KEPT)]


def _without_paths(settings: dict[str, str]) -> dict[str, str]:
    return {name: "preload.php" if name == "ini.opcache.preload" else value for name, value in settings.items()}
