"""Images kept out of learning, which tell after every epoch how well the agent's codes search."""

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
