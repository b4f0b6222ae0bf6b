"""Options of `phpdyno build`: what they come to, and what cannot be."""

from pathlib import Path

import pytest
from rich.console import Console

from phpdyno.cli.build import Options, foundation_of, wanted_of
from phpdyno.cli.options import GroundOptions, RequestOptions
from phpdyno.errors import UsageError

WORKLOAD = '[[target]]\npath = "/asked"\nweight = 3\n\n[[target]]\npath = "/seldom"\nweight = 1\n'


def options(*train: str, requests: RequestOptions | None = None, ground: GroundOptions | None = None) -> Options:
    return Options(
        train=train,
        ground=ground or GroundOptions(),
        requests=requests or RequestOptions(),
        recipe="pgo",
        training="15s",
        seed=1,
        runs=Path("runs"),
        listed=False,
        refresh=False,
        package=None,
        run_tests=False,
        json=False,
    )


def test_requests_of_a_file_train_instead_of_the_app_s_own(tmp_path: Path) -> None:
    file = tmp_path / "asked.toml"
    file.write_text(WORKLOAD)
    (trainee,) = wanted_of(options("hello=2", requests=RequestOptions(workload=file)), Console(quiet=True)).trainees
    assert (trainee.reference, trainee.weight, trainee.requests) == ("hello", 2.0, str(file))
    assert trainee.workload is not None
    assert [target.path for target in trainee.workload.targets] == ["/asked", "/seldom"]


def test_requests_of_a_file_are_those_of_one_app(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="requests of a file are those of one app"):
        wanted_of(options("hello", "wordpress", requests=RequestOptions(from_log=tmp_path / "access.log")), Console(quiet=True))


def test_extensions_are_given_by_their_places() -> None:
    ground = GroundOptions(standalone=True, with_extension=("apcu=apcu-5.1.24.tgz",))
    assert foundation_of(ground).added == (("apcu", Path("apcu-5.1.24.tgz").absolute()),)
    with pytest.raises(UsageError, match="this is not NAME=PATH"):
        foundation_of(GroundOptions(standalone=True, with_extension=("apcu",)))
