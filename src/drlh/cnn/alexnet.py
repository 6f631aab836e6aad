"""`alexnet` as torchvision has it (Krizhevsky 2014), up to fc7: names and shapes are those of its weight file."""

from torch import Tensor, nn

SIZE = 224
MEAN = (0.485, 0.456, 0.406)  # of ImageNet
DEVIATION = (0.229, 0.224, 0.225)
RECIPE = {"n_epochs": 20, "batch_size": 128, "learning_rate": 1e-2, "weight_decay": 5e-4, "momentum": 0.9}


class AlexNet(nn.Module):
    """(n, 3, 224, 224) → (n, 4096)."""

    n_features = 4096

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(),
            nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2),
        )  # fmt: skip
        self.classifier = nn.Sequential(
            nn.Dropout(0.5), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(),
            nn.Dropout(0.5), nn.Linear(4096, 4096), nn.ReLU(),
        )  # fmt: skip

    def forward(self, pictures: Tensor) -> Tensor:
        seen: Tensor = self.classifier(self.features(pictures).flatten(1))
        return seen
