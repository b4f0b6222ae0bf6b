"""Is a setting at work in the app's own requests? What the app's directory or its code sets wins
over php.ini. Pure, over what requests of both arms had in force."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from phpdyno.knobs.judge import alike, ini_name_of
from phpdyno.model.inside.in_app import SeenInRequest
from phpdyno.model.verdict import ProofOutcome

BY_APP = "by the app itself (ini_set)"
MOST_NAMED = 3


def judged_in_app(
    outcomes: Sequence[ProofOutcome], worker: Mapping[str, str], control: Sequence[SeenInRequest], treated: Sequence[SeenInRequest]
) -> tuple[ProofOutcome, ...]:
    """The outcomes, where a php.ini setting was proved in the worker, as the app's requests bear
    them out; `worker` is what the treated worker has in force of php.ini outside of the app.

    Outdone in every target: not proved. In some: the detail names them. The same in every target of
    the control: it changes nothing.
    """
    return tuple(_judged(outcome, worker, control, treated) for outcome in outcomes)


def _judged(
    outcome: ProofOutcome, worker: Mapping[str, str], control: Sequence[SeenInRequest], treated: Sequence[SeenInRequest]
) -> ProofOutcome:
    name = ini_name_of(outcome.knob)
    wanted = worker.get(name)
    if not outcome.proved or wanted is None:
        return outcome
    seen = [each for each in treated if name in each.ended]
    if not seen:
        return structs.replace(outcome, detail=f"{outcome.detail}; outside of the app only: its own requests could not be asked")
    outdone = [(each.target, words) for each in seen if (words := _outdone(each, name, wanted))]
    why = _not_at_work(name, wanted, seen, outdone)
    if why:
        return structs.replace(outcome, proved=False, detail=why)
    if outdone:
        return structs.replace(outcome, detail=f"{outcome.detail}; but not everywhere: {_named(outdone)}")
    if len(list(_same(control, seen, name))) == len(seen):
        where = seen[0].target
        detail = f"the control has the same value in the app's own requests: in {where}: {seen[0].ended[name]!r}"
        return ProofOutcome(outcome.knob, outcome.value, proved=False, detail=detail, same_as_control=True)
    return structs.replace(outcome, detail=f"{outcome.detail}, and in the app's own requests")


def _not_at_work(name: str, wanted: str, seen: Sequence[SeenInRequest], outdone: Sequence[tuple[str, str]]) -> str:
    """Why a setting is at work in no request; '' where it is in one."""
    if unasked := _asked_by_nobody(name, wanted, seen):
        return f"not seen at work: {unasked}"
    return f"{_named(outdone)}; the worker has {wanted!r} outside of the app" if len(outdone) == len(seen) else ""


def _asked_by_nobody(name: str, wanted: str, seen: Sequence[SeenInRequest]) -> str:
    """What a setting acts on and no request has; '' where it is there, or for any other setting."""
    if name == "zlib.output_compression" and not alike(wanted, "0") and not any(each.takes_gzip for each in seen):
        return "no request says Accept-Encoding: gzip"
    if name.startswith("session.") and name != "session.auto_start" and not any(each.session for each in seen):
        return "no request opens a session"
    return ""


def _outdone(seen: SeenInRequest, name: str, wanted: str) -> str:
    """What is in force instead, and by whom; '' where it is what is wanted."""
    begun = seen.begun.get(name, wanted)
    if not alike(begun, wanted):
        file = seen.user_ini.get(name, "")
        return f"{name} is {begun!r}, by {file.rpartition('/')[2] or 'its directory'}"
    ended = seen.ended[name]
    return "" if alike(ended, wanted) else f"{name} is {ended!r}, {BY_APP}"


def _same(control: Sequence[SeenInRequest], treated: Sequence[SeenInRequest], name: str) -> Iterator[str]:
    """Targets in which both arms had the same."""
    theirs = {each.target: each.ended[name] for each in control if name in each.ended}
    for each in treated:
        if each.target in theirs and alike(theirs[each.target], each.ended[name]):
            yield each.target


def _named(outdone: Sequence[tuple[str, str]]) -> str:
    """`in /: output_buffering is '0', by .user.ini`; several targets with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for target, words in outdone:
        by_reason.setdefault(words, []).append(target)
    return "; ".join(f"in {_some(targets)}: {words}" for words, targets in by_reason.items())


def _some(targets: Sequence[str]) -> str:
    rest = len(targets) - MOST_NAMED
    return ", ".join(targets[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
