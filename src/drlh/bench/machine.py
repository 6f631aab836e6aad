"""What a record was measured with: the commit, versions, cores, and the memory of the process."""

import os
import platform
import re
import resource
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

_MEMORY = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak_memory() -> None:
    """Linux can reset the peak; otherwise a process that fills several cells would pass on the first one's."""
    with suppress(OSError):
        _MEMORY[1].write_text("5", encoding="ascii")


def peak_memory_mb() -> int:
    """The most memory this process has held since the last reset."""
    if _MEMORY[0].exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", _MEMORY[0].read_text(encoding="ascii"))
        if found:
            return int(found[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def machine() -> dict[str, str]:
    """What a time was measured on."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
    }


def versions() -> dict[str, str]:
    """Python, drlh, and the packages that numbers depend on."""
    packages = ("drlh", "numpy", "scipy", "scikit-learn", "torch")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


@cache
def commit() -> str | None:
    """The commit of the checkout that drlh runs from, with a `+` where its sources differ; None without a checkout."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists() or Path(__file__).parents[1] != root / "src" / "drlh":
        return None
    try:
        found = _git(root, "rev-parse", "HEAD")
        # Sources alone: a bench that writes its records into the checkout does not change what it runs.
        changed = _git(root, "status", "--porcelain", "--", "src")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{found}+" if changed else found


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()
