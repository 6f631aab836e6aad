"""What the service answers when it cannot do what was asked: a status and one plain sentence."""

from collections.abc import Mapping


class Refusal(Exception):
    """Becomes `{"error": sentence}` with this status."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = dict(headers or {})


def busy() -> Refusal:
    return Refusal(503, "too many requests are waiting: try again in a moment", {"Retry-After": "1"})
