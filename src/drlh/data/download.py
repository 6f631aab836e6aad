"""Downloads that can be cut and continued, and that count only when their digest is right."""

import http.client
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from drlh.core.errors import UserError
from drlh.core.files import file_digest
from drlh.core.progress import Progress, quiet

_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without a single byte


def download(url: str, path: Path, md5: str, *, otherwise: str, progress: Progress = quiet) -> None:
    """Gets `url` into `path` unless it is there already; `otherwise` says what to do where that fails.

    What has arrived so far stays in `path`.part, and the next call goes on from there.
    """
    if path.is_file() and file_digest(path, "md5") == md5:
        return
    part = path.with_name(f"{path.name}.part")
    try:
        _fetch_rest(url, part, progress)
        _check(part, md5, url, otherwise)
        os.replace(part, path)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        raise UserError(f"{url} cannot be fetched: {reason}; {otherwise}") from error
    except OSError as error:
        raise UserError(f"cannot write {part}: {error.strerror}; choose another directory") from error


def _fetch_rest(url: str, part: Path, progress: Progress) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            # A server that knows no ranges sends everything again, and says so with 200 instead of 206.
            _append(response, part, have if response.status == 206 else 0, progress)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416:  # 416: there is nothing past what we have, so the digest decides
            raise


def _append(response: Any, part: Path, have: int, progress: Progress) -> None:
    length = response.headers.get("Content-Length")
    total = have + int(length) if length else 0
    part.parent.mkdir(parents=True, exist_ok=True)
    with open(part, "r+b" if have else "wb") as file:
        file.seek(have)
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            have += len(chunk)
            progress(have, total, f"fetching {part.stem}")
    if have < total:
        raise ConnectionError(f"the connection was cut after {have:,} of {total:,} bytes, run it again to go on")


def _check(part: Path, md5: str, url: str, otherwise: str) -> None:
    found = file_digest(part, "md5")
    if found != md5:
        part.unlink()
        raise UserError(f"{url} sent a file with MD5 {found} where {md5} is published; try again, or {otherwise}")
