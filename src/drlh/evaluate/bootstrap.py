"""Is one ranking better than another on the same queries? A paired bootstrap over the queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 2**22  # draws held in memory


@dataclass(frozen=True)
class Comparison:
    """A difference of mAPs with the 95 % interval of the queries' chance."""

    difference: float
    low: float
    high: float
    share_not_ahead: float  # of the resamples in which the difference is 0 or below


def paired_bootstrap(
    first: Sequence[NDArray[np.float64]],
    second: Sequence[NDArray[np.float64]],
    *,
    n_resamples: int = 5000,
    seed: int = 0,
) -> Comparison:
    """Compares average precisions of the same queries, one pair of arrays (n_queries,) for each split.

    A resample draws queries with replacement within each split and takes the mean over the splits. It says how much the
    choice of queries matters; what another start of the method or another training set would change, it cannot know.
    """
    pairs = [
        np.asarray(one, np.float64) - np.asarray(other, np.float64) for one, other in zip(first, second, strict=True)
    ]
    if not pairs:
        raise ValueError("a comparison needs at least one split")
    rng = np.random.default_rng(seed)
    means = np.mean([_resampled_means(pair, n_resamples, rng) for pair in pairs], axis=0)
    low, high = np.quantile(means, (0.025, 0.975))
    difference = float(np.mean([pair.mean() for pair in pairs]))
    return Comparison(difference, float(low), float(high), float((means <= 0).mean()))


def _resampled_means(values: NDArray[np.float64], n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """(n_resamples,) means of as many values drawn with replacement."""
    step = max(1, _AT_ONCE // len(values))
    blocks = []
    for start in range(0, n_resamples, step):
        shape = (min(step, n_resamples - start), len(values))
        blocks.append(values[rng.integers(0, len(values), shape)].mean(axis=1))
    return np.concatenate(blocks)
