"""What was watched, kept for the summary: a history of each pool, and what follows of it."""

from collections.abc import Iterator, Mapping

from phpdyno.commands.watch.found import Advice, HostMoment, PoolMoment
from phpdyno.commands.watch.judging.advice import advise, crowd
from phpdyno.commands.watch.judging.history import History


class Keeper:
    """Histories of all pools, by master and name."""

    def __init__(self) -> None:
        self._histories: dict[tuple[int, str], History] = {}
        self._sources: dict[tuple[int, str], str] = {}
        self._files: dict[tuple[int, str], tuple[Mapping[str, str], int]] = {}
        self._host: HostMoment | None = None

    def add(self, host: HostMoment, pools: tuple[PoolMoment, ...]) -> None:
        """One interval."""
        self._host = host
        for pool in pools:
            key = pool.master, pool.pool
            self._histories.setdefault(key, History()).add(pool, host)
            self._sources[key] = pool.source

    def files(self, master: int, pool: str, directives: Mapping[str, str], process_max: int) -> None:
        """What the file of a pool says."""
        self._files[master, pool] = directives, process_max

    def advice(self) -> Iterator[Advice]:
        """The advice for every pool that was seen."""
        for (master, pool), history in self._histories.items():
            directives, process_max = self._files.get((master, pool), ({}, 0))
            yield advise(pool, master, history.seen(), directives, process_max=process_max, source=self._sources[master, pool])

    def together(self) -> str:
        """What concerns all pools of the host; '' for nothing."""
        seen = [(pool, history.seen()) for (_, pool), history in self._histories.items()]
        return crowd(seen, self._host.memory_kib if self._host else None)
