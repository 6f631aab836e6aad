"""The presets, what a parameter may be, and the values that follow from the size of the data."""

import math
from typing import Any

import numpy as np

from drlh.hashers.training.checks import Check, is_count

PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "codebook": "bch", "n_epochs": None, "gamma": 0.5, "hidden": None, "dropout": None, "learning_rate": None,
        "batch": None,
    },
    "paper": {
        "codebook": "bch-paper", "n_epochs": 25, "gamma": 0.9, "hidden": 1024, "dropout": 0.5, "learning_rate": 1e-2,
        "batch": 512,
    },
}  # fmt: skip

_MANY = 20_000  # images
MOST_STATED = 0.955  # a surer statement leaves too few codes between two codewords (CIFAR-10, VOC)


def checks(n_classes: int) -> list[Check]:
    """For every parameter with a range."""
    return [
        ("n_epochs", lambda value: value is None or is_count(value), "a whole number of at least 1"),
        ("gamma", lambda value: 0 <= value < 1, "at least 0 and below 1"),
        ("hidden", lambda value: value is None or is_count(value), "a whole number of at least 1"),
        ("dropout", lambda value: value is None or 0 <= value < 1, "at least 0 and below 1"),
        ("learning_rate", lambda value: value is None or value > 0, "above 0"),
        ("batch", lambda value: value is None or is_count(value), "a whole number of at least 1"),
        ("max_steps", lambda value: value is None or is_count(value), "a whole number of at least 1"),
        ("feature_dropout", lambda value: value is None or 0 <= value < 1, "at least 0 and below 1"),
        ("n_branches", is_count, "a whole number of at least 1"),
        ("top", lambda value: _stated(value, n_classes), f"auto, or between 1 / {n_classes} classes and 1"),
        ("follow", lambda value: value >= 0, "at least 0"),
        ("priority", lambda value: value is None or value >= 0, "at least 0"),
        ("weight_decay", lambda value: value is None or value >= 0, "at least 0"),
        ("target_every", lambda value: value == 0 or is_count(value), "a whole number of at least 0"),
        ("start", lambda value: value in ("image", "fixed"), "image or fixed"),
        ("flips", lambda value: value in (1, 2), "1 or 2"),
        ("backbone_lr_scale", lambda value: value is None or value >= 0, "at least 0"),
        ("hold_out", lambda value: 0 <= value < 1, "at least 0 and below 1"),
        ("power", lambda value: 0 < value <= 1, "above 0 and at most 1"),
    ]


def _stated(value: Any, n_classes: int) -> bool:
    return bool(value == "auto" or 1 / n_classes < value < 1)


def epochs_for(n_images: int) -> int:
    """Few images are walked more often: 40 epochs up to 1,250 images, 20 at 5,000, 12 from 13,900 on."""
    return round(min(40.0, max(12.0, 20 * math.sqrt(5000 / n_images))))


def priority_for(n_images: int) -> float:
    """Of many images the hard ones are few, and nothing is lost by insisting on them; of few it brings nothing.

    Chosen on a hold-out of CIFAR-10's training images: 20,000 of them, 48 bits, mAP 0.916, 0.924 and 0.926 with 0, 0.5
    and 1; 5,000, 32 bits, 0.858, 0.859 and 0.857.
    """
    return 1.0 if n_images >= _MANY else 0.0


def sizes_for(n_images: int, n_features: int) -> dict[str, Any]:
    """What the default preset makes of the data where a parameter is not given.

    About forty updates an epoch; a larger rate for few features; a wider network held back less where there are many
    images (chosen on a hold-out of CIFAR-10's training images). Few features say less about an image: the network is
    as much wider as they are fewer, at the same cost, and less is dropped.
    """
    many = n_images >= _MANY
    fewer = min(1.0, n_features / 1280)
    batch = int(2 ** np.clip(np.round(np.log2(n_images / 40)), 5, 9))
    return {
        "batch": batch,
        "learning_rate": min(5e-3, 1e-3 * math.sqrt(1280 / n_features * batch / 128)),
        "hidden": 512 if many else round(min(1024, 256 / fewer)),
        "dropout": 0.3 if many else max(0.3, 0.5 * math.sqrt(fewer)),
        "feature_dropout": 0.1 if many else max(0.1, 0.3 * math.sqrt(fewer)),
        "weight_decay": 0.02 if many else 0.1,
    }
