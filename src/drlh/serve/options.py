"""What `drlh serve` was told: where things are, who may write, and the limits."""

from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Limits:
    """What one client may ask for."""

    body_bytes: int = 20_000_000
    pixels: int = 40_000_000
    rate: float = 50.0  # requests a second of one address, 0 for any number; this machine's own are not counted
    body_seconds: float = 30.0  # to send a request
    hits: int = 1000
    waiting: int = 2000  # requests in line for the model or the index


@dataclass(frozen=True)
class Options:
    model: Path
    index: str
    data: str | None = None
    compare: tuple[tuple[Path, str], ...] = ()
    pictures: Path | None = None
    token: str | None = field(default=None, repr=False)
    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = ()
    access_log: bool = False
    limits: Limits = Limits()
