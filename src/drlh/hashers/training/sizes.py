"""How large a network is and how it learns, where no parameter says so: by the number of images and features."""

import math
from typing import Any

import numpy as np

_MANY = 20_000  # images


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
