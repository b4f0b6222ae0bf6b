"""Where apt finds source packages, as a private configuration: the system's own lists name binary
packages, and stay as they are. Pure."""

import re
from collections.abc import Mapping
from pathlib import Path

_TYPES = re.compile(r"^Types:.*$", re.MULTILINE | re.IGNORECASE)
_DISABLED = re.compile(r"^Enabled:\s*(no|false|0)\s*$", re.MULTILINE | re.IGNORECASE)
_LINE = re.compile(r"^\s*deb(?:-src)?\s+(.*\S)\s*$", re.MULTILINE)


def source_lists(texts: Mapping[str, str]) -> dict[str, str]:
    """The same archives for source packages, by file name; `texts` are the system's lists. Files
    that name no archive are left out.

    Whom to trust (`Signed-By`, `[signed-by=…]`) is kept, and that of somebody who trusts an archive
    by hand (`Trusted`, `[trusted=yes]`).
    """
    found = {name: _stanzas(text) if name.endswith(".sources") else _lines(text) for name, text in texts.items()}
    return {name: text for name, text in found.items() if text}


def _stanzas(text: str) -> str:
    kept = []
    for stanza in re.split(r"\n[ \t]*\n", text):
        said = "\n".join(line for line in stanza.splitlines() if not line.lstrip().startswith("#"))
        if "URIs:" in said and not _DISABLED.search(said):
            kept.append(_TYPES.sub("Types: deb-src", said).strip())
    return "\n\n".join(kept) + "\n" if kept else ""


def _lines(text: str) -> str:
    archives = dict.fromkeys(_LINE.findall(text))
    return "".join(f"deb-src {archive}\n" for archive in archives)


def private_options(place: Path) -> tuple[str, ...]:
    """apt-get's options for a configuration below a directory of ours: nothing of the system's
    state is written.

    apt's own account cannot enter that directory; without `Sandbox::User` it warns and does the
    same.
    """
    settings = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": str(place / "lists.d"),
        "Dir::State::Lists": str(place / "lists"),
        "Dir::Cache": str(place / "cache"),
        "APT::Sandbox::User": "root",
        # What is compiled runs the site: whatever the host allows otherwise, an archive without a
        # signature is not believed.
        "APT::Get::AllowUnauthenticated": "false",
        "Acquire::AllowInsecureRepositories": "false",
        "Acquire::AllowDowngradeToInsecureRepositories": "false",
    }
    return tuple(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))
