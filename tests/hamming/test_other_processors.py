"""The kernel on a processor that this machine does not have: NEON, cross-compiled and run by an emulator."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[2] / "src" / "drlh" / "hamming"
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"

# Draws codes, and compares the k nearest and all within a radius of each level with those of plain loops.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include "kernel.h"

static unsigned apart(const uint8_t *a, const uint8_t *b, size_t width) {
    unsigned total = 0;
    for (size_t at = 0; at < width; at++) total += (unsigned)__builtin_popcount(a[at] ^ b[at]);
    return total;
}

int main(void) {
    static const size_t widths[] = {4, 8, 16, 32, 6, 20};
    int checked = 0;
    if (!level_available(NEON)) return 3;
    for (int draw = 0; draw < 600; draw++) {
        size_t width = widths[draw % 6], n = 1 + (size_t)rand() % 150, k = 1 + (size_t)rand() % n;
        uint8_t bytes[150 * 32], query[32];
        int64_t distances[150], rows[150];
        for (size_t at = 0; at < n * width; at++) bytes[at] = (uint8_t)(draw % 2 ? rand() : rand() & rand() & rand());
        for (size_t at = 0; at < width; at++) query[at] = (uint8_t)rand();
        codes database = {bytes, n, width}, one = {query, 1, width};
        if (nearest(NEON, one, database, NULL, NULL, k, distances, NULL, rows)) return 4;
        size_t place = 0;
        unsigned radius = (unsigned)(rand() % (int)(8 * width));
        size_t n_within = 0;
        for (unsigned d = 0; d <= 8 * width; d++)
            for (size_t row = 0; row < n; row++) {
                if (apart(query, bytes + row * width, width) != d) continue;
                n_within += d <= radius;
                if (place < k && (distances[place] != (int64_t)d || rows[place] != (int64_t)row)) return 5;
                place++;
            }
        hit *hits;
        size_t n_hits;
        if (within(NEON, one, database, radius, n, &hits, &n_hits) || n_hits != n_within) return 6;
        free(hits);
        checked++;
    }
    printf("checked %d\n", checked);
    return 0;
}
"""


def test_neon_answers_as_plain_loops_do(tmp_path: Path) -> None:
    if shutil.which(COMPILER) is None or shutil.which(EMULATOR) is None:
        pytest.skip(f"needs {COMPILER} and {EMULATOR} to compile for ARM and to run that here")
    (tmp_path / "main.c").write_text(PROGRAM, encoding="utf-8")
    sources = [str(tmp_path / "main.c"), str(ROOM / "kernel.c")]
    subprocess.run([COMPILER, "-O3", "-static", f"-I{ROOM}", *sources, "-o", str(tmp_path / "program")], check=True)
    result = subprocess.run([EMULATOR, str(tmp_path / "program")], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "checked 600\n")
