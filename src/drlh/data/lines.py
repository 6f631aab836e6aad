"""Lines of the small text files that data sets come with."""

from pathlib import Path

from drlh.core.errors import UserError


def lines_of(path: Path) -> list[str]:
    """The lines without their ends and without empty ones."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; unpack the publisher's archive anew or name another directory") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as a text file: {error}") from error
    return [stripped for line in text.splitlines() if (stripped := line.strip())]
