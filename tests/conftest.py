"""What every test gets: a live root of its own, so that leftovers can be told from what others run
on this host."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.host import namespaces
from tests.support.real.command import end_started, load_once, unload
from tests.support.session.outside import keep_host_network
from tests.support.traces import DEFAULT_LIVE_ROOT, SESSION_PREFIX

PAGES = Path("/proc/sys/vm/nr_hugepages")


@pytest.fixture(scope="session", autouse=True)
def live_root() -> Iterator[Path]:
    """$PHPDYNO_LIVE for this session. Short, because a unix socket's path holds 107 bytes."""
    root = Path(tempfile.mkdtemp(prefix=SESSION_PREFIX, dir=DEFAULT_LIVE_ROOT))
    root.chmod(0o711)
    before = os.environ.get("PHPDYNO_LIVE")
    os.environ["PHPDYNO_LIVE"] = str(root)
    yield root
    if before is None:
        del os.environ["PHPDYNO_LIVE"]
    else:
        os.environ["PHPDYNO_LIVE"] = before
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """What a test started and left running is ended."""
    yield
    end_started()


@pytest.fixture
def unreserved() -> Iterator[None]:
    """A host without reserved huge pages, whoever may have some: PHP takes free ones unasked, in
    the control as well."""
    if not os.access(PAGES, os.W_OK):
        pytest.skip("settings of the host may not be written here")
    before = PAGES.read_text()
    PAGES.write_text("0")
    yield
    PAGES.write_text(before)


def pytest_configure(config: pytest.Config) -> None:
    """An interrupt and a hang-up arrive, also where whoever started the tests, as a job of a script
    or nohup does, has them ignored.

    Tests that run side by side have a network each: the lock that lets one phpdyno measure on a
    host is a name in it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if hasattr(config, "workerinput") and os.geteuid() == 0:
        keep_host_network()
        namespaces.unshare(namespaces.NEWNET)
        namespaces.loopback_up()
    load_once()


def pytest_unconfigure() -> None:
    """What commands were forked off ends."""
    unload()
