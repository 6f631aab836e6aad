"""DRLH's own tables as benches that run: what each departure is worth, eta, the step limit, and pairs of bits.

python benchmarks/drlh_tables.py ablation --data FILE.npz --protocol cifar10-I --bits 16,48 --seeds 0,1,2

Every cell is a record of `drlh bench`, kept in --records, and taken from there when it is known.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from drlh.console import ProgressBar, print_table
from drlh.data import load
from drlh.evaluate.bench import Bench, cells_of
from drlh.evaluate.protocols import get_protocol
from drlh.features import make_extractor, with_features

Variant = dict[str, Any]


def variants(table: str, n_bits: int) -> dict[str, Variant]:
    """Name of a row → parameters that differ from the preset's."""
    if table == "ablation":
        return {
            "default": {},
            "without look-ahead (gamma 0)": {"gamma": 0.0},
            "codebook stays BCH": {"follow": 0.0},
            "codebook random, stays": {"codebook": "random", "follow": 0.0},
            "one branch of 1,024": {"n_branches": 1, "hidden": 1024},
            "fixed start code": {"start": "fixed"},
            "features not compressed": {"power": 1.0},
            "paper": {"preset": "paper"},
            "paper, random exploration": {"preset": "paper", "guided": False},
            "paper, double Q and Huber": {"preset": "paper", "double": True, "huber": True},
        }
    if table == "eta":  # the radius R of the paper's codes is 3 at 16 bits and 7 at 32
        return {f"eta {eta}": {"preset": "paper", "eta": eta} for eta in range(8 if n_bits >= 32 else 4)}
    if table == "steps":
        limits = [1, 2, 4, 8, 16, 32, 64, 128]
        both = [("default", {}), ("paper", {"preset": "paper"})]
        return {f"{name}, M {limit}": {**preset, "max_steps": limit} for name, preset in both for limit in limits}
    return {"paper, 1 bit": {"preset": "paper"}, "paper, 1 or 2 bits": {"preset": "paper", "flips": 2}}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("ablation", "eta", "steps", "actions"))
    parser.add_argument("--data", default="digits")
    parser.add_argument("--features")
    parser.add_argument("--protocol", default="split")
    parser.add_argument("--n-query", type=int)
    parser.add_argument("--bits", default="16,32")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--records", type=Path, default=Path("benchmarks/records"))
    given = parser.parse_args(arguments)
    data = load(given.data)
    if data.features is None:
        data = with_features(data, make_extractor(given.features or "gray8"))
    bench = Bench(data, get_protocol(given.protocol), given.n_query, records=given.records)
    seeds = [int(seed) for seed in given.seeds.split(",")]
    bits = [int(n) for n in given.bits.split(",")]
    rows: dict[str, list[Any]] = {}
    with ProgressBar() as bar:
        for n_bits in bits:
            for name, parameters in variants(given.table, n_bits).items():
                found = [record["map"] for record in bench.run(cells_of(["drlh"], [n_bits], seeds, parameters), bar)]
                rows.setdefault(name, [None] * len(bits))[bits.index(n_bits)] = mean(found)
    print_table([given.table, *(f"{n} bits" for n in bits)], [[name, *values] for name, values in rows.items()])


if __name__ == "__main__":
    main()
