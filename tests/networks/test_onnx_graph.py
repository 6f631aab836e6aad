"""Single layers against their definitions, written out with numpy."""

import numpy as np
import onnxruntime
import pytest

from drlh.networks.onnx_graph import Graph

RNG = np.random.default_rng(4)
PICTURES = RNG.integers(0, 256, (2, 7, 9, 3), dtype=np.uint8)
PLANES = PICTURES.transpose(0, 3, 1, 2).astype(np.float64)


def run(graph):
    return onnxruntime.InferenceSession(graph.model().SerializeToString()).run(None, {"pictures": PICTURES})[0]


def slow_conv(planes, weight, bias, stride):
    n_out, _, rows, columns = weight.shape
    height, width = (planes.shape[2] - rows) // stride + 1, (planes.shape[3] - columns) // stride + 1
    out = np.empty((len(planes), n_out, height, width))
    for y in range(height):
        for x in range(width):
            window = planes[:, :, y * stride : y * stride + rows, x * stride : x * stride + columns]
            out[:, :, y, x] = np.tensordot(window, weight, ((1, 2, 3), (1, 2, 3))) + bias
    return out


def test_a_graph_without_layers_gives_the_bytes_channel_by_channel():
    np.testing.assert_array_equal(run(Graph(7, 9)), PLANES.reshape(2, -1))


def test_mean_and_deviation_are_taken_channel_by_channel():
    mean, deviation = np.array([10.0, 20, 30]), np.array([2.0, 4, 8])
    graph = Graph(7, 9)
    graph.subtract(mean)
    graph.divide(deviation)
    wanted = (PLANES - mean[:, None, None]) / deviation[:, None, None]
    np.testing.assert_allclose(run(graph), wanted.reshape(2, -1), rtol=1e-6)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_padding_goes_top_left_bottom_right(stride):
    weight, bias = RNG.normal(size=(4, 3, 3, 2)), RNG.normal(size=4)
    graph = Graph(7, 9)
    graph.conv(weight, bias, stride=stride, pads=(0, 1, 2, 3))
    padded = np.pad(PLANES, ((0, 0), (0, 0), (0, 2), (1, 3)))
    wanted = slow_conv(padded, weight, bias, stride)
    assert (graph.channels, graph.height, graph.width) == wanted.shape[1:]
    np.testing.assert_allclose(run(graph), wanted.reshape(2, -1), rtol=1e-3, atol=1e-2)


def test_one_window_over_everything_equals_the_convolution_it_stands_for():
    weight, bias = RNG.normal(size=(5, 3, 7, 9)), RNG.normal(size=5)
    graph = Graph(7, 9)
    graph.conv(weight, bias)
    np.testing.assert_allclose(run(graph), slow_conv(PLANES, weight, bias, 1).reshape(2, -1), rtol=1e-3, atol=1e-2)


def test_weights_that_do_not_fit_the_channels_are_refused():
    with pytest.raises(ValueError, match="do not fit 3 channels"):
        Graph(7, 9).conv(np.ones((4, 2, 1, 1)), np.ones(4))
    with pytest.raises(ValueError, match="do not fit 3 channels"):
        Graph(7, 9).conv(np.ones((4, 3, 1, 1)), np.ones(3))
