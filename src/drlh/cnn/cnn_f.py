"""`cnn-f`, the fast net of Chatfield and others (Return of the Devil in the Details, 2014), up to fc7."""

from torch import nn

from drlh.cnn.alexnet import RECIPE as RECIPE
from drlh.cnn.alexnet import SIZE as SIZE
from drlh.cnn.alexnet import AlexNet

MEAN = (0.4850, 0.4578, 0.4076)  # of the pictures it was made for; its own file holds a whole mean picture
DEVIATION = (1 / 255, 1 / 255, 1 / 255)  # it takes pixels from 0 to 255


class CnnF(AlexNet):
    """(n, 3, 224, 224) → (n, 4096): other filters, the same fully connected layers."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4), nn.ReLU(), _response_norm(), nn.MaxPool2d(3, 2, ceil_mode=True),
            nn.Conv2d(64, 256, 5, padding=2), nn.ReLU(), _response_norm(), nn.MaxPool2d(3, 2, ceil_mode=True),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True),
        )  # fmt: skip


def _response_norm() -> nn.LocalResponseNorm:
    """x / (2 + 1e-4 · sum of x² over 5 channels) ^ 0.75; torch divides its alpha by the number of channels."""
    return nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2.0)
