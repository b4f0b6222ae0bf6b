"""Proofs of what opcache shows of itself: its memory, its tables, what it preloaded. Pure
predicates over WorkerFacts."""

from phpdyno.knobs.domain import JIT, Domain, size_bytes
from phpdyno.knobs.proof import Proof, in_force, why_off
from phpdyno.model.facts import WorkerFacts

_MIB = 1 << 20


def memory(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """What is used, free and wasted makes up the wanted MiB."""
    if facts.opcache is None:
        return False, why_off(facts)
    status = facts.opcache
    total = status.used_bytes + status.free_bytes + status.wasted_bytes
    detail = f"{total / _MIB:.1f} MiB of shared memory, {status.free_bytes / _MIB:.1f} of them free"
    return abs(total - int(wanted) * _MIB) <= 0.01 * int(wanted) * _MIB, detail


def interned_strings(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The buffer has the wanted MiB, of which its own hash table takes an eighth to a quarter."""
    if facts.opcache is None:
        return False, why_off(facts)
    size, free = facts.opcache.strings_bytes, facts.opcache.strings_free_bytes
    asked = int(wanted) * _MIB
    if asked == 0:
        return size == 0, "no buffer for interned strings" if size == 0 else f"still {size / _MIB:.1f} MiB for interned strings"
    return 0.7 * asked <= size <= asked, f"room for {size / _MIB:.1f} MiB of interned strings, {free / _MIB:.1f} free"


def table_of_files(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The hash table has at least so many entries; opcache rounds up to one of its primes."""
    if facts.opcache is None:
        return False, why_off(facts)
    status = facts.opcache
    return status.most_keys >= int(wanted), f"the table holds {status.most_keys} keys, {status.keys} are taken"


def preload(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """Proves that it is in force and scripts were preloaded; an empty value: none was."""
    count = facts.opcache.preloaded_scripts if facts.opcache else 0
    if not wanted:
        return count == 0, f"{count or 'no'} scripts preloaded"
    if facts.opcache is None:
        return False, why_off(facts)
    ok, detail = in_force("opcache.preload")(facts, wanted)
    return ok and count > 0, f"{count} scripts preloaded; {detail}"


def jit_counter(name: str, domain: Domain, triggers: str) -> Proof:
    """Proves that it is in force and a JIT that heeds it has compiled code. `triggers`: the
    values of CRTO's T, its last digit but one, that do."""
    inner = in_force(name, domain)

    def proof(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
        jit = facts.opcache.jit if facts.opcache else None
        if jit is None or not jit.on:
            return False, "the JIT is off, so this setting does nothing"
        mode = JIT.canonical(facts.ini.get("opcache.jit", ""))
        if mode[-2:-1].isdecimal() and mode[-2] not in triggers:
            return False, f"opcache.jit={facts.ini['opcache.jit']} does not count this, so this setting does nothing"
        ok, detail = inner(facts, wanted)
        compiled = jit.free_at_start_bytes - jit.buffer_free_bytes
        return ok and compiled > 0, f"{detail}; {compiled / 1024:.1f} KiB of machine code compiled"

    return proof


def jit_buffer_kib(value: str) -> int:
    """KiB of a JIT buffer, which all workers share."""
    return (size_bytes(value) or 0) >> 10
