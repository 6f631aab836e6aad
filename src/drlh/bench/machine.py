"""What a record was measured on: versions, cores, and the memory of the process."""

import os
import platform
import re
import resource
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

_MEMORY = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def forget_peak_memory() -> None:
    """A process that fills several cells would hand the first one's peak on; Linux can forget it."""
    with suppress(OSError):
        _MEMORY[1].write_text("5", encoding="ascii")


def peak_memory_mb() -> int:
    """The most memory this process has held, since it was last told to forget."""
    if _MEMORY[0].exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", _MEMORY[0].read_text(encoding="ascii"))
        if found:
            return int(found[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def machine() -> dict[str, str]:
    """What a time was measured on, and with which versions."""
    packages = ("numpy", "scikit-learn", "torch")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "drlh": version("drlh"),
    } | {name: version(name) for name in packages}
