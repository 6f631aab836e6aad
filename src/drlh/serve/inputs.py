"""What a request may say, as JSON or as a form with a picture, and how it is read.

Both become the same models; the schemas of `openapi.json` come from them.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from fastapi import Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from drlh.serve.collection import MOST_ID
from drlh.serve.options import Limits
from drlh.serve.refusals import Refusal

_FORM, _JSON = "multipart/form-data", "application/json"
_SMALL = 64 * 1024  # bytes of JSON that are read at once; more of it is read on another thread


def _plain(text: str) -> str:
    """Names are shown, stored, and taken for paths below a folder by `drlh search --images`."""
    if not text.strip() or any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        raise ValueError("must hold visible letters and no control characters")
    if text.startswith(("/", "~")) or "\\" in text or ".." in text.split("/"):
        raise ValueError("must not lead out of a folder: no .. part, no / or ~ at the start, no backslash")
    return text


Name = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_plain)]
Label = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_plain)]
Id = Annotated[int, Field(ge=0, le=MOST_ID)]
Hex = Annotated[str, Field(min_length=2, max_length=4096, pattern="^([0-9a-fA-F]{2})+$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Row = Annotated[list[Number], Field(min_length=1, max_length=1_000_000)]


class Settings(BaseModel):
    """The fields beside the picture of a form."""

    model_config = ConfigDict(extra="forbid")
    sources: ClassVar[tuple[str, ...]] = ()  # of which JSON gives exactly one, where a form gives a picture


class EncodeSettings(Settings):
    pass


class EncodeQuery(EncodeSettings):
    sources = ("features",)

    features: Row


class SearchSettings(Settings):
    k: Annotated[int, Field(ge=1, le=1000)] | None = None
    radius: Annotated[int, Field(ge=0, le=4096)] | None = None
    label: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class SearchQuery(SearchSettings):
    """Exactly one of features, code and id."""

    sources = ("features", "code", "id")

    features: Row | None = None
    code: Hex | None = None
    id: Id | None = None


class CompareSettings(Settings):
    k: Annotated[int, Field(ge=1, le=1000)] | None = None
    label: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class CompareQuery(CompareSettings):
    """Exactly one of features and id."""

    sources = ("features", "id")

    features: Row | None = None
    id: Id | None = None


class ItemSettings(Settings):
    name: Name | None = None
    labels: Annotated[list[Label], Field(max_length=50)] = []
    id: Id | None = None


class ItemQuery(ItemSettings):
    """Exactly one of features and code."""

    sources = ("features", "code")

    features: Row | None = None
    code: Hex | None = None


@dataclass(frozen=True)
class Input:
    """What came: settings, and a picture where it was a form."""

    settings: Any
    image: UploadFile | None = None


async def read_input(request: Request, form: type[Settings], query: type[Settings], limits: Limits) -> Input:
    """The request's body by its content type."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        async with asyncio.timeout(limits.body_seconds):
            if kind == _JSON:
                return Input(await _read_json(await request.body(), query))
            if kind == _FORM:
                return await _read_form(request, form)
    except TimeoutError as error:
        raise Refusal(408, f"the request did not arrive within {limits.body_seconds:g} seconds") from error
    raise Refusal(415, f"send {_JSON}, or {_FORM} with a picture in the part image: got {kind or 'no content type'!r}")


async def _read_json(body: bytes, query: type[Settings]) -> Settings:
    try:
        if len(body) <= _SMALL:
            found = query.model_validate_json(body)
        else:
            found = await asyncio.to_thread(query.model_validate_json, body)
    except ValidationError as error:
        raise Refusal(422, sentence_of(error)) from error
    given = [name for name in query.sources if getattr(found, name) is not None]
    if len(given) != 1:
        raise Refusal(422, f"give exactly one of {', '.join(query.sources)}: got {', '.join(given) or 'none'}")
    return found


async def _read_form(request: Request, form: type[Settings]) -> Input:
    try:
        parts = await request.form(max_files=1, max_fields=8, max_part_size=64 * 1024)
    except (MultiPartException, HTTPException) as error:
        why = getattr(error, "message", None) or getattr(error, "detail", "")
        raise Refusal(422, f"the form cannot be read: {why}") from error
    try:
        return _form_input(parts, form)
    except BaseException:
        await parts.close()
        raise


def _form_input(parts: FormData, form: type[Settings]) -> Input:
    image = parts.get("image")
    if not isinstance(image, UploadFile):
        raise Refusal(422, "send a picture as the file part image of the form")
    fields: dict[str, Any] = {name: value for name, value in parts.items() if name != "image" and value != ""}
    if "name" in form.model_fields and image.filename:
        fields.setdefault("name", image.filename)
    if isinstance(fields.get("labels"), str):
        fields["labels"] = [word.strip() for word in fields["labels"].split(",") if word.strip()]
    try:
        return Input(form.model_validate(fields), image)
    except ValidationError as error:
        raise Refusal(422, sentence_of(error)) from error


def sentence_of(error: ValidationError) -> str:
    """The first thing that is wrong."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    what = first["msg"].removeprefix("Value error, ")
    return f"{where}: {what}" if where else what
