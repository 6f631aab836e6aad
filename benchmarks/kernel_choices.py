"""Ways to build and call the kernel, measured: what a call costs, and how fast a scan compiled by numba is.

    pip install cffi numba
    python benchmarks/kernel_choices.py

The same C function is called through CPython's stable ABI (as drlh does), cffi and ctypes, on ten codes, where the call
is all there is. numba compiles a loop with LLVM's popcount that keeps the codes nearer than a bound, the innermost part
alone; ours finds the 100 nearest of the same 10⁷ codes. One thread.
"""

import ctypes
import importlib
import subprocess
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from drlh.hamming import engine
from drlh.hamming.scan import nearest_rows

ROOM = Path(engine.__file__).parent
_SIGNATURE = "int nearest(int, codes, codes, const codes *, const codes *, size_t, int64_t *, int64_t *, int64_t *);"
_STRUCT = "typedef struct { const uint8_t *bytes; size_t n; size_t width; } codes;"


class CodesStruct(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_void_p), ("n", ctypes.c_size_t), ("width", ctypes.c_size_t))


def microseconds(work: Callable[[], object], number: int) -> float:
    return min(timeit.repeat(work, number=number, repeat=5)) / number * 1e6


def call_costs(library: Path) -> dict[str, float]:
    codes, level = np.zeros((10, 8), np.uint8), engine.settings.level
    query, distances, rows = codes[:1].copy(), np.empty((1, 1), np.int64), np.empty((1, 1), np.int64)
    found = {
        "stable ABI": microseconds(
            lambda: engine.kernel.nearest(level or 0, query, codes, 8, 1, distances, rows), 20_000
        )
    }

    loaded = ctypes.CDLL(str(library))
    loaded.nearest.argtypes = (
        ctypes.c_int, CodesStruct, CodesStruct, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
        ctypes.c_void_p, ctypes.c_void_p,
    )  # fmt: skip

    def by_ctypes() -> None:
        left = CodesStruct(query.ctypes.data, len(query), 8)
        right = CodesStruct(codes.ctypes.data, len(codes), 8)
        loaded.nearest(level, left, right, None, None, 1, distances.ctypes.data, None, rows.ctypes.data)

    found["ctypes"] = microseconds(by_ctypes, 5_000)

    ffi: Any = importlib.import_module("cffi").FFI()
    ffi.cdef(_STRUCT + _SIGNATURE)
    opened = ffi.dlopen(str(library))

    def by_cffi() -> None:
        left = ffi.new("codes *", {"bytes": ffi.from_buffer("uint8_t[]", query), "n": 1, "width": 8})
        right = ffi.new("codes *", {"bytes": ffi.from_buffer("uint8_t[]", codes), "n": 10, "width": 8})
        places = ffi.from_buffer("int64_t[]", distances), ffi.from_buffer("int64_t[]", rows)
        opened.nearest(level, left[0], right[0], ffi.NULL, ffi.NULL, 1, places[0], ffi.NULL, places[1])

    found["cffi, ABI mode"] = microseconds(by_cffi, 5_000)
    return found


def numba_scan() -> Callable[[Any, Any, int, Any], int]:
    """Places of the words nearer than a bound; LLVM makes vectors of it if it can."""
    numba: Any = importlib.import_module("numba")
    extending: Any = importlib.import_module("numba.extending")

    @extending.intrinsic  # type: ignore[untyped-decorator]
    def popcount(_: Any, word: Any) -> Any:
        return word(word), lambda context, builder, signature, values: builder.ctpop(values[0])

    @numba.njit  # type: ignore[untyped-decorator]
    def scan(words: Any, query: Any, bound: int, found: Any) -> int:
        n = 0
        for place in range(len(words)):
            if popcount(words[place] ^ query) < bound:
                found[n] = place
                n += 1
        return n

    result: Callable[[Any, Any, int, Any], int] = scan
    return result


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "kernel.so"
        subprocess.run(["cc", "-O3", "-shared", "-fPIC", str(ROOM / "kernel.c"), "-o", str(library)], check=True)
        for name, cost in call_costs(library).items():
            print(f"one call, {name:<18}{cost:>8.2f} µs")
    codes = np.random.default_rng(0).integers(0, 256, (10_000_000, 8), np.uint8)
    words, found, scan = codes.view(np.uint64)[:, 0], np.empty(len(codes), np.int64), numba_scan()
    query = np.uint64(12_345)
    compiling = microseconds(lambda: scan(words[:1], query, 15, found), 1)
    begun = timeit.default_timer()
    scan(words.astype(np.int64)[:1], np.int64(1), 15, found)
    print(f"compiling with numba      {timeit.default_timer() - begun:>8.2f} s (then {compiling:.1f} µs a call)")
    speed = len(codes) / microseconds(lambda: scan(words, query, 15, found), 3) / 1e3
    print(f"numba, no k nearest       {speed:>8.2f} · 10⁹ codes/s")
    with engine.using(threads=1):
        for name in engine.engines():
            with engine.using(name):
                speed = len(codes) / microseconds(lambda: nearest_rows(codes[:1], codes, 100), 3) / 1e3
                print(f"{name:<10}one query       {speed:>8.2f} · 10⁹ codes/s")


if __name__ == "__main__":
    main()
