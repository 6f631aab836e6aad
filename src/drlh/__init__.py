"""Learn short binary codes for images by walking the binary cube, and search millions of images with them."""

import importlib
from typing import Any

__version__ = "0.1.0"

# Loaded on first use: `import drlh` stays quick, and the command line starts without scikit-learn and torch.
_LAZY = {
    "DRLH": "drlh.hashers.drlh.hasher",
    "ITQ": "drlh.hashers.itq",
    "LSH": "drlh.hashers.lsh",
    "load_hasher": "drlh.hashers.methods",
    "make_hasher": "drlh.hashers.methods",
    "save_hasher": "drlh.hashers.base",
}

__all__ = ["DRLH", "ITQ", "LSH", "__version__", "load_hasher", "make_hasher", "save_hasher"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'drlh' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
