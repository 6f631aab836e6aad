"""Codes → places on a map by t-SNE: `python -m drlh.serve.tsne CODES.npz PLACES.npz`, a process of its own."""

import os
import sys

import numpy as np
from numpy.typing import NDArray

from drlh.core.files import read_npz, write_npz

STEPS = 500  # of the descent
FEWEST = 5  # codes


def place_codes(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(n, 2) of 0 to 1; the squared distance between two rows of 0/1 is their Hamming distance."""
    if len(codes) < FEWEST:
        return np.random.default_rng(0).random((len(codes), 2), np.float32)
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(codes) - 1) / 3)
    varied = codes.astype(np.float32) + np.random.default_rng(0).normal(0, 1e-3, codes.shape).astype(np.float32)
    tsne = TSNE(2, perplexity=perplexity, init="pca", max_iter=STEPS, random_state=0, verbose=2)
    places: NDArray[np.float32] = tsne.fit_transform(varied)
    low, high = places.min(axis=0), places.max(axis=0)
    scaled: NDArray[np.float32] = ((places - low) / np.maximum(high - low, 1e-9)).astype(np.float32)
    return scaled


if __name__ == "__main__":
    os.nice(10)
    write_npz(sys.argv[2], {"places": place_codes(read_npz(sys.argv[1])["codes"])})
