"""Stacks for other people's tools: folded text, and speedscope's JSON. Pure."""

from collections.abc import Sequence
from typing import Any

import msgspec

from phpdyno import __version__
from phpdyno.model.inside.stacks import StackProfile

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_SEPARATORS = str.maketrans({";": ":", "\n": " ", "\r": " ", "\0": " "})


def folded_text(profile: StackProfile) -> str:
    """One line for each stack, `outermost;…;innermost COUNT`, as flamegraph.pl and its kin read
    them; '' without samples."""
    return "".join(f"{';'.join(map(_plain, stack.frames))} {stack.samples}\n" for stack in profile.stacks)


def speedscope(name: str, profiles: Sequence[StackProfile]) -> bytes:
    """A file for speedscope.app: a sampled profile for each of `profiles`, in microseconds of a
    request.

    A profile's first stacks are those that were met most often: there is no order of time in them.
    """
    frames: dict[str, int] = {}
    written = [_sampled(profile, frames) for profile in profiles]
    document = {
        "$schema": SCHEMA,
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": written,
        "name": name,
        "activeProfileIndex": 0,
        "exporter": f"phpdyno {__version__}",
    }
    return msgspec.json.encode(document)


def _sampled(profile: StackProfile, frames: dict[str, int]) -> dict[str, Any]:
    each_us = profile.period_us / max(1, profile.requests)
    weights = [stack.samples * each_us for stack in profile.stacks]
    return {
        "type": "sampled",
        "name": f"{profile.arm}, {'CPU' if profile.clock == 'cpu' else 'wall'} time of a request",
        "unit": "microseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [[frames.setdefault(_visible(frame), len(frames)) for frame in stack.frames] for stack in profile.stacks],
        "weights": weights,
    }


def _plain(frame: str) -> str:
    """A frame's name that holds nothing that ends it."""
    return frame.translate(_SEPARATORS)


def _visible(frame: str) -> str:
    """A name that is text: bytes that are none are replaced."""
    return frame.encode("utf-8", "replace").decode()
