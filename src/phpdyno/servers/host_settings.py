"""Settings of the host (layer `os`): set before the instances start that want them, restored once
the last of them is gone.

They hold for the whole host, so an arm has one by when it starts: php-fpm takes reserved huge
pages, and the length of its queue, when it starts. Instances with and without are therefore started
apart, one group after the other; while those without start, the settings are taken back. The
guardian restores what is left whatever becomes of us.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from phpdyno.errors import DynoError, UsageError
from phpdyno.model.arm import Arm
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.supervision.guardian import SETTABLE
from phpdyno.servers.supervision.supervisor import Supervisor

LAYER = "os."
FILES: Mapping[str, str] = {f"os.{file.removeprefix('/proc/sys/').replace('/', '.')}": file for file in SETTABLE}
"""The file of each setting that is written; os.thp is a property of the process instead."""
THP, NEVER = "os.thp", "never"
PAGES = "os.vm.nr_hugepages"


def can_set(name: str) -> bool:
    """Whether a setting is not one of the host's, or one that we may write."""
    return name not in FILES or os.access(FILES[name], os.W_OK)


def refuse_host_settings(settings: Mapping[str, str], *, where: str) -> None:
    """Raises UsageError for the first of them that we may not write."""
    for name in settings:
        if not can_set(name):
            raise UsageError(
                f"{name} cannot be set here",
                where=where,
                next_step="run as root on the host itself, or set it yourself for both arms, and leave it out here",
            )


def wants_settings(arm: Arm) -> bool:
    """Whether a setting of the host has to be written before this arm starts."""
    return any(name in FILES for name in arm.settings)


def thp_off(arm: Arm) -> bool:
    """Whether its processes are to have no transparent huge pages."""
    return arm.settings.get(THP, "").strip().lower() == NEVER


class HostSettings:
    """Writes what live instances want, and restores it when none is left that does."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._live: dict[int, Arm] = {}
        self._reserved_before = 0
        """Huge pages that the host reserved before ours: they are for whoever uses them."""

    def take(self, number: int, arm: Arm) -> None:
        """Before the instance `number` of an arm starts. Raises ArmFailed where the kernel gives
        less than is wanted."""
        if not wants_settings(arm):
            return
        if PAGES in arm.settings and not any(PAGES in other.settings for other in self._live.values()):
            self._reserved_before = int(Path(FILES[PAGES]).read_text())
        self._live[number] = arm
        for name, wanted in arm.settings.items():
            if name in FILES:
                self._write(arm, name, wanted)

    def give_back(self, number: int) -> None:
        """After it has stopped."""
        arm = self._live.pop(number, None)
        for name in arm.settings if arm else ():
            if name in FILES and not any(name in other.settings for other in self._live.values()):
                self._supervisor.set_host(FILES[name], None)

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """Put the host back as it was for a while, for instances that want no setting of it; those
        that want one have taken theirs. Raises ArmFailed where the kernel then gives less than
        before."""
        names = {name for arm in self._live.values() for name in arm.settings if name in FILES}
        for name in sorted(names):
            self._supervisor.set_host(FILES[name], None)
        try:
            yield
        except BaseException:
            # Others may be live and want theirs; what failed first is what is told.
            with suppress(ArmFailed):
                self._write_again(names)
            raise
        self._write_again(names)

    def _write_again(self, names: set[str]) -> None:
        for arm in self._live.values():
            for name in sorted(names & set(arm.settings)):
                self._write(arm, name, arm.settings[name])

    def _write(self, arm: Arm, name: str, wanted: str) -> None:
        """Reserved pages are for each instance by itself, besides those of before; anything else
        holds for all."""
        value = int(wanted)
        if name == PAGES:
            value = self._reserved_before + sum(int(other.settings[name]) for other in self._live.values() if name in other.settings)
        try:
            got = self._supervisor.set_host(FILES[name], str(value))
        except DynoError as error:
            raise ArmFailed(arm, str(error)) from error
        if int(got) < value:
            raise ArmFailed(arm, f"{name}: the kernel gives {got} of {value}: memory is in pieces, or short")


def in_order(arms: Sequence[Arm]) -> list[list[int]]:
    """Places of the arms in the groups that start one after the other: those with settings of the
    host, and those without.

    Who starts later finds other memory. So the order that the arms are given in, which is drawn for
    every block, decides which group is first: the one whose arms stand further to the front on
    average, which is either of them half of the time, however many arms a group has.
    """
    groups: list[list[int]] = [[], []]
    for place, arm in enumerate(arms):
        groups[wants_settings(arm)].append(place)
    if not all(groups):
        return [group for group in groups if group]
    mean = [sum(group) / len(group) for group in groups]
    as_they_are = arms[0].name <= arms[-1].name if mean[0] == mean[1] else mean[0] < mean[1]
    return groups if as_they_are else groups[::-1]
