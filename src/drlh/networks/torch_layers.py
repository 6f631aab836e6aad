"""Layer records as a torch module."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from drlh.networks.layers import (
    AvgPool,
    BatchNorm,
    Conv,
    Dropout,
    Flatten,
    GlobalAvgPool,
    GlobalMaxPool,
    Layer,
    Layers,
    Linear,
    MaxPool,
    ReLU,
    Residual,
    ResponseNorm,
    weighted,
)  # fmt: skip


class LayerNet(nn.Module):
    """Pictures (n, 3, size, size) → features (n, n_features).

    Parameters
    ----------
    layers : the network; the state dict's names are those of the layers.
    drawn : the layers in the order in which their first weights are drawn, where that is another one.
    """

    def __init__(self, layers: Layers, drawn: Layers | None = None) -> None:
        super().__init__()
        self._layers = layers  # `layers` is where the modules of nin are
        modules = {layer.name: _with_weights(layer) for layer in weighted(layers if drawn is None else drawn)}
        for layer in weighted(layers):
            self._place(layer.name, modules[layer.name])
            self.n_features = layer.n_out

    def forward(self, pictures: Tensor) -> Tensor:
        return self._run(self._layers, pictures)

    def _run(self, layers: Layers, inputs: Tensor) -> Tensor:
        for layer in layers:
            if isinstance(layer, Residual):
                inputs = inputs + self._run(layer.layers, inputs)
            elif isinstance(layer, Conv | BatchNorm | Linear):
                inputs = self.get_submodule(layer.name)(inputs)
            elif isinstance(layer, Dropout):
                inputs = functional.dropout(inputs, layer.share, self.training)
            else:
                inputs = _without_weights(layer, inputs)
        return inputs

    def _place(self, name: str, module: nn.Module) -> None:
        """Puts `module` where a dotted name says, so that the state dict has that name."""
        parent: nn.Module = self
        *path, leaf = name.split(".")
        for part in path:
            if part not in parent._modules:
                parent.add_module(part, nn.Module())
            parent = parent.get_submodule(part)
        parent.add_module(leaf, module)


def _with_weights(layer: Conv | BatchNorm | Linear) -> nn.Module:
    if isinstance(layer, Linear):
        return nn.Linear(layer.n_in, layer.n_out)
    if isinstance(layer, BatchNorm):
        norm = nn.BatchNorm2d(layer.n_out, layer.epsilon, layer.momentum)
        norm.weight.requires_grad_(layer.learned_gain)
        return norm
    conv = nn.Conv2d(layer.n_in, layer.n_out, layer.kernel, layer.stride, layer.padding, bias=layer.bias)
    if layer.identity:
        nn.init.dirac_(conv.weight[: layer.n_in])
    if layer.frozen:
        conv.weight.requires_grad_(False)
        if conv.bias is not None:
            nn.init.zeros_(conv.bias)
    return conv


def _without_weights(layer: Layer, inputs: Tensor) -> Tensor:
    match layer:
        case ReLU():
            return functional.relu(inputs)
        case MaxPool(kernel, stride, padding, ceil):
            return functional.max_pool2d(inputs, kernel, stride, padding, ceil_mode=ceil)
        case AvgPool(kernel, stride, padding):
            return functional.avg_pool2d(inputs, kernel, stride, padding)
        case GlobalMaxPool():
            return inputs.amax(dim=(2, 3))
        case GlobalAvgPool():
            return functional.adaptive_avg_pool2d(inputs, 1).flatten(1)
        case ResponseNorm(size, k, alpha, beta):  # torch divides its alpha by the number of channels
            return functional.local_response_norm(inputs, size, alpha * size, beta, k)
        case Flatten():
            return inputs.flatten(1)
    raise TypeError(f"{layer} is no layer without weights")


@torch.no_grad()
def whitening_filters(pictures: Tensor, size: int, least: float) -> Tensor:
    """(2·3·size², 3, size, size): filters that whiten the patches of `pictures` (n, 3, h, w), and their opposites.

    `least` is added to each variance, so that directions in which the patches hardly differ are not blown up.
    """
    patches = functional.unfold(pictures, size).transpose(1, 2).flatten(0, 1).double()
    variances, directions = torch.linalg.eigh(patches.T @ patches / len(patches))
    filters = (directions / (variances + least).sqrt()).T.reshape(-1, 3, size, size)
    return torch.cat([filters, -filters])
