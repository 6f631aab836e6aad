"""ITQ against faiss and against its own objective."""

from itertools import pairwise

import faiss
import numpy as np

from drlh.hashers.itq import ITQ, principal_directions, quantization_error


def correlated(n: int = 2000, n_features: int = 32, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    scales = np.geomspace(3, 0.1, n_features)
    features = rng.normal(size=(n, n_features)) * scales @ rng.normal(size=(n_features, n_features))
    return features / features.std()


def test_the_quantization_error_is_at_most_that_of_faiss_and_close_to_it() -> None:
    features = correlated()
    ours = ITQ(16, random_state=0).fit(features).quantization_error_
    centred = features - features.mean(axis=0)
    components = np.ascontiguousarray(centred @ principal_directions(centred, 16), np.float32)
    theirs = faiss.ITQMatrix(16)
    theirs.max_iter = 50
    theirs.train(components)
    error = quantization_error(theirs.apply(components).astype(np.float64))
    # The two start from different rotations and end in different optima a few percent apart.
    assert 0.95 * error < ours < 1.01 * error


def test_more_rounds_never_raise_the_quantization_error() -> None:
    features = correlated()
    errors = [
        ITQ(12, n_iterations=rounds, random_state=1).fit(features).quantization_error_ for rounds in range(0, 30, 3)
    ]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(errors))
    assert errors[-1] < 0.97 * errors[0]


def test_more_bits_than_features_still_give_balanced_bits_beyond_the_features() -> None:
    codes = ITQ(20, random_state=0).fit_transform(correlated(n_features=6))
    assert (abs(codes.mean(axis=0) - 0.5) < 0.2).all()
    assert len(np.unique(codes, axis=1).T) > 12
