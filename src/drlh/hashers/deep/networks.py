"""Networks of the deep methods: features (n, n_in) → outputs (n, n_out)."""

from torch import Tensor, nn


class Head(nn.Module):
    """One hidden layer on frozen features; `hidden` of 0 is a linear map."""

    def __init__(self, n_in: int, n_out: int, *, hidden: int, dropout: tuple[float, float] = (0.0, 0.0)) -> None:
        super().__init__()
        self.seen = nn.Dropout(dropout[0])
        self.first = nn.Linear(n_in, hidden) if hidden else None
        self.kept = nn.Dropout(dropout[1])
        self.last = nn.Linear(hidden or n_in, n_out)

    def forward(self, features: Tensor) -> Tensor:
        seen = self.seen(features)
        if self.first is not None:
            seen = self.kept(self.first(seen).relu())
        outputs: Tensor = self.last(seen)
        return outputs
