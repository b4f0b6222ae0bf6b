"""What an app looked for in vain and the host has."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.model.app import PreparedApp
from phpdyno.model.inside.reach import Missed, Reached
from phpdyno.model.workload import Workload
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.reach_pass import place_to_take, with_what_the_host_has


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/var/lib/wiki/data/pages/start.txt", "/var/lib/wiki"),
        ("/srv/data/x", "/srv/data"),
        ("/srv/shop/lib/a.php", "/srv/shop/lib"),
        ("/home/ann/files/x", "/home/ann/files"),
        ("/home/ann", ""),
        ("/usr/share/x", ""),
        ("/tmp/x", ""),
        ("/run/mysqld/mysqld.sock", ""),
        ("/proc/1/x", ""),
        ("/var", ""),
    ],
)
def test_the_directory_that_would_have_to_be_there(path: str, place: str) -> None:
    assert place_to_take(path, Path("/srv/shop/public")) == place


def test_only_what_the_host_has_is_told(tmp_path: Path) -> None:
    app = PreparedApp("shop", tmp_path / "shop/public", Workload(()), root=tmp_path / "shop/public")
    (tmp_path / "data").mkdir()
    found = Reached(2, missed=(Missed(f"{tmp_path}/data", 3), Missed(f"{tmp_path}/none/x", 9)))
    bottled, in_the_open = (cast(Supervisor, SimpleNamespace(no_bottle=why)) for why in ("", "--no-bottle"))
    assert with_what_the_host_has(found, bottled, app).missed == (Missed(f"{tmp_path}/data", 3),)
    assert with_what_the_host_has(found, in_the_open, app).missed == ()
