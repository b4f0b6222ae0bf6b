"""What the bench writes for PHP to read, without a server."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from phpdyno.host.cores import Cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.workload import Workload
from phpdyno.servers.bench import Bench
from phpdyno.servers.placement import Placement
from tests.support.made_up.journals import PHP


def test_values_of_a_running_pool_that_are_no_utf8_reach_php_as_they_are(tmp_path: Path) -> None:
    every = tuple(sorted(os.sched_getaffinity(0)))
    supervisor: Any = SimpleNamespace(live=tmp_path, directory=lambda name: tmp_path / name)
    app = PreparedApp("shop", tmp_path, Workload(()))
    bench = Bench(cast(Any, supervisor), app, cores=Cores(every, every), groups=None, transport="fastcgi")
    arm = Arm("control", PHP, {"pool.php_value[date.timezone]": "caf\udce9", "ini.user_agent": "größe\udce9"})
    bench._configure(arm, tmp_path, "/run/x.sock", Placement((), ""), texts=frozenset(), status=None)
    assert b"php_value[date.timezone] = 'caf\xe9'\n" in (tmp_path / "fpm.conf").read_bytes()
    assert b"user_agent = 'gr\xc3\xb6\xc3\x9fe\xe9'\n" in (tmp_path / "ini/phpdyno.ini").read_bytes()
