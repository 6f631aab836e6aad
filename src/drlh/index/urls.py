"""URLs of indexes without their secrets, fit for messages and logs."""

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit


def redacted(url: str | Path) -> str:
    """The URL without its password."""
    url = str(url)
    if "://" not in url:
        return url
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    # A password may also stand in the query: postgresql://host/db?password=…
    query = "&".join(_redacted_option(pair) for pair in parts.query.split("&"))
    return urlunsplit(parts._replace(netloc=name + (":***" if colon else "") + at + host, query=query))


def _redacted_option(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}=***" if equals and name in ("password", "token", "sslpassword") else pair
