"""Which of several running nginx stands before a pool."""

from pathlib import Path

from phpdyno.servers.live.nginx import configuration_before, running_configurations

BLOCK = "events {{}} http {{ server {{ location / {{ fastcgi_pass {}; }} }} }}\n"


def running(proc: Path, number: int, configuration: Path, passes_to: str) -> None:
    """A master of nginx as /proc shows it."""
    configuration.write_text(BLOCK.format(passes_to))
    (proc / str(number)).mkdir(parents=True)
    (proc / str(number) / "cmdline").write_bytes(f"nginx: master process /usr/sbin/nginx -c {configuration}\0".encode())


def test_of_several_the_one_that_passes_to_the_pool_is_taken(tmp_path: Path) -> None:
    one, other = tmp_path / "one.conf", tmp_path / "other.conf"
    running(tmp_path / "proc", 11, one, "unix:/run/one.sock")
    running(tmp_path / "proc", 22, other, "127.0.0.1:9000")
    assert running_configurations(tmp_path / "proc")[:2] == (one, other)
    assert configuration_before("tcp:127.0.0.1:9000", tmp_path / "proc") == other
    assert configuration_before("unix:/run/one.sock", tmp_path / "proc") == one
    # Where none does, what is said is said of the first.
    assert configuration_before("unix:/run/gone.sock", tmp_path / "proc") == one


def test_what_can_be_read_no_more_is_passed_over(tmp_path: Path) -> None:
    gone, other = tmp_path / "gone.conf", tmp_path / "other.conf"
    running(tmp_path / "proc", 11, gone, "unix:/run/one.sock")
    running(tmp_path / "proc", 22, other, "unix:/run/one.sock")
    gone.unlink()
    assert configuration_before("unix:/run/one.sock", tmp_path / "proc") == other
