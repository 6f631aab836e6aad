"""The linear classifier of the controls that need one, and its posteriors.

Logistic regression on standardised features: softmax where an image has one label, a sigmoid for each label where it
may have several. All classes are learned together by L-BFGS, so that one pass over the features serves them all.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.progress import Progress
from drlh.hashers.base import Features

Floats = NDArray[np.float32]

STRENGTHS = [float(value) for value in 10.0 ** np.arange(0, -5.5, -0.5)]  # of the penalty, the strongest first
_VALIDATION_FRACTION = 0.2
_PATIENCE = 2  # weaker penalties tried without success before the search ends
_MAX_ITERATIONS = 200
_TOLERANCE = 1e-4  # of the gradient: further steps would move posteriors by less than a thousandth
_ROWS_AT_ONCE = 8192


class PosteriorMixin:
    """Gives an estimator `predict_posterior`; all it learns are plain arrays and numbers, as a model file needs.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_classes)
        Weights of the classifier, for features that are not standardised.
    bias_ : ndarray of shape (n_classes,)
        Intercepts.
    one_label_ : bool
        Whether every image has exactly one label.
    strength_ : float
        Strength of the penalty, chosen on held-out images.
    """

    weights_: Features
    bias_: Features
    one_label_: bool
    strength_: float

    def predict_posterior(self, features: NDArray[np.floating[Any]]) -> Features:
        """(n, n_classes): each row sums to 1, or holds a probability for each label where there may be several."""
        found = np.empty((len(features), len(self.bias_)))
        for start in range(0, len(features), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            logits = features[block].astype(np.float64, copy=False) @ self.weights_ + self.bias_
            found[block] = posterior_of(logits, self.one_label_)
        return found

    def _fit_posterior(
        self, features: NDArray[np.floating[Any]], labels: NDArray[Any], rng: np.random.Generator, progress: Progress
    ) -> None:
        """`labels` are ids 0..n_classes-1 `(n,)` or multi-hot `(n, n_classes)`."""
        order = rng.permutation(len(features))
        rows, mean, scale = standardised(features, order)
        self.one_label_ = labels.ndim == 1
        targets = (np.eye(int(labels.max()) + 1)[labels] if self.one_label_ else labels)[order].astype(np.float32)
        self.strength_, start = choose_strength(rows, targets, self.one_label_, progress)
        found = fit_logistic(rows, targets, self.strength_, self.one_label_, start)
        self.weights_ = found[:-1] / scale[:, None]
        self.bias_ = found[-1] - mean @ self.weights_


def posterior_of(logits: NDArray[Any], one_label: bool) -> NDArray[Any]:
    if not one_label:
        return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))  # the sigmoid, without overflow
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def standardised(
    features: NDArray[np.floating[Any]], order: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.float64], NDArray[np.float64]]:
    """Rows in this order with mean 0 and deviation 1, and the mean and deviation: one float32 copy, made in blocks."""
    mean = features.mean(axis=0, dtype=np.float64)
    rows = np.empty(features.shape, np.float32)
    squares = np.zeros_like(mean)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        centred = features[order[block]] - mean
        squares += np.square(centred).sum(axis=0)
        rows[block] = centred
    scale = np.sqrt(squares / len(rows))
    scale[scale <= 1e-6 * np.abs(mean)] = 1.0  # constant up to rounding: scaling it up would add noise
    rows /= scale.astype(np.float32)
    return rows, mean, scale


def choose_strength(rows: Floats, targets: Floats, one_label: bool, progress: Progress) -> tuple[float, Features]:
    """The penalty with the least loss on a held-out fifth of the training images, and its solution.

    `rows` come in random order, so the last fifth is held out. Each fit is warm-started at the one before.
    """
    n_train = len(rows) - max(1, round(_VALIDATION_FRACTION * len(rows)))
    best, chosen, found = np.inf, 0, prior_only(targets[:n_train], rows.shape[1], one_label)
    for step, strength in enumerate(STRENGTHS):
        progress(step, len(STRENGTHS), "penalties of the classifier")
        found = fit_logistic(rows[:n_train], targets[:n_train], strength, one_label, found)
        loss = loss_and_gradient(found, rows[n_train:], targets[n_train:], 0.0, one_label)[0]
        if loss < best:
            best, chosen, solution = loss, step, found
        if step >= chosen + _PATIENCE:
            break
    return STRENGTHS[chosen], solution


def prior_only(targets: Floats, n_features: int, one_label: bool) -> Features:
    """A classifier that predicts the frequencies of the classes, (n_features + 1, n_classes).

    Half a count is added on either side, so that the logit of a class with no image, or with all of them, is finite.
    """
    start = np.zeros((n_features + 1, targets.shape[1]))
    counts = targets.sum(axis=0, dtype=np.float64) + 0.5
    start[-1] = np.log(counts) if one_label else np.log(counts / (len(targets) + 1 - counts))
    return start


def fit_logistic(rows: Floats, targets: Floats, strength: float, one_label: bool, start: Features) -> Features:
    """Weights `(n_features + 1, n_classes)` of least penalised loss, the constant in the last row."""
    from scipy.optimize import minimize

    def objective(flat: Features) -> tuple[float, Features]:
        loss, gradient = loss_and_gradient(flat.reshape(start.shape), rows, targets, strength, one_label)
        return loss, gradient.ravel()

    options = {"maxiter": _MAX_ITERATIONS, "gtol": _TOLERANCE, "ftol": 1e-9}
    result = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(result.x).reshape(start.shape)


def loss_and_gradient(
    weights: Features, rows: Floats, targets: Floats, strength: float, one_label: bool
) -> tuple[float, Features]:
    """Mean negative log likelihood plus `strength / 2` times the squared weights, the constant not counted."""
    logits = rows @ weights[:-1].astype(np.float32) + weights[-1].astype(np.float32)
    partition = np.logaddexp.reduce(logits, axis=1) if one_label else np.logaddexp(0, logits).sum(axis=1)
    likelihood = (targets * logits).sum(axis=1) - partition
    loss = -likelihood.mean(dtype=np.float64) + strength / 2 * np.square(weights[:-1]).sum()
    errors = (posterior_of(logits, one_label) - targets) / np.float32(len(rows))
    gradient = np.vstack([rows.T @ errors, errors.sum(axis=0)]).astype(np.float64)
    gradient[:-1] += strength * weights[:-1]
    return float(loss), gradient
