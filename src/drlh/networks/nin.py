"""`nin`, network in network (Lin, Chen and Yan 2014), as it is for 32 × 32 pictures; NINH was made on its kind."""

from drlh.networks.cnn_small import DEVIATION as DEVIATION
from drlh.networks.cnn_small import MEAN as MEAN
from drlh.networks.cnn_small import SIZE as SIZE
from drlh.networks.layers import AvgPool, BatchNorm, Conv, Dropout, GlobalAvgPool, Layers, MaxPool, ReLU

RECIPE = {"n_epochs": 30, "batch_size": 128, "learning_rate": 5e-2, "weight_decay": 5e-4, "momentum": 0.9}


def _stack(place: int, n_in: int, kernel: int, widths: tuple[int, int, int]) -> Layers:
    """One convolution and two layers of 1 × 1 filters; a batch norm after the first lets it learn from scratch."""
    first, second, third = widths
    return (
        Conv(f"layers.{place}", n_in, first, kernel, padding=kernel // 2), BatchNorm(f"layers.{place + 1}", first),
        ReLU(),
        Conv(f"layers.{place + 3}", first, second, 1), ReLU(),
        Conv(f"layers.{place + 5}", second, third, 1), ReLU(),
    )  # fmt: skip


LAYERS: Layers = (
    *_stack(0, 3, 5, (192, 160, 96)), MaxPool(3, 2, padding=1), Dropout(0.5),
    *_stack(9, 96, 5, (192, 192, 192)), AvgPool(3, 2, padding=1), Dropout(0.5),
    *_stack(18, 192, 3, (192, 192, 192)), GlobalAvgPool(),
)  # fmt: skip
