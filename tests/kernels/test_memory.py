"""Memory that stays with the process."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sanitizers import SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer has an allocator of its own")

_LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")

_FLAGS_OF_THE_HEAP = """
from binx.kernels.memory import keep_freed
keep_freed()
held = bytearray(8 << 20)
in_heap = False
flags = set()
for line in open("/proc/self/smaps"):
    if line[0] in "0123456789abcdef" and "-" in line.split()[0]:
        in_heap = line.rstrip().endswith("[heap]")
    elif in_heap and line.startswith("VmFlags:"):
        flags.update(line.split()[1:])
print("hg" in flags)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not _LARGE_PAGES.exists(),
    reason="the C library cannot be told, or the system has no large pages",
)
def test_large_pages_are_asked_for_where_rows_will_be() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _FLAGS_OF_THE_HEAP], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "True\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_process_that_may_not_have_the_room_goes_on_without() -> None:
    limited = """
import resource
from binx.kernels.memory import keep_freed
held = sum(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize:")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (held + (64 << 20),) * 2)
keep_freed()
print(len(bytearray(8 << 20)))
"""
    ran = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{8 << 20}\n"
