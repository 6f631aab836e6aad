"""`nin`, network in network (Lin, Chen and Yan 2014), as it is for 32 × 32 pictures; NINH was made on its kind."""

from torch import Tensor, nn

from drlh.cnn.small import DEVIATION as DEVIATION
from drlh.cnn.small import MEAN as MEAN
from drlh.cnn.small import SIZE as SIZE

RECIPE = {"n_epochs": 30, "batch_size": 128, "learning_rate": 5e-2, "weight_decay": 5e-4, "momentum": 0.9}


class Nin(nn.Module):
    """(n, 3, 32, 32) → (n, 192)."""

    n_features = 192

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_stack(3, 5, (192, 160, 96)), nn.MaxPool2d(3, 2, padding=1), nn.Dropout(0.5),
            *_stack(96, 5, (192, 192, 192)), nn.AvgPool2d(3, 2, padding=1), nn.Dropout(0.5),
            *_stack(192, 3, (192, 192, 192)), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip

    def forward(self, pictures: Tensor) -> Tensor:
        seen: Tensor = self.layers(pictures)
        return seen


def _stack(n_in: int, kernel: int, widths: tuple[int, int, int]) -> list[nn.Module]:
    """One convolution and two layers of 1 × 1 filters; a batch norm after the first lets it learn from nothing."""
    first, second, third = widths
    return [
        nn.Conv2d(n_in, first, kernel, padding=kernel // 2), nn.BatchNorm2d(first), nn.ReLU(),
        nn.Conv2d(first, second, 1), nn.ReLU(),
        nn.Conv2d(second, third, 1), nn.ReLU(),
    ]  # fmt: skip
