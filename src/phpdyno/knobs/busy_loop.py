"""What a busy loop hides of an arm's changes: settings that act by time."""

from collections.abc import Mapping

from phpdyno.knobs.by_time import BY_TIME, REVALIDATE, TIMESTAMPS
from phpdyno.knobs.judge import ini_name_of


def hidden_by_a_busy_loop(changed: Mapping[str, str], control_ini: Mapping[str, str]) -> dict[str, str]:
    """The changed settings whose effect on a site a busy loop hides, each with the reason.

    A period of 0 acts at every request, in the treatment as in its control, and shows.
    """
    found = {}
    for name, value in changed.items():
        own = ini_name_of(name)
        known = f"ini.{own}" if own else name
        period = control_ini.get((REVALIDATE if known == TIMESTAMPS else known).removeprefix("ini."), "")
        at_once = period == "0" or (value == "0" and known != TIMESTAMPS)
        if known in BY_TIME and not at_once:
            found[name] = BY_TIME[known]
    return found


def hidden_words(hidden: Mapping[str, str]) -> str:
    """`not judged under a busy loop: NAME acts by time`; '' for nothing."""
    if not hidden:
        return ""
    *names, last = hidden
    return (
        f"not judged under a busy loop: {', '.join(names)} and {last} act by time"
        if names
        else f"not judged under a busy loop: {last} acts by time"
    )
