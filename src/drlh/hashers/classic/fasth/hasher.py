"""FastH: infer the bit the labels want, then teach it to boosted trees, one bit after the other."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes, round_to_codes
from drlh.core.progress import Progress
from drlh.hashers.base import Features, Hasher, RandomState
from drlh.hashers.classic.fasth.inference import Signs, infer_bit, make_blocks
from drlh.hashers.classic.fasth.pairs import draw_pairs, pair_losses
from drlh.hashers.classic.fasth.trees import (
    Bins,
    Trees,
    bin_edges,
    constant_trees,
    grow,
    join,
    scores,
    to_bins,
    useful_threads,
)
from drlh.hashers.training.checks import Check, check_values, is_count


class FastH(Hasher):
    """FastH, supervised: graph cuts choose the bits, boosted decision trees learn them.

    **Idea.** One bit after the other in two steps. First the bit each training image should have: the one that
    lowers the loss of the pairs most, given the bits before; all images of a label are decided together by a minimum
    cut, the others held. Then boosted trees learn that bit from the features, and the next bit starts from what
    they say, so that it mends their mistakes.

    **Reference.** G. Lin, C. Shen, Q. Shi, A. van den Hengel, D. Suter, Fast supervised hashing with decision trees
    for high-dimensional data, CVPR 2014; G. Lin, C. Shen, A. van den Hengel, Supervised hashing using graph cuts
    and boosted decision trees, arXiv 1408.5574. Loss, pairs, blocks and numbers follow the authors' published
    settings: the hinge loss of `pair_losses` over the bits so far, 100 similar and 100 dissimilar partners for each
    image, two sweeps over the blocks from all ones, 200 trees of depth 4, 200 features tried at a split.

    **Differences.** The trees are those of scikit-learn's histogram gradient boosting with a learning rate of 0.1, not
    the authors' AdaBoost with trimmed weights. Every image counts the same, where theirs weigh by the loss at stake; on
    a hold-out of CIFAR-10's training images the weights made no difference. A tree draws the features it tries once
    and not at every split, which there was several times quicker and no worse. Features are quantised at quantiles,
    not at equal steps. A bit that comes out the same for all images, because every pair is far enough apart, is
    inferred again with a wider margin. Images without any label are one more block, whose cut is only kept when it
    helps.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_trees : int or None, default=None
        Trees of each bit; None is one for every ten images, from 20 to 200.
    depth : int, default=4
        Depth of the trees.
    learning_rate : float, default=0.1
        Shrinkage of each tree.
    max_features : int, default=200
        Features sampled for each tree.
    n_pairs : int, default=100
        Similar partners of each image, and as many dissimilar ones.
    n_sweeps : int, default=2
        Passes over the blocks when a bit is inferred.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the pairs, the order of blocks and the features of each tree.

    Attributes
    ----------
    trees_ : dict of ndarray
        All trees as flat arrays: see `trees.join`.
    pair_loss_ : float
        Mean loss of the training pairs.
    classes_ : ndarray of shape (n_classes,)
        The class ids, in the order of the label columns.
    n_features_in_ : int
        Number of features.
    """

    supervised = True

    def __init__(
        self,
        n_bits: int = 32,
        *,
        n_trees: int | None = None,
        depth: int = 4,
        learning_rate: float = 0.1,
        max_features: int = 200,
        n_pairs: int = 100,
        n_sweeps: int = 2,
        random_state: RandomState = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_trees = n_trees
        self.depth = depth
        self.learning_rate = learning_rate
        self.max_features = max_features
        self.n_pairs = n_pairs
        self.n_sweeps = n_sweeps
        self.random_state = random_state

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        assert labels is not None  # `fit` has checked
        self._check_parameters()
        pairs = draw_pairs(labels, self.n_pairs, rng)
        blocks = make_blocks(labels, pairs)
        edges = bin_edges(features)
        bins = to_bins(features, edges)
        distances = np.zeros(len(pairs.first), np.int32)
        learned: list[Trees] = []
        with useful_threads(len(bins) * min(self.max_features, bins.shape[1])):
            for bit in range(self.n_bits):
                progress(bit, self.n_bits, "FastH bits")
                wanted = infer_bit(pairs, distances, bit + 1, blocks, len(features), self.n_sweeps, rng)
                trees, found = self._learn(bins, edges, wanted, rng)
                learned.append(trees)
                # The next bit is to mend what the trees really say, not what they should say.
                said = round_to_codes(found)
                distances += said[pairs.first] != said[pairs.second]
        self.trees_ = join(learned)
        self.pair_loss_ = float(pair_losses(pairs.similar, distances, self.n_bits).mean())
        progress(self.n_bits, self.n_bits, "FastH bits")

    def _encode(self, features: Features) -> Codes:
        return round_to_codes(scores(features, self.trees_))

    def _learn(self, bins: Bins, edges: Features, wanted: Signs, rng: np.random.Generator) -> tuple[Trees, Features]:
        """The trees of one bit, and what they say."""
        if len(np.unique(wanted)) == 1:
            return constant_trees(int(wanted[0])), wanted.astype(np.float64)
        return grow(
            bins, edges, wanted, n_trees=trees_for(len(bins)) if self.n_trees is None else self.n_trees,
            depth=self.depth, learning_rate=self.learning_rate, max_features=self.max_features, rng=rng,
        )  # fmt: skip

    def _check_parameters(self) -> None:
        check_values("FastH", _CHECKS, partial(getattr, self))


def trees_for(n_rows: int) -> int:
    """A tree for every ten rows, from 20 trees to the paper's 200: a few rows are learned long before that."""
    return int(np.clip(n_rows // 10, 20, 200))


_CHECKS: list[Check] = [
    ("n_trees", lambda value: value is None or is_count(value), "a whole number of at least 1"),
    ("depth", is_count, "a whole number of at least 1"),
    ("learning_rate", lambda value: 0 < value < np.inf, "above 0"),
    ("max_features", is_count, "a whole number of at least 1"),
    ("n_pairs", is_count, "a whole number of at least 1"),
    ("n_sweeps", is_count, "a whole number of at least 1"),
]
