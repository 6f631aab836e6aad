"""VDSH: labels regressed on the last units of a network that is many layers deep."""

from typing import Unpack

from torch import Tensor, nn

from drlh.hashers.deep.hasher import DeepHasher, Shared, Sizes
from drlh.hashers.deep.objective import Batch, Objective, Task
from drlh.hashers.training.checks import Check, is_count

_NARROWER = 4  # than the one hidden layer of other methods, unless `hidden_size` is given
_FEATURES = 1280  # for fewer, other methods have a wider layer; many layers that wide do not learn at the same rate


class VDSH(DeepHasher):
    """Very deep supervised hashing.

    **Idea.** A plain network of many ReLU layers ends in one unit for each bit, and a linear least-squares fit of the
    labels reads these units: depth, and not a special loss, makes them tell classes apart.

    **Reference.** Z. Zhang, Y. Chen, V. Saligrama, Efficient training of very deep neural networks for supervised
    hashing, CVPR 2016 (arXiv 1511.04524).

    **Differences.** All layers learn at once by gradients, with the optimiser and schedule of all deep methods here.
    The paper's own contribution, a training layer by layer with auxiliary variables after the alternating direction
    method of multipliers, is not done. The paper has up to 64 layers of 1,024 units; here they are 8, each a quarter as
    wide as the hidden layer of other methods, for the sake of time. The last units are hyperbolic tangents and a bit is
    their sign; how the paper makes bits could not be checked. The penalty on weights is `weight_decay`. Several labels:
    the regression is the same, on as many ones as there are labels.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_layers : int, default=8
        Hidden layers, of `hidden_size` units each.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(self, n_bits: int = 32, *, n_layers: int = 8, **shared: Unpack[Shared]) -> None:
        super().__init__(n_bits, **shared)
        self.n_layers = n_layers

    def _own_checks(self) -> list[Check]:
        wanted = "a whole number of at least 1"
        return [("n_layers", is_count, wanted), ("hidden_size", lambda value: value is None or is_count(value), wanted)]

    def _sizes(self, n_images: int, n_features: int) -> Sizes:
        sizes = super()._sizes(n_images, n_features)
        wide = super()._sizes(n_images, max(n_features, _FEATURES))["hidden_size"]
        return sizes if self.hidden_size is not None else sizes | {"hidden_size": wide // _NARROWER}

    def _network(self, n_in: int, sizes: Sizes) -> nn.Module:
        return deep_network(n_in, self.n_bits, [sizes["hidden_size"]] * self.n_layers, sizes["feature_dropout"])

    def _objective(self, task: Task) -> Objective:
        return LabelRegression(task)


class LabelRegression(Objective):
    """Squared error of a linear fit of the labels on the units, summed over labels; mean over images."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.regression = nn.Linear(task.n_bits, task.n_classes)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        errors: Tensor = self.regression(outputs.tanh()) - batch.labels
        return errors.square().sum(dim=1).mean()


def deep_network(n_in: int, n_out: int, widths: list[int], feature_dropout: float) -> nn.Module:
    """ReLU layers of the given widths, then a linear one."""
    layers: list[nn.Module] = [nn.Dropout(feature_dropout)]
    for before, width in zip([n_in, *widths[:-1]], widths, strict=True):
        linear = nn.Linear(before, width)
        # The usual start of a layer would shrink what passes through it, and many would leave nothing.
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], n_out))
