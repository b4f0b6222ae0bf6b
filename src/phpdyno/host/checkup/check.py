"""One line of the check-up."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from phpdyno.host.system import has_apt
from phpdyno.package import CLONED, SETUP

Group = Literal["measuring", "isolation", "tools", "servers", "disk"]
State = Literal["ok", "limits", "missing", "unknown"]


class Check(Struct, frozen=True):
    """What was found, what that means for measuring, and how to change it."""

    group: Annotated[Group, Meta(description="Section of the report.")]
    name: Annotated[str, Meta(description="What was looked at; unique within a group.")]
    state: Annotated[
        State,
        Meta(
            description="`ok`: nothing to do. `limits`: something cannot be measured, or less well. `missing`: not there. "
            "`unknown`: could not be read."
        ),
    ]
    found: Annotated[str, Meta(description="What was found, in words.")]
    means: Annotated[str, Meta(description="What that means for measuring; empty when nothing.")] = ""
    fix: Annotated[str, Meta(description="The command or the step that changes it; empty where there is none.")] = ""
    essential: Annotated[bool, Meta(description="Whether measuring is impossible without; only true when the state is `missing`.")] = False


INSTALL = "sudo apt-get install --no-install-recommends"
INSTALL_SERVERS = f"sudo sh {'scripts/setup.sh' if CLONED else SETUP} --packages-only"
BY_OWN_MEANS = "this system's package manager, under its own name for Debian's"
"""What stands behind `install it with:` where there is no apt-get."""


def install(*packages: str) -> str:
    """The line that installs Debian packages that bring no service."""
    return " ".join([INSTALL if has_apt() else BY_OWN_MEANS, *packages])


def install_servers(*packages: str) -> str:
    """The line that installs packages whose service apt-get alone would start, or start again: for
    phpdyno's own directory, or (of a wheel, which has none) with what to know."""
    if has_apt() and not SETUP.is_file():
        return f"{install(*packages)} (which starts a service that they have)"
    return " ".join([INSTALL_SERVERS if has_apt() else BY_OWN_MEANS, *packages])


def mib(kib: int) -> str:
    """A size in words: `512 MiB`, `3.2 GiB`."""
    return f"{kib / 2**20:.1f} GiB" if kib >= 2**20 else f"{kib // 1024} MiB"


def cores_in_words(cores: tuple[int, ...]) -> str:
    """`core 1`, `cores 0, 2`."""
    return f"core{'' if len(cores) == 1 else 's'} {', '.join(map(str, cores))}"


def share(fraction: float) -> str:
    """A fraction in words: `0.1 %`."""
    return f"{100 * fraction:.1f} %"
