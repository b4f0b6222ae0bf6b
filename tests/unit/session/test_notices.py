from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from phpdyno.model.app import PreparedApp
from phpdyno.model.services.service import Tcp
from phpdyno.model.workload import Target, Workload
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.environment import notices_of

APP = PreparedApp("shop", Path("/srv/shop"), Workload((Target("/"),), "localhost"))


@pytest.mark.parametrize("original", [None, Path("/srv/shop")])
def test_without_a_bottle_every_report_says_so(original: Path | None) -> None:
    app = structs.replace(APP, original=original, peers=(Tcp("api.example.com", 443),))
    (told,) = notices_of(cast(Supervisor, SimpleNamespace(no_bottle="--no-bottle")), app)
    assert told.startswith("measured without a bottle (--no-bottle)")


def test_in_a_bottle_it_names_the_peers_that_are_let_through() -> None:
    bottle = cast(Supervisor, SimpleNamespace(no_bottle=""))
    assert notices_of(bottle, APP) == ()
    assert notices_of(bottle, structs.replace(APP, peers=(Tcp("api.example.com", 443),))) == ("lets through: api.example.com:443",)
