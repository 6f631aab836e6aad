"""The network of most deep methods."""

from torch import Tensor, nn


class Head(nn.Module):
    """Features (n, n_in) → outputs (n, n_out) through one hidden layer; a linear map where `hidden_size` is 0."""

    def __init__(self, n_in: int, n_out: int, *, hidden_size: int, dropout: tuple[float, float] = (0.0, 0.0)) -> None:
        """`dropout` of the features and of the hidden units."""
        super().__init__()
        self.input_dropout = nn.Dropout(dropout[0])
        self.first = nn.Linear(n_in, hidden_size) if hidden_size else None
        self.hidden_dropout = nn.Dropout(dropout[1])
        self.last = nn.Linear(hidden_size or n_in, n_out)

    def forward(self, features: Tensor) -> Tensor:
        inputs = self.input_dropout(features)
        if self.first is not None:
            inputs = self.hidden_dropout(self.first(inputs).relu())
        outputs: Tensor = self.last(inputs)
        return outputs
