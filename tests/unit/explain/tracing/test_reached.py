"""What PHP reached for, read from records of strace."""

import re

from phpdyno.explain.tracing.reached import TRACED, read_reached
from phpdyno.model.inside.reach import Connection, Lookup, Program, Reached, Write
from tests.support.strace_recordings import recorded


def peers(reached: Reached) -> dict[str, tuple[str, str, int]]:
    return {each.path or f"{each.host}:{each.port}": (each.protocol, each.outcome, each.calls) for each in reached.connections}


def test_every_peer_that_a_page_tries_and_how_it_ended() -> None:
    reached = read_reached(recorded("network"), requests=2)
    assert peers(reached) == {
        "/run/redis/redis.sock": ("unix", "no such file", 2),
        "/tmp/mysql.sock": ("unix", "no such file", 2),
        "/var/run/mysqld/mysqld.sock": ("unix", "no such file", 2),
        "@abstract-peer": ("unix", "refused", 2),
        "127.0.0.1:1": ("tcp", "refused", 2),  # curl
        "::1:1": ("tcp", "refused", 2),
        "127.0.0.1:9": ("tcp", "in progress", 2),  # never asked how it ended
        "127.0.0.1:3306": ("tcp", "refused", 2),
        "127.0.0.1:6379": ("tcp", "refused", 2),
        "127.0.0.1:8126": ("udp", "connected", 2),  # 127.0.0.1:8125 was sent nothing
        "127.0.0.1:11211": ("tcp", "refused", 2),
        "192.0.2.7:8080": ("tcp", "in progress", 2),
    }
    # By fsockopen, by curl's own thread, by PDO; the C library's own sockets are not the app's
    # wish.
    assert reached.lookups == tuple(Lookup(name, 2, resolved=False) for name in ("api.example.test", "db", "shop.example.test"))
    assert (reached.requests, reached.programs, reached.writes, reached.no_name_server) == (2, (), (), False)


def test_a_connection_to_an_address_has_the_name_that_it_was_looked_up_by() -> None:
    reached = read_reached(recorded("resolved"), requests=2)
    assert peers(reached) == {
        "cache.example.test:6379": ("tcp", "connected", 2),
        "cache.example.test:6380": ("tcp", "refused", 2),
        "slow.example.test:80": ("tcp", "unreachable", 2),
        "slow.example.test:443": ("tcp", "unreachable", 2),
    }
    resolved = {each.name: (each.calls, each.resolved) for each in reached.lookups}
    assert resolved == {"cache.example.test": (4, True), "slow.example.test": (4, True), "gone.example.test": (2, False)}


def test_a_name_that_is_asked_for_again_for_want_of_an_answer_counts_once() -> None:
    lines = [line for line in recorded("network") if "recvfrom" not in line]
    again = [line for line in lines if "sendmmsg" in line for _ in range(3)]
    assert read_reached(again + lines, requests=2).lookups == read_reached(lines, requests=2).lookups


def test_no_name_server_within_reach_is_told() -> None:
    line = '7 connect(4<socket:[1]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.53")}, 16) = -1 ENETUNREACH (x)'
    assert read_reached([line], requests=1) == Reached(1, no_name_server=True)
    assert not read_reached([line, *recorded("network")], requests=1).no_name_server


def test_files_outside_and_what_was_done_to_them() -> None:
    reached = read_reached(recorded("files"), requests=2, ours=("/srv/sessions",), sendmail=("/bin/true",))
    once = {f"{each.deed} {each.path}": (each.error, each.calls) for each in reached.writes if not re.search(r"(foo|php)\w{6}$", each.path)}
    assert once == {
        "written /proc/sys/kernel/nothing": ("ENOENT", 2),
        "written /usr/share/none/x": ("ENOENT", 2),
        "written /tmp/lock": ("", 2),
        "removed /tmp/lock": ("", 2),
        "made /tmp/reach-dir": ("", 2),  # made again, it was there already
        "changed /tmp/reach-dir": ("", 2),
        "removed /tmp/reach-dir": ("", 2),
        "made /tmp/reach-dir/etc": ("", 2),
        "removed /tmp/reach-dir/etc": ("", 2),
        "made /tmp/reach-dir/hard": ("", 2),
        "removed /tmp/reach-dir/hard": ("", 2),
        "written /tmp/reach-dir/touched": ("", 2),
        "changed /tmp/reach-dir/touched": ("", 2),
        "removed /tmp/reach-dir/touched": ("", 2),
        "written /tmp/reach-out.txt": ("", 2),
        "removed /tmp/reach-out.txt": ("", 2),
        "written /tmp/relative.txt": ("", 2),
        "renamed /tmp/relative.txt": ("", 2),  # by a relative path: the script had changed its directory
        "renamed /tmp/renamed.txt": ("", 2),
        "removed /tmp/renamed.txt": ("", 2),
        'written /tmp/with "q" <b>\nä.txt': ("", 2),
        'removed /tmp/with "q" <b>\nä.txt': ("", 2),
    }
    # tempnam() and tmpfile(), each made and removed, at each request by another name.
    assert len(reached.writes) - len(once) == 8
    assert not [each for each in read_reached(recorded("files"), requests=2, ours=("/tmp", "/srv")).writes if not each.error]


def test_programs_are_those_that_php_executes_itself() -> None:
    reached = read_reached(recorded("files"), requests=2, sendmail=("/bin/true",))
    assert reached.programs == (
        Program("/bin/true", True, "", 2),
        Program("/usr/bin/env", False, "", 2),
        Program("/usr/bin/true", False, "", 2),
        Program("echo", False, "", 2),
        Program("no-such-program", False, "ENOENT", 2),
    )


def test_processes_of_another_namespace_are_known_by_the_hosts_number() -> None:
    lines = recorded("isolated")
    reached = read_reached(lines, requests=1)
    assert peers(reached) == {"8.8.8.8:81": ("tcp", "unreachable", 1), "8.8.8.8:8125": ("udp", "unreachable", 1)}
    assert reached.programs == (Program("true", False, "", 1),)
    # What the shell's child executes is the shell's affair.
    child = ["19126 clone(flags=SIGCHLD) = 9 /* 19127 in strace's PID NS */", '19127 execve("/bin/true", ["true"], 0x1 /* 5 vars */) = 0']
    assert read_reached([*lines, *child], requests=1).programs == reached.programs


def test_a_command_keeps_no_secrets() -> None:
    line = '7 execve("/bin/sh", ["sh", "-c", "PGPASSWORD=secret pg_dump --password=secret"], 0x1 /* 5 vars */) = 0'
    assert read_reached([line], requests=1).programs == (Program("pg_dump", False, "", 1),)


def written(*lines: str, places: dict[int, str] | None = None) -> tuple[Write, ...]:
    return read_reached(lines, requests=1, ours=("/app",), places=places).writes


def test_where_a_link_leads_counts() -> None:
    out = '7 openat(AT_FDCWD</app>, "uploads/a", O_WRONLY|O_CREAT, 0666) = 4</srv/uploads/a>'
    back = '7 openat(AT_FDCWD</app>, "/srv/current/a", O_WRONLY) = 4</app/a>'
    refused = '7 openat(AT_FDCWD</app>, "uploads/b", O_WRONLY|O_CREAT, 0666) = -1 EROFS (Read-only file system)'
    own = '7 openat(AT_FDCWD</app>, "b", O_WRONLY|O_CREAT, 0666) = -1 EACCES (Permission denied)'
    assert written(out, back, refused, own) == (Write("/app/uploads/b", "written", "EROFS", 1), Write("/srv/uploads/a", "written", "", 1))


def test_relative_paths_start_where_the_process_stands() -> None:
    assert written('7 unlink("../x") = 0', places={7: "/srv/www"}) == (Write("/srv/x", "removed", "", 1),)
    assert written("7 fchdir(3</var/log>) = 0", '7 unlink("x") = 0') == (Write("/var/log/x", "removed", "", 1),)
    assert written('7 renameat(3</var>, "a", 4</app>, "b") = 0') == (Write("/var/a", "renamed", "", 1),)
    child = "7 fork() = 8"
    assert written(child, '8 mkdir("x", 0777) = -1 EROFS (x)', places={7: "/srv"}) == (Write("/srv/x", "made", "EROFS", 1),)
    assert written('7 unlink("x") = 0') == (Write("x", "removed", "", 1),)


def test_what_finds_nothing_to_do_and_what_is_thrown_away_is_left_out() -> None:
    assert not written(
        '7 unlink("/srv/x") = -1 ENOENT (x)',
        '7 mkdir("/srv", 0777) = -1 EEXIST (x)',
        '7 openat(AT_FDCWD</>, "/srv/none", O_RDWR) = -1 ENOENT (x)',
        '7 openat(AT_FDCWD</>, "/dev/null", O_WRONLY) = 3</dev/null>',
        '7 openat(AT_FDCWD</>, "/proc/self/fd/2", O_WRONLY) = 3</dev/pts/0>',
        '7 openat(AT_FDCWD</>, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3</etc/passwd>',
        "7 utimensat(3</srv/x>, NULL, NULL, 0) = 0",
    )


def test_sockets_in_our_trees_are_left_out_and_addresses_of_both_kinds_are_one() -> None:
    ours = '7 connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/app/mysql.sock"}, 18) = 0'
    mapped = (
        "7 connect(4<socket:[2]>, {sa_family=AF_INET6, sin6_port=htons(6379), sin6_flowinfo=htonl(0), "
        'inet_pton(AF_INET6, "::ffff:10.0.0.5", &sin6_addr), sin6_scope_id=0}, 28) = 0'
    )
    reached = read_reached([ours, mapped], requests=1, ours=("/app",))
    assert reached.connections == (Connection("10.0.0.5", 6379, "", "inet", "tcp", "connected", "", 1),)


def test_a_datagram_goes_to_the_address_that_it_is_sent_to() -> None:
    to = '{sa_family=AF_INET, sin_port=htons(8125), sin_addr=inet_addr("10.0.0.5")}'
    lines = ["7 socket(AF_INET, SOCK_DGRAM, IPPROTO_IP) = 3<socket:[1]>", *[f'7 sendto(3<socket:[1]>, "a", 1, 0, {to}, 16) = 1'] * 2]
    assert peers(read_reached(lines, requests=1)) == {"10.0.0.5:8125": ("udp", "connected", 1)}


def test_a_connection_that_is_asked_about_again_is_one() -> None:
    to = '{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.5")}, 16)'
    first = f"7 connect(3<socket:[1]>, {to} = -1 EINPROGRESS (Operation now in progress)"
    ends = {"-1 EISCONN (x)": "connected", "-1 ETIMEDOUT (x)": "timed out", "-1 EALREADY (x)": "in progress", "0": "connected"}
    for end, outcome in ends.items():
        reached = read_reached([first, f"7 connect(3<socket:[1]>, {to} = {end}"], requests=1)
        assert peers(reached) == {"10.0.0.5:80": ("tcp", outcome, 1)}


def test_all_calls_that_are_read_are_traced() -> None:
    assert {"connect", "openat", "execve", "clone3", "chdir", "renameat2", "recvfrom"} <= set(TRACED)
    assert len(set(TRACED)) == len(TRACED)
