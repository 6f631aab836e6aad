"""A room imports only rooms before it on the data's way, lazy imports included, and nobody imports the package root."""

import ast
import subprocess
import sys
from pathlib import Path

import drlh

ROOT = Path(drlh.__file__).parent
ORDER = (
    "core", "hamming", "data", "networks", "features", "evaluate", "hashers", "model", "index", "encoding", "bench",
    "paper", "report", "serve", "cli",
)  # fmt: skip
APART = {("index", "hashers"), ("index", "features"), ("index", "model")}  # left of it, and still none of its business


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem == "model"}


def imports_of(module: str) -> set[str]:
    """Modules of ours that `module` imports, anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} uses a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    assert "drlh" not in found, f"{module} imports the package root"
    inner = {name.removeprefix("drlh.") for name in found if name.startswith("drlh.")}
    return {name for name in inner if name in MODULES} - {module}


GRAPH = {module: imports_of(module) for module in MODULES}


def test_every_room_has_its_place_in_the_order() -> None:
    assert {module.split(".")[0] for module in MODULES} <= set(ORDER)


def test_every_module_keeps_to_the_order_of_the_rooms() -> None:
    for module, others in GRAPH.items():
        room = module.split(".")[0]
        for other in others:
            used = other.split(".")[0]
            assert ORDER.index(used) <= ORDER.index(room), f"{module} imports {other}, a room to its right"
            assert (room, used) not in APART, f"{module} imports {other}, which is none of its business"


def test_no_modules_import_each_other_in_a_circle() -> None:
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"a circle: {' > '.join((*way[way.index(module) :], module))}"
        if module not in done:
            for other in sorted(GRAPH[module]):
                visit(other, (*way, module))
            done.add(module)

    for module in sorted(GRAPH):
        visit(module, ())


def test_the_command_line_starts_without_the_heavy_packages() -> None:
    heavy = ("torch", "sklearn", "scipy", "onnxruntime", "faiss", "matplotlib")
    script = f"import sys, drlh.cli; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
