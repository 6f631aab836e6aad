"""What is done before the first epoch: validation images are set aside, features scaled, sizes chosen by the data."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes
from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.base import Features

_AT_MOST = 1000, 5000  # queries and searched images: a probe should cost less than an epoch
_MANY = 20_000  # images


@dataclass(frozen=True)
class Probe:
    """Queries the agent never learns from, and images it does learn from to search among."""

    queries: Features
    query_labels: NDArray[Any]
    searched: Features
    searched_labels: NDArray[Any]

    def score(self, encode: Callable[[Features], Codes]) -> float:
        """Tie-aware mAP."""
        asked, found = encode(self.queries), encode(self.searched)
        return mean_average_precision(asked, self.query_labels, found, self.searched_labels)


def hold_out(
    features: Features, labels: NDArray[Any], share: float, rng: np.random.Generator
) -> tuple[Features, NDArray[Any], Probe | None]:
    """(features, labels) to learn from, and the probe made of the rest; a share of 0 keeps nothing out."""
    if share == 0:
        return features, labels, None
    n_out = round(share * len(features))
    if not 0 < n_out < len(features) - 1:
        raise UserError(
            f"validation_fraction={share} of {len(features)} images keeps {n_out} out of learning; "
            "it must keep out at least 1 and leave at least 2"
        )
    order = rng.permutation(len(features))
    out, kept = order[:n_out], np.sort(order[n_out:])
    ask, search = out[: _AT_MOST[0]], kept[: _AT_MOST[1]]
    probe = Probe(features[ask], labels[ask], features[search], labels[search])
    return features[kept], labels[kept], probe


def powered(features: Features, power: float) -> Features:
    """Signed power, for example the square root with 0.5: a few large values no longer drown the others."""
    if power == 1:
        return features
    return np.asarray(np.sign(features) * np.abs(features) ** power)


def column_scale(features: Features) -> tuple[Features, Features]:
    """(mean, scale) of each column; a column that hardly varies is not blown up to the size of the others."""
    floor = 0.01 * np.sqrt(features.var(axis=0).mean())
    return features.mean(axis=0), features.std(axis=0) + floor + 1e-8


def epochs_for(n_images: int) -> int:
    """Few images are visited more often: 40 epochs up to 1,250 images, 20 at 5,000, 12 from 13,900 on."""
    return round(min(40.0, max(12.0, 20 * math.sqrt(5000 / n_images))))


def loss_weight_exponent_for(n_images: int) -> float:
    """Of many images the hard ones are few, and nothing is lost by insisting on them; of few it brings nothing.

    Chosen on a hold-out of CIFAR-10's training images: 20,000 of them, 48 bits, mAP 0.916, 0.924 and 0.926 with 0, 0.5
    and 1; 5,000, 32 bits, 0.858, 0.859 and 0.857.
    """
    return 1.0 if n_images >= _MANY else 0.0


def sizes_for(n_images: int, n_features: int) -> dict[str, Any]:
    """What follows from the data where a parameter is not given.

    About forty updates an epoch; a larger rate for few features; a wider network held back less where there are many
    images (chosen on a hold-out of CIFAR-10's training images). Few features say less about an image: the network is
    as much wider as they are fewer, at the same cost, and less is dropped.
    """
    many = n_images >= _MANY
    fewer = min(1.0, n_features / 1280)
    batch_size = int(2 ** np.clip(np.round(np.log2(n_images / 40)), 5, 9))
    return {
        "batch_size": batch_size,
        "learning_rate": min(5e-3, 1e-3 * math.sqrt(1280 / n_features * batch_size / 128)),
        "hidden_size": 512 if many else round(min(1024, 256 / fewer)),
        "dropout": 0.3 if many else max(0.3, 0.5 * math.sqrt(fewer)),
        "feature_dropout": 0.1 if many else max(0.1, 0.3 * math.sqrt(fewer)),
        "weight_decay": 0.02 if many else 0.1,
    }
