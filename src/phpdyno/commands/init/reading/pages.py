"""Pages that an app names itself: a sitemap in its document root."""

import gzip
import re
import xml.parsers.expat
import zlib
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from phpdyno.apps.project.php_values import text_of
from phpdyno.config.app_toml import check_target_path
from phpdyno.errors import UsageError
from phpdyno.model.workload import Target

SITEMAPS = ("sitemap.xml", "sitemap_index.xml", "sitemap-index.xml", "wp-sitemap.xml", "sitemap.xml.gz", "sitemap.txt")
MOST_TARGETS = 10
MOST_BYTES = 64 << 20
MOST_FILES = 50
MOST_URLS = 200_000
_ROBOTS = re.compile(r"^\s*sitemap\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)


def pages_of(docroot: Path) -> tuple[tuple[Target, ...], str, str]:
    """Up to ten pages of a sitemap that lies in the document root, spread over it, the front page
    first; the file's name and the host in it. Nothing without one."""
    named = [urlsplit(url).path.lstrip("/") for url in _ROBOTS.findall(text_of(docroot / "robots.txt"))]
    for name in (*named, *SITEMAPS):
        urls = _urls_of(docroot, name)
        paths = [path for path in dict.fromkeys(_path_of(url) for url in urls) if _can_be_asked(path)]
        if paths:
            host = next((urlsplit(url).netloc for url in urls if urlsplit(url).netloc), "")
            return tuple(Target(path) for path in _spread(paths)), name, host
    return (), "", ""


def _spread(paths: list[str]) -> list[str]:
    """Ten of them: the front page, then pages of as many sections as there are."""
    rest = [path for path in paths if path != "/"]
    sections: dict[str, list[str]] = {}
    for path in rest:
        sections.setdefault(path.split("/")[1] if path.count("/") > 1 else "", []).append(path)
    chosen: list[str] = []
    wanted = MOST_TARGETS - 1
    while len(chosen) < min(wanted, len(rest)):
        for group in sections.values():
            if group and len(chosen) < wanted:
                # The middle of what is left: neither the newest page nor the oldest of a section.
                chosen.append(group.pop(len(group) // 2))
    return ["/", *chosen]


def _urls_of(docroot: Path, name: str) -> list[str]:
    """All that a sitemap lists, those that an index of sitemaps names too where they lie here."""
    found: list[str] = []
    todo: list[str] = [name]
    seen: set[str] = set()
    while todo and len(seen) < MOST_FILES and len(found) < MOST_URLS:
        each = todo.pop(0)
        place = docroot / each
        if each in seen or not place.resolve().is_relative_to(docroot.resolve()):
            continue
        seen.add(each)
        data = content_of(place)
        urls, is_index = (data.decode(errors="replace").split(), False) if ".txt" in each else _locations(data)
        if is_index:
            todo += [urlsplit(url).path.lstrip("/") for url in urls]
        else:
            found += urls
    return found


def content_of(place: Path, most: int = MOST_BYTES) -> bytes:
    """At most so many bytes of a file, or of what is packed in one; none where it cannot be
    read."""
    try:
        if not place.is_file():
            return b""
        with gzip.open(place) if place.suffix == ".gz" else place.open("rb") as stream:
            return stream.read(most)
    except (OSError, EOFError, zlib.error):
        return b""


def _locations(data: bytes) -> tuple[list[str], bool]:
    """What stands in `loc` of a sitemap, and whether it is an index of sitemaps. An entity of its
    own ends the reading."""
    found: list[str] = []
    path: list[str] = []
    text: list[str] = []
    root: list[str] = []

    def start(name: str, _: dict[str, str]) -> None:
        if not path:
            root.extend((name.rpartition(":")[2], name.rpartition(":")[0]))
        path.append(name.removeprefix(f"{root[1]}:"))
        text.clear()

    def end(_: str) -> None:
        if path[-2:] in (["url", "loc"], ["sitemap", "loc"]):
            found.append("".join(text).strip())
        path.pop()

    def refuse(*_: object) -> None:
        raise ValueError("entities")

    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text.append
    parser.EntityDeclHandler = refuse
    with suppress(xml.parsers.expat.ExpatError, ValueError):
        parser.Parse(data, True)
    return found, root[:1] == ["sitemapindex"]


def _path_of(url: str) -> str:
    with suppress(ValueError):
        parts = urlsplit(url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return ""


def _can_be_asked(path: str) -> bool:
    try:
        check_target_path(path, where="")
    except UsageError:
        return False
    return True
