"""Learn short binary codes for images by walking the binary cube, and search millions of images with them."""

import importlib
from typing import Any

from drlh.hashers.methods import METHODS

__version__ = "0.1.0"

# Loaded on first use: `import drlh` stays quick, and the command line starts without scikit-learn and torch.
_LAZY = {method.class_name: f"drlh.hashers.{method.module}" for method in METHODS} | {
    "load_hasher": "drlh.hashers.model_file",
    "make_hasher": "drlh.hashers.methods",
    "save_hasher": "drlh.hashers.model_file",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'drlh' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
