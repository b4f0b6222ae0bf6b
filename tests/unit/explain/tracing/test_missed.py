from phpdyno.explain.tracing.reached import TRACED, read_reached
from phpdyno.model.inside.reach import Missed

LINES = """7 openat(AT_FDCWD, "/var/lib/wiki/data/start.txt", O_RDONLY) = -1 ENOENT (No such file or directory)
7 newfstatat(AT_FDCWD, "/var/lib/wiki/data", 0x7ffd, 0) = -1 ENOENT (No such file or directory)
7 access("/srv/shop/none.php", R_OK) = -1 ENOENT (No such file or directory)
7 newfstatat(AT_FDCWD, "/etc/wiki/local.php", {st_mode=S_IFREG|0644, st_size=1, ...}, 0) = 0
7 access("../lib/a.php", F_OK) = -1 ENOENT (No such file or directory)
7 openat(AT_FDCWD, "/var/lib/wiki/secret", O_RDONLY) = -1 EACCES (Permission denied)
7 newfstatat(AT_FDCWD, "/var/lib/wiki/data", 0x7ffd, 0) = -1 ENOENT (No such file or directory)
""".splitlines()


def test_what_was_looked_for_in_vain_outside_the_app_is_kept() -> None:
    found = read_reached(LINES, requests=1, ours=("/srv/shop/public", "/srv/shop/none.php"), places={7: "/srv/shop/public"})
    assert found.missed == (Missed("/var/lib/wiki/data", 2), Missed("/srv/shop/lib/a.php", 1), Missed("/var/lib/wiki/data/start.txt", 1))
    assert found.writes == ()


def test_strace_is_asked_for_each_call_once() -> None:
    assert len(set(TRACED)) == len(TRACED)
    assert {"newfstatat", "access", "openat"} <= set(TRACED)
