"""The answer of a check-up: what this host can measure, what limits it, and how to mend that.
Pure."""

from phpdyno.commands.doctor.estimate import in_short
from phpdyno.commands.doctor.run import CheckUp
from phpdyno.host.checkup.check import Check
from phpdyno.report.answer.parts import with_room_for
from phpdyno.report.answer.shape import CommandAnswer

MOST_FIXES = 4
MACHINE = "machine"
TYPED = ("sudo ", "ulimit ", "ps ", "systemctl ")
"""What a fix begins with that a shell takes."""


def doctor_answer(found: CheckUp) -> CommandAnswer:
    """What a check-up comes to."""
    absent = [check for check in found.checks if check.essential]
    limits = [check for check in found.checks if check.state == "limits"]
    missing = [check for check in found.checks if check.state == "missing" and not check.essential]
    machine = next((check.found for check in found.checks if check.name == MACHINE), "")
    fixes = [(f"Fix {check.name}", check.fix) for check in (*absent, *missing, *limits) if check.fix.startswith(TYPED)]
    answer = CommandAnswer(
        subject=f"this host{f' · {machine}' if machine else ''}",
        result=_result(found, absent, limits, missing),
        standing="bad" if not found.possible else "open" if limits else "good",
        beside=() if found.estimate is None else (in_short(found.estimate),),
        doubts=tuple(f"{check.name}: {check.found}" for check in absent),
        next=(*fixes[:MOST_FIXES], ("All", "phpdyno doctor --verbose")),
    )
    return with_room_for(answer, [_note(check) for check in (*missing, *limits)])


def _result(found: CheckUp, absent: list[Check], limits: list[Check], missing: list[Check]) -> str:
    if absent:
        return "nothing can be measured before this is mended"
    if not found.possible:
        return "measuring was tried and failed"
    how = " with --transport fastcgi" if any(check.name == "nginx" for check in missing) else ""
    said = f"comparisons can be measured here{how}"
    told = [
        f"{what}: {', '.join(check.name for check in checks)}"
        for what, checks in (("limited by", limits), ("not installed", missing))
        if checks
    ]
    return "; ".join([said, *told])


def _note(check: Check) -> str:
    """What was found, what that means, and what would help where that is nothing to type."""
    helps = check.fix if check.fix and not check.fix.startswith(TYPED) else ""
    told = [each[:1].upper() + each[1:] for each in (check.means, helps) if each]
    # The subject says already what machine it is.
    found = "" if check.name == MACHINE and told else f" {check.found}."
    return f"{check.name}:{found}" + "".join(f" {each}." for each in told)
