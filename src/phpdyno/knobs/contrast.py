"""What a worker must show otherwise than the control's, where the worker alone proves nothing.
Pure, over the facts of both."""

from collections.abc import Callable

from phpdyno.knobs.domain import BOOLEAN
from phpdyno.model.facts import WorkerFacts

Contrast = Callable[[WorkerFacts, WorkerFacts, str], tuple[bool, str]]
"""Takes the facts of the control, those of the treatment and the wanted value; gives whether it
shows, and what was read."""


def _switched_on(wanted: str) -> bool:
    return not BOOLEAN.accepts(wanted) or BOOLEAN.canonical(wanted) == "1"


def _compared(what: str, before: int, now: int, *, more: bool) -> tuple[bool, str]:
    return (now > before if more else now < before), f"{now} KiB of {what} in the worker, {before} in the control's"


def anonymous_huge(control: WorkerFacts, treated: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """More anonymous huge pages than the control's worker has, which with THP=always has some
    anyway; fewer where they are switched off."""
    return _compared("anonymous huge pages", control.anon_huge_kib, treated.anon_huge_kib, more=_switched_on(wanted))


def any_huge(control: WorkerFacts, treated: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """More huge pages of either kind: PHP takes reserved ones for code and heap, anonymous ones
    where none is free."""
    before, now = (facts.hugetlb_kib + facts.anon_huge_kib for facts in (control, treated))
    return _compared("huge pages", before, now, more=_switched_on(wanted))


def code_moved(control: WorkerFacts, treated: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """More code on huge pages of either kind, and how much of the program's is not: opcache moves
    its first mapping only, and of that whole pages. Huge pages of opcache's memory or of the heap
    prove nothing."""
    before, now = control.kernel.code_huge_kib, treated.kernel.code_huge_kib
    shows, read = _compared("code on huge pages", before, now, more=_switched_on(wanted))
    left = treated.kernel.text_kib
    return shows, f"{read}; {left} KiB of the program's code are on small pages" if shows and _switched_on(wanted) else read


def reserved_huge(control: WorkerFacts, treated: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """More reserved huge pages in the worker than in the control's; fewer where none is wanted."""
    return _compared("reserved huge pages", control.hugetlb_kib, treated.hugetlb_kib, more=wanted != "0")


def without_huge(control: WorkerFacts, treated: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """Fewer anonymous huge pages than the control's worker: without any there is nothing to switch
    off."""
    return _compared("anonymous huge pages", control.anon_huge_kib, treated.anon_huge_kib, more=wanted != "never")


def tunables(control: WorkerFacts, treated: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """glibc.malloc.hugetlb: 1 asks for transparent huge pages, 2 and more for reserved ones. Of
    other tunables nothing can be seen."""
    given = dict(part.partition("=")[::2] for part in wanted.split(":"))
    hugetlb = given.get("glibc.malloc.hugetlb", "0")
    if hugetlb == "0":
        return True, "nothing in a worker with one thread shows what these tunables do"
    return anonymous_huge(control, treated, "1") if hugetlb == "1" else reserved_huge(control, treated, hugetlb)


def other_table(control: WorkerFacts, treated: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """A hash table of another size: what is asked for is rounded up to one of a few primes, and two
    values may come out as one."""
    before, now = (facts.opcache.most_keys if facts.opcache else 0 for facts in (control, treated))
    return before == 0 or now != before, f"the table holds {now} keys, the control's {before}"
