"""Speed of DRLH: learning beside stable-baselines3, encoding beside one forward pass, and how time grows.

    OMP_NUM_THREADS=1 python benchmarks/drlh_speed.py [--parts learning,encoding,scaling] [--data FILE.npz]
        [--json RECORD.json] [--plot PICTURE.svg]

`learning`: environment steps a second of the paper's agent (`DRLHPaper`) and of stable-baselines3's DQN on
`HashingEnv`, with the same layers, loss, optimiser, exploration, memory and batch. After every N steps of the
environment both learn from one batch of N remembered steps. Stable-baselines3 gets one environment, with the
observation as a dictionary and flattened, and a vector of them; the faster of the first two counts.

`encoding`: the walk of the default agent beside one pass of its network over the same rows in the same batches, and
beside the plain walk: b steps for every row, each through the whole network. Codes of the two walks are compared.

`scaling`: seconds of fit and encode over the number of images and over the number of bits, epochs and batch fixed;
slopes on logarithmic axes.

All trials of a part take turns within a round. `core` counts a process's own seconds: it hardly minds a busy machine.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib as mpl
import numpy as np
import torch
from gymnasium.wrappers import FlattenObservation
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.vec_env import DummyVecEnv

from drlh.bench.machine import machine, versions
from drlh.core.codes import Codes, round_to_codes
from drlh.core.files import atomic_path, write_json
from drlh.data import load
from drlh.data.labels import Labels
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.drlh.hasher import DRLH
from drlh.hashers.drlh.network import flip_values
from drlh.hashers.drlh.walk import _LOWER_BIT_FIRST, _ROWS, WalkPolicy
from drlh.hashers.drlh_paper.environment import one_bit_actions
from drlh.hashers.drlh_paper.gym import HashingEnv
from drlh.hashers.drlh_paper.learner import DQNConfig, DQNLearner
from drlh.hashers.drlh_paper.network import QNetwork
from drlh.hashers.drlh_paper.reward import Reward

Features = NDArray[np.float32]
Record = dict[str, Any]
N_BITS, N_CLASSES = 48, 10
HIDDEN_SIZE, EPSILON, LEARNING_RATE, MEMORY = 64, 0.1, 1e-3, 100_000
N_ENVIRONMENTS = 128  # of the vector


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="learning,encoding,scaling")
    parser.add_argument("--data", help="a feature file for encoding; otherwise random clusters of 1280 features")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batches", type=numbers, default=[128, 1024], help="learning: sizes N")
    parser.add_argument("--steps", type=int, default=2048, help="learning: of stable-baselines3 in one round")
    parser.add_argument("--rows", type=int, default=20_000, help="encoding: rows encoded")
    parser.add_argument("--train", type=int, default=5_000, help="encoding: rows the agent learns from")
    parser.add_argument("--images", type=numbers, default=[2_000, 4_000, 8_000, 16_000], help="scaling")
    parser.add_argument("--bits", type=numbers, default=[12, 24, 48, 96, 128], help="scaling")
    parser.add_argument("--json", type=Path, help="where the raw record goes")
    parser.add_argument("--plot", type=Path, help="where the picture of scaling goes: .png or .svg")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    packages = {name: version(name) for name in ("stable-baselines3", "gymnasium")}
    record: Record = {
        "format": "drlh-speed",
        "version": 1,
        "threads": given.threads,
        "machine": machine() | versions() | packages,
    }
    parts = {"learning": learning, "encoding": encoding, "scaling": scaling}
    for name in given.parts.split(","):
        if name not in parts:
            parser.error(f"--parts takes {', '.join(parts)}: got {name!r}")
        record[name] = parts[name](given)
        print(TABLES[name](record[name]), end="\n\n", flush=True)
        if given.json:
            write_json(given.json, record)
    if given.plot and "scaling" in record:
        draw(record["scaling"], given.plot)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def clusters(n: int, n_features: int) -> tuple[Features, Labels]:
    """Rows around ten centres, near enough to each other that some are in doubt."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, N_CLASSES, n)
    centres = rng.standard_normal((N_CLASSES, n_features)) * 3 / np.sqrt(n_features)
    return (centres[labels] + rng.standard_normal((n, n_features))).astype(np.float32), labels


def timed(work: Callable[[], float]) -> dict[str, float]:
    """How much of its own unit (steps, rows) `work` did, a second on the clock and of the process."""
    clock, core = time.perf_counter(), time.process_time()
    amount = work()
    return {"clock": amount / (time.perf_counter() - clock), "core": amount / (time.process_time() - core)}


def interleaved(trials: Mapping[str, Callable[[], float]], rounds: int) -> Record:
    """Rates {trial: {clock: [one a round], core: [...]}}, after one round that does not count."""
    for work in trials.values():
        work()
    found = [{name: timed(work) for name, work in trials.items()} for _ in range(rounds)]
    return {name: {kind: [one[name][kind] for one in found] for kind in ("clock", "core")} for name in trials}


def ratios(rates: Record, fast: str, slow: str) -> dict[str, list[float]]:
    pairs = {kind: zip(rates[fast][kind], rates[slow][kind], strict=True) for kind in ("clock", "core")}
    return {kind: [left / right for left, right in both] for kind, both in pairs.items()}


def line(name: str, figures: Record, digits: int = 0) -> str:
    """A row of a table: the medians of `clock` and `core`."""
    clock, core = (statistics.median(figures[kind]) for kind in ("clock", "core"))
    return f"{name:<40}{clock:>10,.{digits}f}{core:>10,.{digits}f}"


def heading(text: str) -> str:
    return f"{text:<40}{'clock':>10}{'core':>10}"


# Learning


def learning(given: argparse.Namespace) -> Record:
    features, labels = clusters(4096, 64)
    actions = one_bit_actions(N_BITS)
    book = make_codebook(N_CLASSES, N_BITS, kind="bch-paper", random_state=0)
    reward = Reward(book, actions)
    return {str(n): _learning(features, labels, reward, n, given) for n in given.batches}


def _learning(features: Features, labels: Labels, reward: Reward, n: int, given: argparse.Namespace) -> Record:
    ours = our_learner(features, labels, reward, n)
    plain = partial(HashingEnv, features, labels, reward, max_steps=N_BITS)
    flat: Callable[[], gymnasium.Env[Any, Any]] = lambda: FlattenObservation(plain())  # noqa: E731
    trials = {
        "drlh": partial(our_steps, ours),
        "sb3 dictionary": partial(their_steps, their_learner("MultiInputPolicy", [plain], n), given.steps),
        "sb3 flat": partial(their_steps, their_learner("MlpPolicy", [flat], n), given.steps),
        "sb3 vector": partial(their_steps, their_learner("MlpPolicy", [flat] * min(n, N_ENVIRONMENTS), n), given.steps),
    }
    rates = interleaved(trials, given.rounds)
    fastest = max(("sb3 dictionary", "sb3 flat"), key=lambda trial: statistics.median(rates[trial]["clock"]))
    return {
        "steps_per_second": rates,
        "faster_policy": fastest,
        "ratio": ratios(rates, "drlh", fastest),
        "ratio_to_vector": ratios(rates, "drlh", "sb3 vector"),
        "samples_per_step": our_samples_per_step(ours),
    }


def our_learner(features: Features, labels: Labels, reward: Reward, n: int) -> DQNLearner:
    config = DQNConfig(
        n_epochs=10**6, epsilon=(EPSILON, EPSILON, 1), guided=False, max_steps=N_BITS, batch_size=n, replay_ratio=1,
        replay_capacity=MEMORY // len(features), learning_rate=LEARNING_RATE, huber=True,
    )  # fmt: skip
    network = QNetwork(features.shape[1], reward.actions, hidden_size=HIDDEN_SIZE, dropout=0.0)
    return DQNLearner(network, reward, torch.from_numpy(features), torch.from_numpy(labels), config, seed=0)


def our_steps(learner: DQNLearner) -> float:
    """One epoch: every image walks once."""
    before = learner.memory.n_added.sum()
    learner.run_epoch(learner.n_updates)
    return float(learner.memory.n_added.sum() - before)


def our_samples_per_step(learner: DQNLearner) -> float:
    return float(learner.n_updates * learner.config.batch_size / learner.memory.n_added.sum())


def their_learner(policy: str, environments: Sequence[Callable[[], gymnasium.Env[Any, Any]]], n: int) -> DQN:
    optimizer = {"optimizer_class": torch.optim.SGD, "optimizer_kwargs": {"momentum": 0.9}}
    learner = DQN(
        policy, DummyVecEnv(list(environments)), learning_rate=LEARNING_RATE, buffer_size=MEMORY, learning_starts=n,
        batch_size=n, gamma=0.9, train_freq=(max(1, n // len(environments)), "step"), gradient_steps=1,
        target_update_interval=1000 * n, exploration_initial_eps=EPSILON, exploration_final_eps=EPSILON,
        policy_kwargs={"net_arch": [HIDDEN_SIZE, HIDDEN_SIZE], **optimizer}, device="cpu", seed=0,
    )  # fmt: skip
    return learner.learn(2 * n, log_interval=None)  # now it learns after every n steps


def their_steps(learner: DQN, steps: int) -> float:
    before = learner.num_timesteps
    learner.learn(steps, log_interval=None, reset_num_timesteps=False)
    return float(learner.num_timesteps - before)


def learning_table(record: Record) -> str:
    lines = []
    for n, found in record.items():
        lines.append(heading(f"learning, batch {n}: steps a second"))
        lines += [line(trial, rates) for trial, rates in found["steps_per_second"].items()]
        lines.append(line(f"drlh / {found['faster_policy']} (wanted: 50 or more)", found["ratio"], 1))
        lines.append(line("drlh / sb3 vector", found["ratio_to_vector"], 1))
    return "\n".join(lines)


# Encoding


def encoding(given: argparse.Namespace) -> Record:
    features, labels = labelled(given.data) if given.data else clusters(given.rows + given.train, 1280)
    order = np.random.default_rng(0).permutation(len(features))
    train, rows = order[: given.train], order[given.train : given.train + given.rows]
    hasher = DRLH(N_BITS, random_state=0, device="cpu").fit(features[train], labels[train])
    policy, inputs = hasher._policy(), hasher._inputs(features[rows].astype(np.float64))
    trials = {"forward": partial(forward, policy, inputs), "walk": partial(encoded, policy, inputs)}
    rates = interleaved(trials, given.rounds)
    start = time.perf_counter()
    plain = torch.cat([plain_walk(policy, part) for part in torch.split(inputs, _ROWS)])
    plain_seconds = time.perf_counter() - start
    codes = {"walk": policy.encode(inputs), "plain walk": round_to_codes(plain.numpy())}
    return {
        "data": Path(given.data).name if given.data else "random clusters",
        "n_rows": len(rows),
        "rows_per_second": rates,
        "ratio": ratios(rates, "forward", "walk"),
        "plain_rows_per_second": len(rows) / plain_seconds,
        "one_row_milliseconds": one_row_milliseconds(hasher, features[rows[:1]]),
        "identical": float((codes["walk"] == codes["plain walk"]).all(axis=1).mean()),
        "map": {name: precision(found, labels[rows]) for name, found in codes.items()},
    }


def labelled(path: str) -> tuple[Features, Labels]:
    data = load(path)
    if data.features is None:
        raise SystemExit(f"--data takes a file of features: {path} holds images")
    return data.features, data.labels


def one_row_milliseconds(hasher: DRLH, row: Features, n_times: int = 300) -> float:
    """Median time of `transform` of a single row, as a search has it."""
    times = []
    for _ in range(n_times):
        start = time.perf_counter()
        hasher.transform(row)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


@torch.no_grad()
def forward(policy: WalkPolicy, inputs: torch.Tensor) -> float:
    for part in torch.split(inputs, _ROWS):
        policy.network.class_probs(part)
    return float(len(inputs))


def encoded(policy: WalkPolicy, inputs: torch.Tensor) -> float:
    return float(len(policy.encode(inputs)))


@torch.no_grad()
def plain_walk(policy: WalkPolicy, features: torch.Tensor) -> torch.Tensor:
    """(n, b) signs: every row takes every step, each through the whole network; a stop leaves the code as it is."""
    _, signs = policy._begin(features)
    order = _LOWER_BIT_FIRST * torch.arange(1, N_BITS + 1, dtype=signs.dtype)
    for _ in range(N_BITS):
        class_probs, _ = policy._begin(features)
        posterior = policy.score.posterior(signs)
        values = flip_values(policy.head, policy.score, signs, posterior, class_probs, policy.gamma) - order
        best, bit = values.max(dim=1)
        turned = torch.where(best > 0, -1.0, 1.0).to(signs)
        signs.scatter_(1, bit[:, None], turned[:, None] * signs.gather(1, bit[:, None]))
    return signs


def precision(codes: Codes, labels: Labels) -> float:
    """mAP of the first tenth of the rows as queries, the rest as database."""
    n_query = len(codes) // 10
    return mean_average_precision(codes[:n_query], labels[:n_query], codes[n_query:], labels[n_query:])


def encoding_table(record: Record) -> str:
    change = record["map"]["walk"] - record["map"]["plain walk"]
    return "\n".join(
        [
            heading("encoding: rows a second"),
            *(line(trial, rates) for trial, rates in record["rows_per_second"].items()),
            f"{'plain walk':<40}{record['plain_rows_per_second']:>10,.0f}",
            f"{'one row, milliseconds':<40}{record['one_row_milliseconds']:>10.2f}",
            line("time of walk / forward (wanted: <= 3)", record["ratio"], 2),
            f"{'codes equal to the plain walk':<40}{record['identical']:>10.2%}",
            f"{'mAP, and change (wanted: within 0.002)':<40}{record['map']['walk']:>10.4f}{change:>+10.4f}",
        ]
    )


# Scaling


def scaling(given: argparse.Namespace) -> Record:
    features, labels = clusters(max(given.images), 1280)
    n_fixed = sorted(given.images)[len(given.images) // 2 - 1]
    over = {
        "images": {n: partial(fit_and_encode, features[:n], labels[:n], N_BITS) for n in given.images},
        "bits": {n: partial(fit_and_encode, features[:n_fixed], labels[:n_fixed], n) for n in given.bits},
    }
    return {name: _growth(trials, given.rounds) for name, trials in over.items()} | {
        "n_images_over_bits": n_fixed, "n_bits_over_images": N_BITS,
    }  # fmt: skip


def _growth(trials: Mapping[int, Callable[[], float]], rounds: int) -> Record:
    """Seconds for each size, and the slope of the logarithms of their medians."""
    rates = interleaved({str(n): work for n, work in trials.items()}, rounds)
    seconds = {n: {kind: [1 / rate for rate in found] for kind, found in one.items()} for n, one in rates.items()}
    return {"seconds": seconds, "slope": {kind: [slope_of(seconds, kind)] for kind in ("clock", "core")}}


def slope_of(seconds: Record, kind: str) -> float:
    medians = [statistics.median(found[kind]) for found in seconds.values()]
    return float(np.polyfit(np.log([int(n) for n in seconds]), np.log(medians), 1)[0])


def fit_and_encode(features: Features, labels: Labels, n_bits: int) -> float:
    hasher = DRLH(n_bits, n_epochs=3, batch_size=128, random_state=0, device="cpu").fit(features, labels)
    hasher.transform(features)
    return 1.0


def scaling_table(record: Record) -> str:
    lines = [heading("scaling: seconds of fit and encode")]
    for name, wanted in (("images", "1.1"), ("bits", "1")):
        found = record[name]
        lines += [line(f"{size} {name}", figures, 2) for size, figures in found["seconds"].items()]
        lines.append(line(f"slope over {name} (wanted: <= {wanted})", found["slope"], 2))
    return "\n".join(lines)


def draw(record: Record, path: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for place, name in zip(axes, ("images", "bits"), strict=True):
        found, (slope,) = record[name]["seconds"], record[name]["slope"]["clock"]
        sizes = np.array([int(n) for n in found])
        seconds = np.array([statistics.median(one["clock"]) for one in found.values()])
        fitted = np.exp(np.log(seconds).mean() + slope * (np.log(sizes) - np.log(sizes).mean()))
        place.loglog(sizes, seconds, "o", color="#1f4e79")
        place.loglog(sizes, fitted, color="#1f4e79", linewidth=1, label=f"slope {slope:.2f}")
        place.set_xticks(sizes, [f"{size:,}" for size in sizes])
        place.set_xlabel(f"number of {name}")
        place.minorticks_off()
        place.legend(frameon=False)
    low, high = axes[0].get_ylim()
    ticks = 2.0 ** np.arange(np.ceil(np.log2(low)), np.floor(np.log2(high)) + 1)
    axes[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes[0].set_ylabel("seconds of fit and encode")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix.removeprefix(".") or "png", dpi=150)


TABLES: dict[str, Callable[[Record], str]] = {
    "learning": learning_table,
    "encoding": encoding_table,
    "scaling": scaling_table,
}


if __name__ == "__main__":
    main()
