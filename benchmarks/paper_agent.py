"""How the paper's agent learns: curves over epochs, its Q beside the exact Q*, and stable-baselines3's DQN beside it.

    OMP_NUM_THREADS=1 python benchmarks/paper_agent.py FILE.npz [--parts exact,control,peer] [--bits 16]
        [--protocol cifar10-I] [--set NAME=VALUE] [--json RECORD.json] [--plot PICTURE.svg]

It learns from four fifths of the protocol's training images; mAP is that of the other fifth among themselves. The
protocol's queries are not touched.

Always: after every epoch, tie-aware mAP, return, steps, share of walks that stop, distance to the codeword at their
end.

`exact`: along the walks of held-out images, the value of the action taken as the network has it, beside Q* of the same
code and the image's true class by value iteration (up to 20 bits).

`control`: the same codewords learned bit by bit (`bce`), and its codes moved to the nearest codeword, which is where a
walk that is paid by the paper's equations ends.

`peer`: the same environment, network, optimiser, discount, samples a step and training images for stable-baselines3's
DQN, which explores at random; mAP over the seconds of its process, for as long as ours took.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import torch
from gymnasium.wrappers import FlattenObservation
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.vec_env import DummyVecEnv
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from drlh.bench.machine import machine, versions
from drlh.core.codes import Codes, hamming_distances, pack, round_to_codes, signs
from drlh.core.files import atomic_path, write_json
from drlh.data import load
from drlh.data.labels import Labels
from drlh.evaluate.metrics import mean_average_precision
from drlh.evaluate.protocols import get_protocol
from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.controls.bce import BCE
from drlh.hashers.drlh_paper.environment import history_onehot, one_bit_actions, start_state, step
from drlh.hashers.drlh_paper.exact_q import code_numbers, exact_q
from drlh.hashers.drlh_paper.gym import HashingEnv
from drlh.hashers.drlh_paper.hasher import DRLHPaper
from drlh.hashers.drlh_paper.reward import Reward
from drlh.hashers.training.agents import start_signs

Record = dict[str, Any]
Features = NDArray[np.float32]
CURVES = {
    "map": "mAP of held-out images",
    "mean_return": "return of a walk",
    "mean_steps": "steps of a walk",
    "stopped": "share of walks that stop",
    "end_distance": "distance to the codeword at the end",
    "loss": "loss",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a feature file with one label for each image")
    parser.add_argument("--parts", default="exact,control,peer")
    parser.add_argument("--bits", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--protocol", default="cifar10-I")
    parser.add_argument("--set", action="append", default=[], help="a parameter of DRLHPaper, NAME=VALUE")
    parser.add_argument("--json", type=Path, help="where the raw record goes")
    parser.add_argument("--plot", type=Path, help="where the picture goes: .png or .svg")
    given = parser.parse_args()
    torch.set_num_threads(1)
    data = load(given.data)
    if data.features is None or data.labels.ndim != 1:
        parser.error(f"{given.data} must hold features and one label for each row")
    train = get_protocol(given.protocol).split(data.labels, data.test, given.seed, None, None).train
    order = np.random.default_rng(given.seed).permutation(train)
    held, kept = order[: len(order) // 5], order[len(order) // 5 :]
    parts = (data.features[kept], data.labels[kept], data.features[held], data.labels[held])
    parameters = {name: json.loads(value) for name, value in (text.split("=") for text in given.set)}
    record: Record = {"format": "drlh-paper-agent", "version": 1, "data": data.name, "bits": given.bits}
    record |= {"parameters": parameters, "versions": versions(), "machine": machine()}
    hasher, record["curves"] = curves(*parts, given.bits, given.seed, parameters)
    print(curves_table(record["curves"]), flush=True)
    if "exact" in given.parts:
        record["exact"] = exact(hasher, *parts[2:])
        print(f"correlation of Q and Q* along walks: {record['exact']['correlation']:.3f}", flush=True)
    if "control" in given.parts:
        record["control"] = control(hasher, *parts, given.seed)
        print("".join(f"{name}: mAP {value:.3f}\n" for name, value in record["control"].items()), end="", flush=True)
    if "peer" in given.parts:
        record["peer"] = peer(hasher, *parts, record["curves"]["seconds"][-1])
        last = record["peer"]
        print(
            f"stable-baselines3: {last['steps'][-1]:,} steps, mAP {last['map'][-1]:.3f} after {last['seconds'][-1]} s"
        )
    if given.json:
        write_json(given.json, record)
    if given.plot:
        draw(record, given.plot)


def curves(
    features: Features, labels: Labels, held: Features, held_labels: Labels, n_bits: int, seed: int, parameters: Record
) -> tuple[DRLHPaper, Record]:
    """(the fitted agent, its report of every epoch with the seconds of this process since it began)."""
    found: Record = {"seconds": [], "map": []}
    begun, measuring = time.process_time(), 0.0

    def progress(done: int, total: int, what: str) -> None:
        """Called before every epoch and after the last; measuring does not count as learning."""
        nonlocal measuring
        if done:
            now = time.process_time()
            found["seconds"].append(round(now - begun - measuring, 1))
            found["map"].append(among_themselves(hasher.transform(held), held_labels))
            measuring += time.process_time() - now

    with tempfile.TemporaryDirectory() as directory:
        # With images to validate on, the agent of every epoch is kept as the model.
        hasher = DRLHPaper(n_bits, random_state=seed, log_dir=directory, validation_fraction=0.01, **parameters)
        hasher.fit(features, labels, progress=progress)
        events = EventAccumulator(directory).Reload()
        for name in CURVES:
            found.setdefault(name, [event.value for event in events.Scalars(name)] if name != "map" else [])
    return hasher.set_params(log_dir=None), found


def among_themselves(codes: Codes, labels: Labels) -> float:
    return float(mean_average_precision(codes, labels, codes, labels))


def curves_table(found: Record) -> str:
    lines = ["epoch" + "".join(f"{name:>14}" for name in CURVES) + f"{'seconds':>10}"]
    for epoch, seconds in enumerate(found["seconds"]):
        lines.append(f"{epoch + 1:>5}" + "".join(f"{found[name][epoch]:>14.3f}" for name in CURVES) + f"{seconds:>10}")
    return "\n".join(lines)


def reward_of(hasher: DRLHPaper) -> Reward:
    """What the fitted agent was paid by."""
    codewords = (hasher.codewords_ > 0).astype(np.uint8)
    book = make_codebook(len(codewords), hasher.n_bits, kind=codewords)
    return Reward(book, one_bit_actions(hasher.n_bits), sigma=hasher.sigma, eta=hasher.eta)


def exact(hasher: DRLHPaper, held: Features, held_labels: Labels, n_walks: int = 300) -> Record:
    """Q of what was done at every step of some walks, beside Q* of the image's true class."""
    reward = reward_of(hasher)
    tables = [exact_q(reward, torch.tensor(label), hasher.gamma) for label in range(len(hasher.codewords_))]
    learned: list[float] = []
    true: list[float] = []
    stops: list[bool] = []
    for features, label in zip(held[:n_walks], held_labels[:n_walks], strict=True):
        trace = hasher.walk(features)
        places = code_numbers(torch.from_numpy(signs(trace.codes)))
        for place, action, values in zip(places, trace.actions, trace.values, strict=False):
            learned.append(round(float(values[action]), 3))
            true.append(round(float(tables[label][place, action]), 3))
            stops.append(action == reward.actions.stop)
    return {"q": learned, "exact": true, "stop": stops, "correlation": float(np.corrcoef(learned, true)[0, 1])}


def control(
    hasher: DRLHPaper, features: Features, labels: Labels, held: Features, held_labels: Labels, seed: int
) -> dict[str, float]:
    """mAP of the agent, of bce on the agent's codewords, and of both with every code moved to the nearest codeword."""
    codewords = (hasher.codewords_ > 0).astype(np.uint8)
    bce = BCE(hasher.n_bits, codebook=codewords, random_state=seed).fit(features, labels)
    found: dict[str, float] = {}
    for name, codes in (("drlh-paper", hasher.transform(held)), ("bce", bce.transform(held))):
        nearest = hamming_distances(pack(codes), pack(codewords)).argmin(axis=1)
        found |= {name: among_themselves(codes, held_labels)}
        found |= {f"{name}, nearest codewords": among_themselves(codewords[nearest], held_labels)}
    return found


def peer(
    hasher: DRLHPaper, features: Features, labels: Labels, held: Features, held_labels: Labels, seconds: float
) -> Record:
    """stable-baselines3's DQN with our open choices, measured ten times within `seconds` of its process."""
    scale, reward = hasher._policy().network.feature_scale, reward_of(hasher)
    inputs, asked = ((hasher._inputs(rows.astype(np.float64)) * scale).numpy() for rows in (features, held))
    n = hasher.batch_size
    learner = DQN(
        "MlpPolicy", DummyVecEnv([lambda: FlattenObservation(HashingEnv(inputs, labels, reward))]),
        learning_rate=hasher.learning_rate, buffer_size=100_000, learning_starts=n, batch_size=n * hasher.replay_ratio,
        gamma=hasher.gamma, train_freq=(n, "step"), gradient_steps=1, exploration_fraction=0.6,
        target_update_interval=n * hasher.target_update_interval, exploration_final_eps=0.1, device="cpu", seed=0,
        policy_kwargs={
            "net_arch": [hasher.hidden_size] * hasher.n_layers,
            "optimizer_class": torch.optim.SGD, "optimizer_kwargs": {"momentum": 0.9},
        },
    )  # fmt: skip
    found: Record = {"seconds": [], "steps": [], "map": []}
    spent = 0.0
    while spent < seconds:
        begun = time.process_time()
        while time.process_time() - begun < seconds / 10:
            learner.learn(n, log_interval=None, reset_num_timesteps=False)
        spent += time.process_time() - begun
        codes = their_codes(learner, asked, hasher)
        found["seconds"].append(round(spent, 1))
        found["steps"].append(learner.num_timesteps)
        found["map"].append(among_themselves(codes, held_labels))
    return found


@torch.no_grad()
def their_codes(learner: DQN, inputs: Features, hasher: DRLHPaper) -> Codes:
    """The greedy walk of their network from our start codes."""
    actions, features = one_bit_actions(hasher.n_bits), torch.from_numpy(inputs)
    state = start_state(start_signs(features, torch.from_numpy(hasher.projection_)))
    for _ in range(hasher.n_bits):
        # In the order of the dictionary's names, as FlattenObservation has it.
        seen = torch.cat([(state.signs > 0).float(), features, history_onehot(state.history, actions)], dim=1)
        state, _, _ = step(state, learner.q_net(seen).argmax(dim=1), actions, hasher.n_bits + 1)
    return round_to_codes(state.signs.numpy())


def draw(record: Record, path: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot

    found = record["curves"]
    figure, axes = pyplot.subplots(2, 3, figsize=(11, 6.2), layout="constrained")
    epochs = np.arange(1, len(found["seconds"]) + 1)
    for place, name in zip(axes.flat, ("map", "mean_steps", "stopped", "end_distance"), strict=False):
        place.plot(epochs, found[name], color="#1f4e79")
        place.set(xlabel="epoch", ylabel=CURVES[name])
    places = axes.flat
    if "exact" in record:
        q, true, stop = (np.array(record["exact"][name]) for name in ("q", "exact", "stop"))
        for chosen, name, colour in ((~stop, "a flip", "#1f4e79"), (stop, "the stop", "#c55a11")):
            places[4].plot(true[chosen], q[chosen], ".", ms=2, alpha=0.4, color=colour, label=name, rasterized=True)
        places[4].set(xlabel="exact Q* of the true class", ylabel="learned Q")
        places[4].legend(frameon=False, markerscale=5)
    places[5].plot(found["seconds"], found["map"], color="#1f4e79", label="drlh-paper")
    if "peer" in record:
        places[5].plot(
            record["peer"]["seconds"], record["peer"]["map"], color="#c55a11", label="stable-baselines3's DQN"
        )
    places[5].set(xlabel="seconds of one core", ylabel=CURVES["map"])
    places[5].legend(frameon=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix.removeprefix(".") or "png", dpi=150)


if __name__ == "__main__":
    main()
