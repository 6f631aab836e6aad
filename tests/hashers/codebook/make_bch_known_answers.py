"""Makes bch_known_answers.json with galois, an independent implementation: `python tests/make_bch_known_answers.py`.

For every narrow-sense primitive BCH code of length 2^m - 1, m = 3..8: [n, k, d], the generator polynomial as hex,
and the codeword of one message, both as hex with the highest power first.
"""

import json
from pathlib import Path

import galois
import numpy as np


def as_hex(bits: np.ndarray) -> str:
    return f"{int(''.join(str(int(bit)) for bit in bits), 2):x}"


def answers(m: int, rng: np.random.Generator) -> list[dict[str, int | str]]:
    n, rows, design = 2**m - 1, [], 2
    while design <= n:
        code = galois.BCH(n, galois.BCH(n, d=design).k)  # given k, galois finds the largest design distance
        message = rng.integers(0, 2, code.k)
        rows.append(
            {
                "n": code.n,
                "k": code.k,
                "d": code.d,
                "generator": f"{int(code.generator_poly):x}",
                "message": as_hex(message),
                "codeword": as_hex(code.encode(message)),
            }
        )
        design = code.d + 1
    return rows


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    record = {"galois": galois.__version__, "codes": [row for m in range(3, 9) for row in answers(m, rng)]}
    text = json.dumps(record, indent=0)
    Path(__file__).with_name("bch_known_answers.json").write_text(text + "\n", encoding="utf-8")
