"""The door: who may come in, how much they may bring, and the headers everything leaves with."""

import logging
import time
from collections import OrderedDict
from collections.abc import MutableMapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from drlh.serve.answers import json_response
from drlh.serve.metrics import Metrics
from drlh.serve.options import LOOPBACK, Options
from drlh.serve.refusals import Refusal

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
_BURST = 4.0  # seconds' worth of requests that may come at once
_REMEMBERED = 10_000  # addresses


class Guard:
    """Plain ASGI around the whole app: every answer passes here, also those of errors."""

    def __init__(self, app: ASGIApp, options: Options, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics
        self._limits = options.limits
        self._hosts = _allowed_hosts(options)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address → (tokens, when)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._limits.body_bytes:
                raise self._too_large()
            return message

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, counted, sent)
        except Refusal as refusal:
            await json_response({"error": refusal.sentence}, refusal.status, refusal.headers)(scope, receive, sent)
        except ClientDisconnect:
            status = 499  # nobody is left to be answered
        except Exception:
            # The app has answered 500 by now; raised further, this would also cost the client its connection.
            _log.exception("%s %s failed", scope["method"], _route(scope))
        finally:
            self._metrics.note(_route(scope), status, time.perf_counter() - start)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        self._check_host(headers)
        self._check_rate(scope)
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limits.body_bytes:
            raise self._too_large()

    def _too_large(self) -> Refusal:
        return Refusal(413, f"a request may bring at most {self._limits.body_bytes:,} bytes", {"Connection": "close"})

    def _check_host(self, headers: MutableMapping[bytes, bytes]) -> None:
        """A page of somebody else's can make its own name point to this machine; its name then stands in Host."""
        if self._hosts is None:
            return
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name not in self._hosts:
            raise Refusal(400, "this service does not answer to that host name: start it with --allow-host NAME")

    def _check_rate(self, scope: Scope) -> None:
        rate, address = self._limits.rate, (scope.get("client") or ("",))[0]
        if not rate or _is_loopback(address):
            return
        now, most = time.monotonic(), max(1.0, rate * _BURST)
        tokens, then = self._buckets.pop(address, (most, now))
        tokens = min(most, tokens + (now - then) * rate)
        self._buckets[address] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        if tokens < 1:
            wait = max(1, round((1 - tokens) / rate + 0.5))
            raise Refusal(429, f"more than {rate:g} requests a second: wait a little", {"Retry-After": str(wait)})


def _allowed_hosts(options: Options) -> frozenset[str] | None:
    """None lets every name in: a service bound to a network is asked for by names we do not know."""
    if options.host not in LOOPBACK and not options.allowed_hosts:
        return None
    return frozenset((*LOOPBACK, *(name.lower() for name in options.allowed_hosts)))


@lru_cache(_REMEMBERED)
def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _route(scope: Scope) -> str:
    route: Any = scope.get("route")
    return str(getattr(route, "path", "other"))
