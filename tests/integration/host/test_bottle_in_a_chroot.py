"""What is measured in a chroot is shut off as it is elsewhere: from the chroot's files and from
those outside of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.real.command import site

# Places that a bottle does not have, and that whoever stands at the host's root sees.
OUTSIDE = [name for name in ("boot", "media", "lost+found") if Path("/", name).is_dir()]
LOOKS = f"<?php foreach (explode(',', '{','.join(OUTSIDE)}') as $each) {{ is_dir('/' . $each) && http_response_code(500); }} echo 1;"
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a chroot"),
    pytest.mark.skipif(not OUTSIDE, reason="this host's root has nothing that a bottle lacks"),
]

MOUNT = "mount --rbind / root"
# Every directory of the host in an own one that is no mount; links as they are.
NO_MOUNT = """
for place in /*; do
    if [ -h "$place" ]; then cp -P "$place" root/
    elif [ -d "$place" ]; then mkdir "root$place"; mount --rbind "$place" "root$place"; fi
done
"""


@pytest.mark.parametrize("made", [MOUNT, NO_MOUNT], ids=["its root is a mount", "its root is no mount"])
def test_a_chroot_has_a_bottle(tmp_path: Path, made: str) -> None:
    (tmp_path / "root").mkdir()
    docroot = site(tmp_path / "site", index=LOOKS)
    before = Path("/proc/self/mountinfo").read_text()
    command = f'exec chroot root env PYTHONPATH="$1/src" "$2" -m phpdyno check --docroot {docroot} --url / --json'
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "--mount-proc"]
    answer = subprocess.run(
        [*apart, "sh", "-ec", f"{made}\n{command}", "sh", str(ROOT), sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    found = json.loads(answer.stdout)
    assert found["bottle"] == ""
    assert [target["status"] for target in found["targets"]] == [200]
    assert Path("/proc/self/mountinfo").read_text() == before
    assert list((tmp_path / "root").iterdir()) == [] or made == NO_MOUNT
