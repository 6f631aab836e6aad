"""How long work tells its caller how far it is; the library itself never prints."""

from typing import Protocol


class Progress(Protocol):
    """Called as `progress(done, total, what)`, for example `progress(512, 60000, "features")`."""

    def __call__(self, done: int, total: int, what: str, /) -> None: ...


def quiet(done: int, total: int, what: str, /) -> None:
    """The default: say nothing."""
