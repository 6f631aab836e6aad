"""Compiles the kernel of src/drlh/hamming while drlh is installed; where that fails, drlh is installed without it.

    python hatch_build.py     # compile it into src/, for work on a checkout

It needs a C compiler ($CC, the one Python was built with, or cc) and Python's headers, nothing else. The kernel keeps
to CPython's stable ABI, so one wheel for each platform serves every Python from 3.11 on.
"""

import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

ROOM = Path("src/drlh/hamming")
SOURCES = ("kernel.c", "module.c")
LIBRARY = "_kernel.abi3.so"
_LINKING = ("-bundle", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared",)
_FLAGS = ("-std=gnu11", "-O3", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra")


def compilers() -> list[list[str]]:
    """The commands to try, one after another; $CC alone, where it is set."""
    given = os.environ.get("CC")
    found = [given] if given else [sysconfig.get_config_var("CC"), "cc", "gcc", "clang"]
    return [shlex.split(command) for command in found if command]


def compile_kernel(room: Path, library: Path, *flags: str) -> str | None:
    """Compiles the sources in `room` into `library`; returns None, or why it could not be done."""
    include = f"-I{sysconfig.get_paths()['include']}"
    sources = [str(room / name) for name in SOURCES]
    problem = "no C compiler was found"
    for compiler in compilers():
        command = [*compiler, *_FLAGS, *flags, include, *sources, *_LINKING, "-o", str(library)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
            return None
        except OSError:
            continue  # not there
        except subprocess.CalledProcessError as error:
            problem = f"{compiler[0]} failed: {error.stderr.strip()[-2000:]}"
    return problem


def platform_tag() -> str:
    from packaging.tags import platform_tags

    return next(platform_tags())


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script, outside a build
    pass
else:

    class KernelHook(BuildHookInterface[Any]):
        """Puts the compiled kernel into the wheel, or into src/ for an editable install."""

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            room = Path(self.root) / ROOM
            self.temporary = tempfile.TemporaryDirectory()  # kept until the wheel is written
            directory = room if version == "editable" else Path(self.temporary.name)
            problem = compile_kernel(room, directory / LIBRARY)
            if problem is not None:
                self.app.display_warning(f"drlh is installed without its kernel, and faiss compares codes: {problem}")
                return
            build_data["tag"] = f"cp311-abi3-{platform_tag()}"
            build_data["pure_python"] = False
            if version != "editable":
                build_data["force_include"][str(directory / LIBRARY)] = f"drlh/hamming/{LIBRARY}"

        def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
            self.temporary.cleanup()


if __name__ == "__main__":
    here = Path(__file__).parent / ROOM
    sys.exit(compile_kernel(here, here / LIBRARY))
