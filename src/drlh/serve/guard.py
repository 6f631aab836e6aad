"""Middleware around the app: host names, rate and size limits, security headers, and request metrics."""

import logging
import time
from collections import OrderedDict
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from drlh.serve.responses import Refusal
from drlh.serve.settings import LOOPBACK, ServiceSettings
from drlh.serve.telemetry import Telemetry

_log = logging.getLogger("drlh.serve")

_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_BURST = 4.0  # seconds' worth of requests that may arrive at once
_MAX_ADDRESSES = 10_000  # whose rates are remembered


class Guard:
    """Plain ASGI middleware around the whole app: every response passes here, errors included."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, telemetry: Telemetry) -> None:
        self._app, self._telemetry = app, telemetry
        self._limits = settings.limits
        self._hosts = _allowed_hosts(settings)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address → (tokens, when)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, n_bytes = time.perf_counter(), 500, 0

        async def receive_limited() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > self._limits.max_body_bytes:
                raise self._too_large()
            return message

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        try:
            headers = dict(scope["headers"])
            self._check_host(headers.get(b"host", b""))
            self._check_rate((scope.get("client") or ("",))[0])
            self._check_length(headers.get(b"content-length", b"0"))
            await self._app(scope, receive_limited, send_with_headers)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send_with_headers)
        except ClientDisconnect:
            status = 499  # nobody is left to answer
        except Exception:
            # The app has sent a 500 by now; raising again would also close the client's connection.
            _log.exception("%s %s failed", scope["method"], _route(scope))
        finally:
            self._telemetry.observe_request(_route(scope), status, time.perf_counter() - start)

    def _check_host(self, header: bytes) -> None:
        """Prevents DNS rebinding: a foreign page's name can point to this machine, but then Host holds that name."""
        if self._hosts is None:
            return
        host = header.decode("latin-1").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name not in self._hosts:
            raise Refusal(400, "this service does not answer to that host name: it has to be among its allowed hosts")

    def _check_length(self, header: bytes) -> None:
        if not header.isdigit() or int(header) > self._limits.max_body_bytes:
            raise self._too_large()

    def _too_large(self) -> Refusal:
        limit = self._limits.max_body_bytes
        return Refusal(413, f"a request may bring at most {limit:,} bytes", {"Connection": "close"})

    def _check_rate(self, address: str) -> None:
        """A token bucket for each address."""
        rate = self._limits.rate
        if not rate or _is_loopback(address):
            return
        now, most = time.monotonic(), max(1.0, rate * _BURST)
        tokens, then = self._buckets.pop(address, (most, now))
        tokens = min(most, tokens + (now - then) * rate)
        self._buckets[address] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > _MAX_ADDRESSES:
            self._buckets.popitem(last=False)
        if tokens < 1:
            wait = max(1, round((1 - tokens) / rate + 0.5))
            raise Refusal(429, f"more than {rate:g} requests a second: wait a little", {"Retry-After": str(wait)})


def _allowed_hosts(settings: ServiceSettings) -> frozenset[str] | None:
    """None allows every name: a service bound to a network is reached by names it cannot know."""
    if settings.host not in LOOPBACK and not settings.allowed_hosts:
        return None
    return frozenset((*LOOPBACK, *(name.lower() for name in settings.allowed_hosts)))


@lru_cache(_MAX_ADDRESSES)
def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _route(scope: Scope) -> str:
    route: Any = scope.get("route")
    return str(getattr(route, "path", "other"))
