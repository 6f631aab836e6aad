"""Rooms import only rooms to their left on the data's way, and nobody imports the package root."""

import ast
import subprocess
import sys
from pathlib import Path

import drlh

ROOT = Path(drlh.__file__).parent
FOUNDATION = {"errors", "files", "progress", "processes"}
# Each room and the rooms it may use beside the foundation and itself.
MAY_USE = {
    "errors": set(),
    "files": set(),
    "progress": set(),
    "processes": set(),
    "codes": set(),
    "bch": set(),
    "data": {"codes"},
    "codes_file": {"codes", "data"},
    "codes_parquet": {"codes", "codes_file", "data"},
    "features": {"codes", "data"},
    "cnn": {"codes", "data", "features"},
    "hashers": {"codes", "bch", "data", "features", "cnn", "evaluate.metrics"},
    "index": {"codes", "codes_file", "data"},
    "encoding": {"codes", "codes_file", "codes_parquet", "data", "features", "hashers", "index"},
    "evaluate": {"codes", "codes_file", "data", "features", "hashers", "index"},
    "experiments": {"codes", "data", "features", "hashers", "evaluate", "stages"},
    "report": {"codes", "codes_file", "data", "features", "hashers", "index", "evaluate", "experiments"},
    "console": set(),
}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            found.add(node.module or "")
    return {name for name in found if name.split(".")[0] == "drlh"}


def test_every_module_keeps_to_the_order_of_the_rooms() -> None:
    for path in ROOT.rglob("*.py"):
        room = module_name(path).split(".")[0]
        if room in ("cli", "demo", "experiment_verbs", "stages", "serve", "__init__", "__main__"):
            continue
        for name in imports_of(path):
            inner = name.removeprefix("drlh.")
            assert inner != "drlh", f"{path} imports the package root"
            own = inner.split(".")[0]
            allowed = FOUNDATION | MAY_USE[room] | {room}
            assert own in allowed or inner in allowed, f"{path} imports {name}, a room it must not know"


def test_the_command_line_starts_without_the_heavy_packages() -> None:
    heavy = ("torch", "sklearn", "scipy", "onnxruntime", "faiss", "matplotlib")
    script = f"import sys, drlh.cli; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
