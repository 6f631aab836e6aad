"""SDSH: spread the classes over a sphere by springs, then turn the sphere until its signs search best."""

from collections.abc import Callable
from typing import Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drlh.core.codes import Codes, round_to_codes
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.base import Features
from drlh.hashers.classic.itq import improve_rotation, procrustes
from drlh.hashers.deep.hasher import DeepHasher, Shared, Sizes
from drlh.hashers.deep.objective import Arrays, Batch, Objective, Outputs, Task, squared_distances
from drlh.hashers.deep.triplets import MAX_QUERIES, label_triplets
from drlh.hashers.training.checks import Check, is_whole

_SEARCH = 400, 2000  # queries and searched images of the training set that judge a rotation
_ITQ_STEPS = 50  # rounds that bring the first rotation near the corners
_DROPPED = 0.1  # of features and hidden units
_SAFE = 1e-4  # keeps the root's slope finite where a triplet is as wrong as it can be

Score = Callable[[Features], float]


class SDSH(DeepHasher):
    """SDSH: spherical deep supervised hashing.

    **Idea.** Outputs lie on a sphere, and every triplet of a batch is a spring between "similar together" and "others
    opposite". No term asks for signs: on a sphere all rotations are equally good for the loss, so after learning the
    one whose signs give the best mAP on training images is sought at random.

    **Reference.** S. Pidhorskyi, Q. Jones, S. Motiian, D. Adjeroh, G. Doretto, Deep supervised hashing with spherical
    embedding, ACCV 2018. Loss and search are those of the authors' code.

    **Differences.** The search takes fewer steps among fewer images (300 instead of 800; 400 queries, 2,000 images), by
    tie-aware mAP, from ITQ's rotation as in one of the authors' programs. The authors' pull of weight columns towards
    length 1 is left out. At most 128 images of a batch are queries. Only a tenth of features and hidden units is
    dropped unless given: with more, classes on a development split came to lie in fewer dimensions and were found less
    well. Optimiser and schedule are those of all deep methods here; the paper fine-tunes VGG-F by SGD.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_rotations : int, default=300
        Rotations tried after training; 0 keeps ITQ's.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.

    Attributes
    ----------
    objective_state_ : dict of ndarray
        `rotation` (n_bits, n_bits) of the outputs.
    """

    def __init__(self, n_bits: int = 32, *, n_rotations: int = 300, **shared: Unpack[Shared]) -> None:
        super().__init__(n_bits, **shared)
        self.n_rotations = n_rotations

    def _own_checks(self) -> list[Check]:
        return [("n_rotations", lambda value: is_whole(value) and value >= 0, "a whole number of at least 0")]

    def _objective(self, task: Task) -> Objective:
        return Springs(task, self.n_rotations)

    def _sizes(self, n_images: int, n_features: int) -> Sizes:
        sizes = super()._sizes(n_images, n_features)
        return sizes | {name: _DROPPED for name in ("dropout", "feature_dropout") if getattr(self, name) is None}

    def _codes(self, outputs: Tensor) -> Codes:
        return round_to_codes(outputs.double().cpu().numpy() @ self.objective_state_["rotation"])


class Springs(Objective):
    """Mean energy of the springs of all triplets; at the end, a rotation."""

    def __init__(self, task: Task, n_rotations: int) -> None:
        super().__init__()
        self.n_rotations = n_rotations
        self.labels = task.labels.cpu().numpy().astype(np.uint8)
        self.seed = int(task.rng.integers(2**31))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        points = torch.nn.functional.normalize(outputs, dim=1)
        triplets = label_triplets(batch.labels)
        gaps = triplets.gaps(squared_distances(points[:MAX_QUERIES], points))
        return triplets.mean(spring_energy(gaps))

    def finish(self, outputs: Outputs) -> Arrays:
        points = torch.nn.functional.normalize(outputs(), dim=1).double().cpu().numpy()
        start = improve_rotation(points, np.eye(points.shape[1]), _ITQ_STEPS)
        rng = np.random.default_rng(self.seed)  # made anew: a probe must not move what a later call finds
        score = training_score(points, self.labels, rng)
        return {"rotation": best_rotation(start, score, self.n_rotations, rng)}


def spring_energy(gaps: Tensor) -> Tensor:
    """Energy of a gap |q - p|² - |q - n|², which lies between -4 (at rest, energy 0) and 4 (energy 8)."""
    return (8**0.5 - (4 - gaps).clamp(min=_SAFE).sqrt()).square()


def training_score(points: Features, labels: NDArray[np.uint8], rng: np.random.Generator) -> Score:
    """Rotation → mAP of a sample of the training images that ask for others; of all for each other where few."""
    order = rng.permutation(len(points))
    ask = order[: _SEARCH[0]]
    search = order[_SEARCH[0] :][: _SEARCH[1]] if len(order) > 2 * _SEARCH[0] else order

    def score(rotation: Features) -> float:
        asked, searched = (round_to_codes(points[rows] @ rotation) for rows in (ask, search))
        return mean_average_precision(asked, labels[ask], searched, labels[search])

    return score


def best_rotation(start: Features, score: Score, n_steps: int, rng: np.random.Generator) -> Features:
    """Random search (n_bits, n_bits): a turn in a random plane stays if the score rises; turns grow smaller."""
    best = start
    best_score = score(best) if n_steps else 0.0
    for step in range(n_steps):
        turned = best @ plane_turn(len(best), 1 - step / n_steps, rng)
        found = score(turned)
        if found > best_score:
            best, best_score = turned, found
    return best


def plane_turn(n_bits: int, angle: float, rng: np.random.Generator) -> Features:
    """(n_bits, n_bits): a turn by `angle` in a random plane; one bit has no plane to turn in."""
    if n_bits == 1:
        return np.eye(1)
    plane = procrustes(rng.standard_normal((n_bits, 2)))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(np.eye(n_bits) + plane @ (turn - np.eye(2)) @ plane.T)
