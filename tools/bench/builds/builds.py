"""Section `builds`: how long a build takes."""

from tools.bench.builds.builder import builder
from tools.bench.figures import Figure, Target, median_figure
from tools.bench.results import Room, Sizes

FROM_NOTHING = Target("≤ 12 min", at_most=720.0)
FOUND_AGAIN = Target("≤ 5 s", at_most=5.0)
BUILD_S = 3600.0


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """A build with nothing in the cache, and the same from it."""
    build = ("build", "--train", sizes.build_app, "--recipe", "pgo")
    with builder(sizes, room) as phpdyno:
        room.say(f"phpdyno {' '.join(build)}, nothing in the cache")
        took_s = phpdyno.timed("build", *build, most_s=BUILD_S)
        again = [phpdyno.timed("build-again", *build, most_s=BUILD_S) for _ in range(sizes.build_again)]
    return [
        Figure("PGO build, nothing in the cache", "s", took_s, took_s, took_s, "one build", FROM_NOTHING),
        median_figure("the same build, found in the cache", again, target=FOUND_AGAIN),
    ]
