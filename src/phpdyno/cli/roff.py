"""The man page, from the pages that the command line makes of itself. Pure."""

import re
from collections.abc import Iterator

_HEADING = re.compile(r"#+ +(.*)")
_ITEM = re.compile(r"[*-] +((?:\[?`[^`]+`(?:\]\([^)]*\))?(?:, )?)+):? *(.*)")
_CONTENTS = "Table of Contents"


def man_page(markdown: str, version: str) -> str:
    """A page of section 1 in roff; `markdown` has a heading for each command."""
    head = f'.TH PHPDYNO 1 "" "phpdyno {version}" "User Commands"\n.SH NAME\nphpdyno \\- makes PHP applications provably faster\n'
    return head + "\n".join(_lines(markdown)) + "\n"


def _lines(markdown: str) -> Iterator[str]:
    fenced = contents = False
    for line in markdown.splitlines():
        if found := _HEADING.match(line):
            contents = found[1] == _CONTENTS
        if contents:
            continue
        if line.startswith("```"):
            yield ".EE" if fenced else ".EX"
            fenced = not fenced
        elif fenced:
            yield _escaped(line)
        elif found := _HEADING.match(line):
            yield f".SH {_escaped(found[1]).upper()}" if found[1].startswith("phpdyno") else f".SS {_escaped(found[1])}"
        elif found := _ITEM.match(line):
            yield f".TP\n\\fB{_escaped(_plain(found[1]))}\\fR\n{_escaped(_plain(found[2]))}"
        else:
            text = _escaped(_plain(line.strip()))
            yield text or ".PP"


def _plain(text: str) -> str:
    """Without the marks of Markdown."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("**", "").replace("`", "").replace("*[", "[").replace("]*", "]")


def _escaped(text: str) -> str:
    """No line begins a request of roff, and no backslash escapes."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
