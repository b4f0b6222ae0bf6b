"""An explanation as it is kept: without the rare stacks, of which a large app has tens of
thousands. Pure."""

from msgspec import structs

from phpdyno.model.inside.explained import Explained
from phpdyno.model.inside.stacks import PhpProfile, Stack, StackProfile

MOST_STACKS = 1000
RARE = "rare stacks"


def slim(found: Explained) -> Explained:
    """The same with the most frequent stacks of each profile, the rest of the samples as one."""
    return structs.replace(found, profiles=tuple(_of_arm(each) for each in found.profiles))


def _of_arm(profile: PhpProfile) -> PhpProfile:
    return structs.replace(profile, wall=_frequent(profile.wall), cpu=_frequent(profile.cpu))


def _frequent(profile: StackProfile) -> StackProfile:
    if len(profile.stacks) <= MOST_STACKS:
        return profile
    kept = sorted(profile.stacks, key=lambda each: -each.samples)[:MOST_STACKS]
    rest = sum(each.samples for each in profile.stacks) - sum(each.samples for each in kept)
    return structs.replace(profile, stacks=(*kept, Stack((RARE,), rest)))
