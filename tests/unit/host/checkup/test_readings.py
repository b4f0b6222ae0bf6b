"""What is read from made-up /proc and /sys trees, whole ones and poor ones."""

import os
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.host.checkup.isolation import judge_isolation
from phpdyno.host.checkup.readings import read_cpu, read_host_files, read_memory
from phpdyno.host.checkup.sample import take_sample
from phpdyno.host.files.small_files import SmallFiles, core_list, selected, whole
from phpdyno.host.surroundings import CgroupLimits, cgroup_limits, container, virtual_machine
from tests.support.made_up.hosts import made_up

CPU = "/sys/devices/system/cpu"
X86 = "processor : 0\nflags\t\t: fpu tsc"
X86_GUEST = f"{X86} hypervisor\n"


@pytest.mark.parametrize(("text", "cores"), [("0-2,7", (0, 1, 2, 7)), ("3", (3,)), ("", None), (None, None), ("a-b", None)])
def test_core_lists(text: str | None, cores: tuple[int, ...] | None) -> None:
    assert core_list(text) == cores


def test_small_texts() -> None:
    assert (selected("always [madvise] never"), selected("madvise"), selected(None)) == ("madvise", "madvise", None)
    assert (whole("12"), whole("-1"), whole("max"), whole(""), whole(None)) == (12, -1, None, None, None)


def test_an_empty_tree_is_unknown_and_no_error(tmp_path: Path) -> None:
    found = read_host_files(SmallFiles(tmp_path), allowed=(0,))
    assert [found.cpu.model, found.cpu.online, found.cpu.turbo, found.cpu.clock_source] == [None] * 4
    assert (found.cpu.allowed, found.cpu.siblings, found.cpu.governors) == ((0,), {}, ())
    assert [found.memory.total_kib, found.memory.thp, found.memory.hugetlb_pages] == [None] * 3
    assert not found.memory.hugetlb_settable
    assert [found.kernel.aslr, found.kernel.perf_paranoid, found.kernel.yama, found.kernel.somaxconn] == [None] * 4
    assert [found.kernel.proc, found.kernel.schedstat, found.kernel.children] == [False] * 3
    assert (found.limits, found.virtual, found.container) == (None, None, "")
    assert take_sample(SmallFiles(tmp_path), seconds=0.0) is None


def test_a_directory_where_a_file_should_be_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "proc" / "meminfo").mkdir(parents=True)
    assert read_memory(SmallFiles(tmp_path)).total_kib is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    tree = made_up(tmp_path, {"/proc/meminfo": "MemTotal: 5 kB\n"})
    tree.path("/proc/meminfo").chmod(0)
    assert read_memory(tree).total_kib is None


@pytest.mark.parametrize(
    ("files", "turbo", "off"),
    [
        ({f"{CPU}/intel_pstate/no_turbo": "0\n"}, True, f"echo 1 | sudo tee {CPU}/intel_pstate/no_turbo"),
        ({f"{CPU}/intel_pstate/no_turbo": "1\n"}, False, f"echo 1 | sudo tee {CPU}/intel_pstate/no_turbo"),
        ({f"{CPU}/cpufreq/boost": "1\n"}, True, f"echo 0 | sudo tee {CPU}/cpufreq/boost"),
        ({}, None, ""),
    ],
)
def test_turbo(files: dict[str, str], turbo: bool | None, off: str, tmp_path: Path) -> None:
    found = read_cpu(made_up(tmp_path, files), (0,))
    assert (found.turbo, found.turbo_off) == (turbo, off)


def test_a_laptop(tmp_path: Path) -> None:
    files = {
        "/proc/cpuinfo": "model name : Made-up CPU\n",
        f"{CPU}/online": "0-3\n",
        f"{CPU}/smt/control": "on\n",
        **{f"{CPU}/cpu{core}/cpufreq/scaling_governor": "powersave\n" for core in range(4)},
        **{f"{CPU}/cpu{core}/topology/thread_siblings_list": f"{core % 2},{core % 2 + 2}\n" for core in range(4)},
    }
    found = read_cpu(made_up(tmp_path, files), (1, 3))
    assert (found.model, found.online, found.governors) == ("Made-up CPU", (0, 1, 2, 3), ("powersave",))
    assert found.siblings == {1: (1, 3), 3: (1, 3)}
    assert found.smt == "on"


def test_memory(tmp_path: Path) -> None:
    meminfo = "MemTotal: 4096 kB\nMemAvailable: 1024 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\nHugePages_Total:      3\nHugepagesize: 2048 kB\n"
    found = read_memory(made_up(tmp_path, {"/proc/meminfo": meminfo, "/proc/sys/vm/nr_hugepages": "3\n"}))
    assert (found.total_kib, found.available_kib, found.swap_total_kib, found.swap_free_kib) == (4096, 1024, 10, 4)
    assert (found.hugetlb_pages, found.hugepage_kib, found.hugetlb_settable) == (3, 2048, True)


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"/proc/cpuinfo": X86}, ""),
        ({"/proc/cpuinfo": X86, "/sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, ""),  # their bare metal
        ({"/proc/cpuinfo": X86_GUEST, "/sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, "amazon"),
        ({"/proc/cpuinfo": X86_GUEST, "/sys/class/dmi/id/product_name": "Standard PC\n", "/sys/class/dmi/id/sys_vendor": "QEMU"}, "qemu"),
        ({"/proc/cpuinfo": X86_GUEST, "/sys/hypervisor/type": "xen\n"}, "xen"),
        ({"/proc/cpuinfo": X86_GUEST}, "unknown"),
        ({"/proc/cpuinfo": "Features\t: fp", "/sys/class/dmi/id/sys_vendor": "QEMU"}, "qemu"),
        ({"/proc/cpuinfo": "Features\t: fp", "/proc/device-tree/hypervisor/compatible": "linux,kvm"}, "unknown"),
        ({"/proc/cpuinfo": "Features\t: fp"}, ""),
        ({}, None),
    ],
)
def test_virtual_machines(files: dict[str, str], name: str | None, tmp_path: Path) -> None:
    assert virtual_machine(made_up(tmp_path, files)) == name


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"/.dockerenv": ""}, "docker"),
        ({"/run/.containerenv": ""}, "podman"),
        ({"/run/systemd/container": "lxc\n"}, "lxc"),
        ({"/proc/1/environ": "PATH=/bin\0container=systemd-nspawn\0"}, "systemd-nspawn"),
        ({"/proc/self/cgroup": "0::/kubepods/burstable/pod1\n"}, "kubepods"),
        ({"/proc/self/cgroup": "0::/user.slice\n"}, ""),
    ],
)
def test_containers(files: dict[str, str], name: str, tmp_path: Path) -> None:
    assert container(made_up(tmp_path, files)) == name


def test_the_tightest_limit_on_the_way_up_counts(tmp_path: Path) -> None:
    files = {
        "/proc/self/cgroup": "0::/site.slice/php.service\n",
        "/proc/mounts": "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        "/sys/fs/cgroup/site.slice/cpu.max": "150000 100000\n",
        "/sys/fs/cgroup/site.slice/php.service/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/site.slice/php.service/memory.max": "1073741824\n",
    }
    assert cgroup_limits(made_up(tmp_path, files)) == CgroupLimits(1.5, 1024 * 1024)


def test_limits_of_the_first_version_where_a_container_shows_its_own_group_as_the_root(tmp_path: Path) -> None:
    files = {
        "/proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
        "/proc/mounts": "cgroup /c/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /c/memory cgroup rw,memory 0 0\n",
        "/c/cpu/cpu.cfs_quota_us": "50000\n",
        "/c/cpu/cpu.cfs_period_us": "100000\n",
        "/c/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }
    assert cgroup_limits(made_up(tmp_path, files)) == CgroupLimits(0.5, None)


def test_no_quota_is_minus_one_in_the_first_version(tmp_path: Path) -> None:
    files = {
        "/proc/self/cgroup": "3:cpu:/\n",
        "/proc/mounts": "cgroup /c/cpu cgroup rw,cpu 0 0\n",
        "/c/cpu/cpu.cfs_quota_us": "-1\n",
        "/c/cpu/cpu.cfs_period_us": "100000\n",
    }
    assert cgroup_limits(made_up(tmp_path, files)) == CgroupLimits()


ARM_64K = """MemTotal:       131571136 kB
MemAvailable:   120000000 kB
HugePages_Total:       0
HugePages_Free:        0
Hugepagesize:     524288 kB
Hugetlb:               0 kB
"""
"""/proc/meminfo of an arm64 server whose kernel has pages of 64 KiB, shortened."""


def test_huge_pages_of_an_arm64_host_with_64_kib_pages(tmp_path: Path) -> None:
    files = {"/proc/meminfo": ARM_64K, "/proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"}
    seen = read_host_files(made_up(tmp_path, files), allowed=(0, 1))
    assert seen.memory.hugepage_kib == 512 << 10
    settable = structs.replace(seen, memory=structs.replace(seen.memory, hugetlb_settable=True))
    lines = judge_isolation(settable, None, cgroups="cgroup v2", account="phpdyno", account_problem="")
    (pages,) = (line for line in lines if line.name == "huge pages (hugetlb)")
    assert pages.found == "none reserved of 512 MiB, and we may reserve some"
    assert pages.fix == "sudo sysctl -w vm.nr_hugepages=1"
    assert "PHP asks for pages of 2 MiB" in pages.means
    # 2 MiB are not worth a word, and 256 MiB are 128 of them.
    (tmp_path / "proc/meminfo").write_text(ARM_64K.replace("524288", "2048"))
    usual = read_host_files(SmallFiles(tmp_path), allowed=(0, 1))
    lines = judge_isolation(usual, None, cgroups="", account="phpdyno", account_problem="")
    (pages,) = (line for line in lines if line.name == "huge pages (hugetlb)")
    assert (pages.fix, "PHP asks" in pages.means) == ("sudo sysctl -w vm.nr_hugepages=128", False)
