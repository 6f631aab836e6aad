"""SDSH: embed the classes on a sphere with a spring loss, then rotate it until its signs retrieve best."""

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

_N_QUERIES, _N_DATABASE = 400, 2000  # training images that rotations are scored on
_ITQ_STEPS = 50  # of the initial rotation
_DROPOUT = 0.1  # of features and hidden units
_SAFE = 1e-4  # keeps the gradient of the root finite for the worst triplets

Score = Callable[[Features], float]


class SDSH(DeepHasher):
    """SDSH: spherical deep supervised hashing.

    **Idea.** Outputs lie on a sphere, and every triplet of a batch is a spring that is at rest when the similar image
    coincides with the query and the other is opposite. There is no quantization term: the loss does not change when the
    sphere is rotated, so after training a random search finds a rotation whose signs have a high mAP on training
    images.

    **Reference.** S. Pidhorskyi, Q. Jones, S. Motiian, D. Adjeroh, G. Doretto, Deep supervised hashing with spherical
    embedding, ACCV 2018. Loss and search are those of the authors' code.

    **Differences.** The search takes fewer steps among fewer images (300 instead of 800; 400 queries, 2,000 images), by
    tie-aware mAP, from ITQ's rotation as in one of the authors' programs. The authors' penalty that pulls weight
    columns towards norm 1 is left out. At most 128 images of a batch are queries. The default dropout is only 0.1: with
    more, the classes of a development split collapsed into fewer dimensions and retrieval was worse. Optimiser and
    schedule are those of all deep methods here; the paper fine-tunes VGG-F by SGD.

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
        return SpringLoss(task, self.n_rotations)

    def _sizes(self, n_images: int, n_features: int) -> Sizes:
        sizes = super()._sizes(n_images, n_features)
        return sizes | {name: _DROPOUT for name in ("dropout", "feature_dropout") if getattr(self, name) is None}

    def _codes(self, outputs: Tensor) -> Codes:
        return round_to_codes(outputs.double().cpu().numpy() @ self.objective_state_["rotation"])


class SpringLoss(Objective):
    """Mean energy of the springs of all triplets; after training, a rotation."""

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
        rng = np.random.default_rng(self.seed)  # a new one each time: validation must not change later results
        score = retrieval_score(points, self.labels, rng)
        return {"rotation": best_rotation(start, score, self.n_rotations, rng)}


def spring_energy(gaps: Tensor) -> Tensor:
    """Energy of a gap |q - p|² - |q - n|², which lies between -4 (at rest, energy 0) and 4 (energy 8)."""
    return (8**0.5 - (4 - gaps).clamp(min=_SAFE).sqrt()).square()


def retrieval_score(points: Features, labels: NDArray[np.uint8], rng: np.random.Generator) -> Score:
    """A function from a rotation to the mAP of sampled training images; few images are queries and database at once."""
    order = rng.permutation(len(points))
    query = order[:_N_QUERIES]
    database = order[_N_QUERIES:][:_N_DATABASE] if len(order) > 2 * _N_QUERIES else order

    def score(rotation: Features) -> float:
        query_codes, database_codes = (round_to_codes(points[rows] @ rotation) for rows in (query, database))
        return mean_average_precision(query_codes, labels[query], database_codes, labels[database])

    return score


def best_rotation(start: Features, score: Score, n_steps: int, rng: np.random.Generator) -> Features:
    """(n_bits, n_bits) by random search: steps in random planes, by shrinking angles, that raise the score."""
    best = start
    best_score = score(best) if n_steps else 0.0
    for step in range(n_steps):
        candidate = best @ plane_rotation(len(best), 1 - step / n_steps, rng)
        found = score(candidate)
        if found > best_score:
            best, best_score = candidate, found
    return best


def plane_rotation(n_bits: int, angle: float, rng: np.random.Generator) -> Features:
    """(n_bits, n_bits): a rotation by `angle` in a random plane; the identity for a single bit."""
    if n_bits == 1:
        return np.eye(1)
    plane = procrustes(rng.standard_normal((n_bits, 2)))
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(np.eye(n_bits) + plane @ (rotation - np.eye(2)) @ plane.T)
