"""The compact residual net."""

import torch

from drlh.networks import cnn_small
from drlh.networks.backbone import whiten
from drlh.networks.torch_layers import LayerNet


def test_its_stem_whitens_the_patches_it_has_seen() -> None:
    torch.manual_seed(0)
    smooth = torch.nn.functional.avg_pool2d(torch.randn(64, 3, 34, 34), 3, 1)
    net = LayerNet(cnn_small.LAYERS)
    whiten(net, smooth)
    answers = net.get_submodule("stem")(smooth)[:, :12].transpose(0, 1).flatten(1)
    moments = answers @ answers.T / answers.shape[1]
    assert torch.allclose(moments, torch.eye(12) * moments.diagonal(), atol=0.02)
    assert moments.diagonal().min() > 0.8  # less than 1 by what keeps small variances from being blown up


def test_the_stem_and_the_gains_stay_as_they_are() -> None:
    fixed = {name for name, parameter in LayerNet(cnn_small.LAYERS).named_parameters() if not parameter.requires_grad}
    gains = {f"blocks.{block}.{norm}_norm.weight" for block in range(3) for norm in ("first", "second")}
    assert fixed == {"stem.weight", *gains}


def test_a_picture_gives_one_row_of_features() -> None:
    net = LayerNet(cnn_small.layers((8, 16, 12))).eval()
    with torch.no_grad():
        seen = net(torch.randn(5, 3, 32, 32))
    assert seen.shape == (5, 12)
    assert net.n_features == 12
    assert (seen >= 0).all()


def test_the_order_of_pooling_and_norm_does_not_matter() -> None:
    torch.manual_seed(1)
    block = LayerNet(cnn_small.layers((8, 8, 8))).get_submodule("blocks.0").eval()
    block.first_norm.running_mean.normal_()
    block.first_norm.running_var.uniform_(0.5, 2)
    seen = block.first(torch.randn(2, 24, 8, 8))
    pool = torch.nn.functional.max_pool2d
    assert torch.allclose(block.first_norm(pool(seen, 2)), pool(block.first_norm(seen), 2), atol=1e-5)
