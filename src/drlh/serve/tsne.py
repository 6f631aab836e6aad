"""Codes → places on a map by t-SNE, as a process of its own: `python -m drlh.serve.tsne CODES.npz PLACES.npz`.

It imports nothing else of the service, so that it starts fast and small.
"""

import os
import sys

import numpy as np
from numpy.typing import NDArray

from drlh.core.files import read_npz, write_npz

ITERATIONS = 500  # of gradient descent
_MIN_CODES = 5  # fewer are placed at random


def place_codes(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Places (n, 2) in [0, 1]; the squared Euclidean distance of two rows of 0/1 is their Hamming distance."""
    if len(codes) < _MIN_CODES:
        return np.random.default_rng(0).random((len(codes), 2), np.float32)
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(codes) - 1) / 3)
    varied = codes.astype(np.float32) + np.random.default_rng(0).normal(0, 1e-3, codes.shape).astype(np.float32)
    tsne = TSNE(2, perplexity=perplexity, init="pca", max_iter=ITERATIONS, random_state=0, verbose=2)
    places: NDArray[np.float32] = tsne.fit_transform(varied)
    low, high = places.min(axis=0), places.max(axis=0)
    scaled: NDArray[np.float32] = ((places - low) / np.maximum(high - low, 1e-9)).astype(np.float32)
    return scaled


if __name__ == "__main__":
    os.nice(10)
    write_npz(sys.argv[2], {"places": place_codes(read_npz(sys.argv[1])["codes"])})
