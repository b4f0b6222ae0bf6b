"""Small files of /proc and cgroups that watching reads: made-up ones, and sockets of our own."""

import os
import socket
from pathlib import Path

import pytest

from phpdyno.config.fpm_conf import Variables, read_fpm_conf
from phpdyno.errors import DynoError
from phpdyno.host.files.below_root import below_root, glob_below
from phpdyno.host.pressure import HostMemory, Throttled, host_memory, memory_used, pressure_10s, throttled
from phpdyno.host.processes.times import ProcessTimes, inner_number
from phpdyno.host.processes.waiting_on import peer_of, waiting_on
from phpdyno.host.sockets.queue_of_process import QueueReader, connecting_at, listening_at, overflows
from phpdyno.host.surroundings import Group, limits_of
from phpdyno.servers.live.systemd_status import parse_status_text, unit_of
from phpdyno.servers.live.watched_masters import WatchedMaster, WatchedPool, address_of
from tests.support.made_up.hosts import made_up

UNIX = b"""Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 101 /run/php/www.sock
0000000000000000: 00000002 00000000 00000000 0001 02 102 /run/php/www.sock
0000000000000000: 00000002 00000000 00000000 0001 02   0 /run/php/www.sock
0000000000000000: 00000003 00000000 00000000 0001 03 104 /run/php/www.sock
0000000000000000: 00000002 00000000 00000000 0001 02 105 /run/php/www.sock.old
0000000000000000: 00000003 00000000 00000000 0001 03 106
"""
TCP = b"""  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2328 00000000:0000 0A 00000000:00000007 00:00000000 00000000     0        0 201 1 0 100 0 0 10 0
   1: 00000000:2329 00000000:0000 0A 00000000:00000002 00:00000000 00000000     0        0 202 1 0 100 0 0 10 0
   2: 0100007F:2328 0100007F:8000 01 00000000:00000000 00:00000000 00000000     0        0 203 1 0 20 4 30 10 -1
   3: 0100007F:C350 0500000A:0CEA 01 00000000:00000000 00:00000000 00000000    33        0 204 1 0 20 4 30 10 -1
"""
CGROUP2 = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"


def test_connections_that_nobody_has_accepted_at_a_unix_socket() -> None:
    assert connecting_at(b"/run/php/www.sock", UNIX) == 2
    assert connecting_at(b"/run/php/none.sock", UNIX) == 0


def test_the_row_of_a_listening_tcp_socket() -> None:
    assert listening_at("127.0.0.1:9000", TCP) == (7, 201)
    assert listening_at("127.0.0.1:9001", TCP) == (2, 202), "it listens everywhere"
    assert listening_at("127.0.0.1:9002", TCP) is None
    assert listening_at("10.0.0.1:9000", TCP) is None
    assert listening_at("localhost:9000", TCP) == (7, 201)
    tcp6 = TCP.replace(b"0100007F:2328", b"00000000000000000000000001000000:2328").replace(b"00000000:2329", b"0" * 32 + b":2329")
    assert listening_at("[::1]:9000", tcp6) == (7, 201)
    assert listening_at("127.0.0.1:9001", tcp6) == (2, 202)


def test_queues_of_sockets_of_our_own_by_every_way(tmp_path: Path) -> None:
    path = tmp_path / "here.sock"
    with socket.socket(socket.AF_UNIX) as unix, socket.create_server(("127.0.0.1", 0), backlog=5) as tcp:
        unix.bind(str(path))
        unix.listen(5)
        port = tcp.getsockname()[1]
        clients = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for client in clients:
            client.connect(str(path))
        clients += [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
        for inside in (False, True):  # by the kernel's own interface, and by the tables alone
            for address, waiting in ((f"unix:{path}", 3), (f"tcp:127.0.0.1:{port}", 2)):
                reader = QueueReader(address, os.getpid(), backlog=511, inside=inside)
                level = reader.read()
                assert (level.waiting, level.limit) == (waiting, 511 if inside else 5)
                assert reader.knows_limit == (not inside)
                reader.close()
                reader.close()
        for client in clients:
            client.close()
    for address in (f"unix:{tmp_path / 'none.sock'}", f"tcp:127.0.0.1:{port}"):
        with pytest.raises(DynoError, match=r"the queue at .* cannot be read: nobody listens"):
            QueueReader(address, os.getpid(), backlog=511, inside=False)


def test_connections_that_were_turned_away(tmp_path: Path) -> None:
    told = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 12 13\nIpExt: InNoRoutes\nIpExt: 0\n"
    assert overflows(5, made_up(tmp_path, {"/proc/5/net/netstat": told})) == 12
    assert overflows(6, made_up(tmp_path, {})) is None
    assert overflows(os.getpid()) is not None


def test_limits_of_any_process_up_its_tree_with_the_group_that_sets_them(tmp_path: Path) -> None:
    files = {
        "/proc/77/cgroup": "0::/site.slice/php.service\n",
        "/proc/mounts": CGROUP2,
        "/sys/fs/cgroup/site.slice/memory.high": "1073741824\n",
        "/sys/fs/cgroup/site.slice/memory.max": "max\n",
        "/sys/fs/cgroup/site.slice/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/site.slice/php.service/cpu.max": "150000 100000\n",
        "/sys/fs/cgroup/site.slice/php.service/memory.max": "2147483648\n",
    }
    found = limits_of(made_up(tmp_path, files), 77)
    assert found.cpu == Group(1.5, "/sys/fs/cgroup/site.slice/php.service")
    assert found.memory == Group(1 << 20, "/sys/fs/cgroup/site.slice"), "memory.high stops a group as memory.max does"


def test_a_limit_that_may_not_be_seen_is_not_no_limit(tmp_path: Path) -> None:
    outside = made_up(tmp_path / "a", {"/proc/77/cgroup": "0::/../../php.service\n", "/proc/mounts": CGROUP2})
    assert limits_of(outside, 77).memory == Group(None, "", "its cgroup lies outside of what we see")
    assert limits_of(made_up(tmp_path / "b", {}), 77).cpu.hidden == "/proc/77/cgroup cannot be read"
    closed = made_up(tmp_path / "c", {"/proc/77/cgroup": "0::/php\n", "/proc/mounts": CGROUP2, "/sys/fs/cgroup/php/memory.max": "5"})
    limit = tmp_path / "c/sys/fs/cgroup/php/memory.max"
    limit.unlink()
    limit.mkdir()  # there, and cannot be read by anybody
    assert limits_of(closed, 77).memory.hidden == "/sys/fs/cgroup/php/memory.max cannot be read"
    free = made_up(tmp_path / "d", {"/proc/77/cgroup": "0::/php\n", "/proc/mounts": CGROUP2, "/sys/fs/cgroup/php/memory.max": "max"})
    assert limits_of(free, 77).memory == Group()


def test_what_presses_on_a_group(tmp_path: Path) -> None:
    tree = made_up(
        tmp_path,
        {
            "/g/memory.current": str(800 << 20),
            "/g/memory.stat": f"anon 5\ninactive_file {300 << 20}\n",
            "/g/cpu.stat": "usage_usec 5\nnr_periods 100\nnr_throttled 40\nthrottled_usec 2500000\n",
            "/g/memory.pressure": "some avg10=12.50 avg60=1.00 avg300=0.00 total=5\nfull avg10=0.00\n",
            "/old/memory.usage_in_bytes": str(10 << 20),
            "/old/memory.stat": f"inactive_file 1\ntotal_inactive_file {4 << 20}\n",
            "/old/cpu.stat": "nr_periods 10\nnr_throttled 1\nthrottled_time 500000000\n",
        },
    )
    assert memory_used(tree, Group(1.0, "/g")) == 500 << 10
    assert memory_used(tree, Group(1.0, "/old")) == 6 << 10
    assert memory_used(tree, Group()) is None
    assert throttled(tree, Group(1.0, "/g")) == Throttled(100, 40, 2.5)
    assert throttled(tree, Group(1.0, "/old")) == Throttled(10, 1, 0.5)
    assert throttled(tree, Group()) == Throttled()
    assert pressure_10s(tree, "memory", "/g") == 0.125
    assert pressure_10s(tree, "io", "/g") is None


def test_memory_and_swapping_of_the_host(tmp_path: Path) -> None:
    files = {"/proc/meminfo": "MemTotal:  100 kB\nMemAvailable:   60 kB\n", "/proc/vmstat": "pswpin 7\npswpout 8\nzswpin 1\n"}
    assert host_memory(made_up(tmp_path, files)) == HostMemory(100, 60, 7, 8)
    assert host_memory(made_up(tmp_path / "none", {})) == HostMemory(None, None, None, None)


def test_times_of_a_process_and_its_number_inside(tmp_path: Path) -> None:
    tree = made_up(tmp_path, {"/proc/5/schedstat": "1000 200 3\n", "/proc/5/status": "Name:\tphp\nNSpid:\t5\t1\n"})
    times = ProcessTimes(5, tree)
    assert times.read() == (1000, 200)
    times.close()
    times.close()
    assert (inner_number(5, tree), inner_number(6, tree)) == (1, 6)
    own = ProcessTimes(os.getpid())
    assert own.read()[0] > 0
    own.close()


@pytest.mark.parametrize(
    ("syscall", "link", "words"),
    [
        ("running", "", "it computes"),
        ("-1 0x7ffd 0x7f", "", "it waits within the kernel"),
        ("35 0x7ffc 0x0 0x0 0x0 0x0 0x0 0x7 0x7", "", "it sleeps (nanosleep)"),
        ("45 0x5 0x7f 0x4 0x0 0x0 0x0 0x7 0x7", "socket:[204]", "recvfrom on 10.0.0.5:3306"),
        ("45 0x5 0x7f 0x4 0x0 0x0 0x0 0x7 0x7", "socket:[999]", "recvfrom on a unix socket"),
        ("73 0x5 0x2 0x0 0x0 0x0 0x0 0x7 0x7", "/var/lib/php/sessions/sess_1", "flock on /var/lib/php/sessions/sess_1"),
        ("999 0x0 0x0", "", "system call 999"),
        ("", "", ""),
    ],
)
def test_what_a_process_waits_on(syscall: str, link: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from phpdyno.host.processes import waiting_on as module  # noqa: PLC0415 (its table is that of another machine here)

    monkeypatch.setattr(module, "_NAMES", module._X86)
    tree = made_up(tmp_path, {"/proc/5/syscall": f"{syscall}\n", "/proc/5/net/tcp": TCP.decode(), "/proc/5/fd/.keep": ""})
    if link:
        (tmp_path / "proc/5/fd/5").symlink_to(link)
    assert waiting_on(5, tree) == words


def test_a_system_call_of_another_machine_is_known_by_its_numbers_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from phpdyno.host.processes import waiting_on as module  # noqa: PLC0415 (its table is that of another machine here)

    tree = made_up(tmp_path, {"/proc/5/syscall": "32 0x5 0x2 0x0 0x0 0x0 0x0 0x7 0x7\n", "/proc/5/fd/.keep": ""})
    (tmp_path / "proc/5/fd/5").symlink_to("/var/lib/php/sessions/sess_1")
    monkeypatch.setattr(module, "_NAMES", module._ARM)
    assert waiting_on(5, tree) == "flock on /var/lib/php/sessions/sess_1"
    monkeypatch.setattr(module, "_NAMES", {})  # riscv64, for one
    assert waiting_on(5, tree) == "system call 32"


def test_the_other_end_of_a_connection_in_ipv6(tmp_path: Path) -> None:
    row = "0: 0:0 0000000000000000FFFF00000500000A:0CEA 01 0:0 0:0 0 0 0 77 1"
    local = "0: 0:0 00000000000000000000000001000000:0CEA 01 0:0 0:0 0 0 0 78 1"
    tree = made_up(tmp_path, {"/proc/5/net/tcp6": f"head\n{row}\n{local}\n"})
    assert peer_of(5, "77", tree) == "10.0.0.5:3306"
    assert peer_of(5, "78", tree) == "[0:0:0:0:0:0:0:1]:3306"
    assert peer_of(5, "79", tree) == ""


def test_systemds_line() -> None:
    text = "Processes active: 3, idle: 5, Requests: 120, slow: 1, Traffic: 2.50req/sec\n"
    told = parse_status_text(text)
    assert (told.active, told.idle, told.requests, told.slow) == (3, 5, 120, 1)
    with pytest.raises(DynoError, match="no line of php-fpm's"):
        parse_status_text("Ready to handle connections")


def test_the_unit_of_a_process(tmp_path: Path) -> None:
    file = tmp_path / "cgroup"
    file.write_text("4:memory:/\n0::/system.slice/php8.2-fpm.service\n")
    assert unit_of(file) == "php8.2-fpm.service"
    file.write_text("0::/docker/abc\n")
    assert unit_of(file) == unit_of(tmp_path / "none") == ""


def test_links_and_steps_upwards_stay_below_a_root(tmp_path: Path) -> None:
    inside = tmp_path / "root"
    made_up(inside, {"/etc/pool.d/b.conf": "b", "/etc/pool.d/a.conf": "a", "/etc/pool.d/.hidden.conf": "", "/etc/pool.d/c.txt": ""})
    (tmp_path / "secret").write_text("outside")
    (inside / "etc/absolute").symlink_to("/etc/pool.d/a.conf")
    (inside / "etc/up").symlink_to("../../../secret")
    top = os.open(inside, os.O_PATH)
    try:
        for path in ("/etc/pool.d/a.conf", "/etc/absolute", "/../../etc/pool.d/a.conf"):
            with os.fdopen(below_root(top, path)) as stream:
                assert stream.read() == "a"
        with pytest.raises(FileNotFoundError):
            below_root(top, "/etc/up")
        assert [str(path) for path in glob_below(top, "/etc/pool.d/*.conf")] == ["/etc/pool.d/a.conf", "/etc/pool.d/b.conf"]
        assert list(glob_below(top, "/none/*.conf")) == []
        assert [str(path) for path in glob_below(top, "/etc/pool.d/a.conf")] == ["/etc/pool.d/a.conf"]
    finally:
        os.close(top)


class FakeFiles:
    """Configuration files that lie in memory."""

    def __init__(self, **texts: str) -> None:
        self.texts = {f"/{name}.conf": text for name, text in texts.items()}

    def read(self, path: Path, where: str) -> bytes:
        return self.texts[str(path)].encode()

    def glob(self, pattern: str) -> list[Path]:
        return [Path(path) for path in self.texts if path.startswith(pattern.rstrip("*"))]


def test_configuration_is_read_from_the_files_that_are_given() -> None:
    files = FakeFiles(main="[global]\ninclude=/pool*\n", pool1="[a]\npm = static\n", pool2="[b]\npm = dynamic\n")
    sections = read_fpm_conf(Path("/main.conf"), prefix=Path("/usr"), variables=Variables({}), files=files)
    assert {name: [entry.value for entry in entries] for name, entries in sections.items() if entries} == {
        "a": ["static"],
        "b": ["dynamic"],
    }


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        ("/run/php.sock", "unix:/run/php.sock"),
        ("9000", "tcp:127.0.0.1:9000"),
        ("*:9000", "tcp:127.0.0.1:9000"),
        ("10.0.0.1:9000", "tcp:10.0.0.1:9000"),
        ("[::1]:9000", "tcp:[::1]:9000"),
        ("run/php.sock", ""),
        ("", ""),
    ],
)
def test_where_a_pool_listens(listen: str, address: str) -> None:
    assert address_of(listen) == address


def test_a_pool_by_its_directives() -> None:
    master = WatchedMaster(100, 0, "/etc/fpm.conf", 5, inside=False)
    pool = WatchedPool(master, "www", {"pm.max_children": "5", "listen.backlog": "-1", "pm.status_listen": "/run/st.sock"})
    assert (pool.key, pool.number("pm.max_children"), pool.number("pm.start_servers")) == ("100:www", 5, None)
    assert (pool.status_address, pool.status_path, pool.backlog) == ("unix:/run/st.sock", "/", 1 << 16)
    assert (WatchedPool(master, "www").backlog, WatchedPool(master, "www").status_path) == (511, "")


def test_a_name_of_any_bytes_can_be_written() -> None:
    pool = WatchedPool(WatchedMaster(100, 0, "/etc/fpm.conf", 5, inside=False), b"caf\xe9".decode("utf-8", "surrogateescape"))
    assert (pool.shown, pool.key) == ("caf�", "100:caf�")
