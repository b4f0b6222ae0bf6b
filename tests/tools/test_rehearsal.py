"""The bench itself, with tiny sizes, on real servers."""

import subprocess
import sys

import pytest
from tools.bench.load.load_core import CALLED
from tools.bench.load.rivals import INSTALLS
from tools.bench.stamp import ROOT

from tests.support.traces import wait_for_no_traces


@pytest.mark.long
@pytest.mark.integration
@pytest.mark.slow
def test_a_rehearsal_of_the_load_core_measures_prints_a_page_and_leaves_nothing() -> None:
    argv = [sys.executable, "-m", "tools.bench", "--quick", "--only", "load-core"]
    answer = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert answer.returncode == 0, answer.stderr
    section = answer.stdout.partition("\n## Load core\n")[2].partition("\n## ")[0]
    # Of a rival that is not there the page says so instead; FastCGI against nginx and the lag need
    # none.
    for name in INSTALLS:
        assert f"throughput by our generator / by {CALLED[name]}:" in section or f"{name} is not installed; " in section
    assert "FastCGI straight to php-fpm / through nginx" in section
    assert "lag of our generator, p99 of a slot" in section or "our generator has none of its own" in section
    assert wait_for_no_traces() == []
