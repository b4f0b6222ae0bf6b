"""A headless Chromium that opens a file and says what it drew, logged and asked for: the DevTools
protocol over a pipe."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from msgspec import Struct

DEADLINE_S = 60.0
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_DRAWN = "document.readyState === 'complete' && [...document.querySelectorAll('.plot')].every(e => e.querySelector('svg.main-svg'))"


def find_chromium() -> str | None:
    """Path of the browser; None when there is none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Opened(Struct, frozen=True):
    """What happened while a page was opened: messages of its console (errors, warnings, exceptions)
    and addresses that were asked for."""

    console: tuple[str, ...]
    requests: tuple[str, ...]


class Browser:
    """One tab. Errors are AssertionError with what Chromium said."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, page: Path | str, *, width: int = 1100, scheme: Literal["light", "dark"] = "light", drawn: bool = True) -> Opened:
        """Load a file or an address in a window of that width; wait until every plot is there (not
        `drawn`: until it is loaded)."""
        self.resize(width)
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._events.clear()
        self._call("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        self.until(_DRAWN if drawn else "document.readyState === 'complete'")
        # Whatever a script started late would show within a turn or two of its loop.
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        return self.seen()

    def seen(self) -> Opened:
        """What happened since the page was opened."""
        return Opened(tuple(self._complaints()), tuple(self._asked()))

    def resize(self, width: int, height: int = 900) -> None:
        """Change the window, as turning a phone does."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are waited for."""
        said = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """The whole page, as far down as it goes, as PNG."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        said = self._call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(said["data"]))

    def print(self) -> bytes:
        """The page as PDF on A4."""
        said = self._call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=False, printBackground=True)
        return base64.b64decode(said["data"])

    def _complaints(self) -> Iterator[str]:
        for event in self._events:
            held = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                yield json.dumps(held["exceptionDetails"])
            elif event["method"] == "Log.entryAdded" or (event["method"] == "Runtime.consoleAPICalled" and held["type"] != "log"):
                yield json.dumps(held)

    def _asked(self) -> Iterator[str]:
        for event in self._events:
            if event["method"] == "Network.requestWillBeSent":
                yield event["params"]["request"]["url"][:200]

    def until(self, condition: str) -> None:
        """Wait until a JavaScript expression holds."""
        end = time.monotonic() + DEADLINE_S
        while not self.evaluate(condition):
            assert time.monotonic() < end, f"not within {DEADLINE_S} s: {condition}"
            time.sleep(0.05)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, f"{method}: {said['error']}"
                result: dict[str, Any] = said["result"]
                return result
            self._events.append(said)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], DEADLINE_S)
            assert ready, "Chromium says nothing any more"
            data = os.read(self._from, 1 << 20)
            assert data, "Chromium has ended"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        return said


@contextmanager
def browser(program: str) -> Iterator[Browser]:
    """A running Chromium with an empty profile; ended, with all its children, at the end."""
    inbound, to_browser = os.pipe()
    from_browser, outbound = os.pipe()
    with TemporaryDirectory(prefix="pd-chromium-", ignore_cleanup_errors=True) as profile:
        # It talks on the descriptors 3 and 4; the shell puts ours there.
        command = 'exec "$@" 3<&"$IN" 4>&"$OUT"'
        process = subprocess.Popen(
            ["bash", "-c", command, "chromium", program, *_QUIET, f"--user-data-dir={profile}"],
            env={**os.environ, "IN": str(inbound), "OUT": str(outbound)},
            pass_fds=(inbound, outbound),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(inbound)
        os.close(outbound)
        try:
            tab = Browser(to_browser, from_browser)
            yield tab
            os.write(to_browser, b'{"id":0,"method":"Browser.close"}\0')
            process.wait(DEADLINE_S)
        finally:
            os.close(to_browser)
            os.close(from_browser)
            if process.poll() is None:
                process.kill()
            process.wait(DEADLINE_S)
