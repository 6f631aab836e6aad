"""Request bodies: JSON, or a form with a picture; how they are read and checked.

The pydantic models here are also the request schemas of `openapi.json`.
"""

import asyncio
import io
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO, ClassVar

from fastapi import Path, Request
from PIL import Image, UnidentifiedImageError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from drlh.core.errors import UserError
from drlh.data.picture import Picture, decode_picture
from drlh.serve.responses import Refusal
from drlh.serve.settings import MAX_ID, Limits

# Those of an image folder. Pillow knows more, and some of them run other programs.
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM")
_FORM, _JSON = "multipart/form-data", "application/json"
_SMALL = 64 * 1024  # bytes of JSON that are parsed on the event loop; larger bodies go to another thread


def _safe(text: str) -> str:
    """Names are displayed, stored, and taken for paths below a folder by `drlh search`."""
    if not text.strip() or any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        raise ValueError("must hold visible letters and no control characters")
    if text.startswith(("/", "~")) or "\\" in text or ".." in text.split("/"):
        raise ValueError("must not lead out of a folder: no .. part, no / or ~ at the start, no backslash")
    return text


Name = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_safe)]
Label = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_safe)]
Id = Annotated[int, Field(ge=0, le=MAX_ID)]
ItemId = Annotated[int, Path(alias="id", ge=0, le=MAX_ID)]
Hex = Annotated[str, Field(min_length=2, max_length=4096, pattern="^([0-9a-fA-F]{2})+$")]
FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
FeatureList = Annotated[list[FiniteFloat], Field(min_length=1, max_length=1_000_000)]


class RequestFields(BaseModel):
    """The fields of a request; a `…Form` has those beside the picture, a `…Query` those of the JSON body."""

    model_config = ConfigDict(extra="forbid")
    sources: ClassVar[tuple[str, ...]] = ()  # of which JSON gives exactly one, in place of the form's picture


class EncodeForm(RequestFields):
    pass


class EncodeQuery(EncodeForm):
    sources = ("features",)

    features: FeatureList


class SearchForm(RequestFields):
    k: Annotated[int, Field(ge=1, le=1000)] | None = None
    radius: Annotated[int, Field(ge=0, le=4096)] | None = None
    label: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class SearchQuery(SearchForm):
    """Exactly one of features, code and id."""

    sources = ("features", "code", "id")

    features: FeatureList | None = None
    code: Hex | None = None
    id: Id | None = None


class CompareForm(RequestFields):
    k: Annotated[int, Field(ge=1, le=1000)] | None = None
    label: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class CompareQuery(CompareForm):
    """Exactly one of features and id."""

    sources = ("features", "id")

    features: FeatureList | None = None
    id: Id | None = None


class ItemForm(RequestFields):
    name: Name | None = None
    labels: Annotated[list[Label], Field(max_length=50)] = []
    id: Id | None = None


class ItemQuery(ItemForm):
    """Exactly one of features and code."""

    sources = ("features", "code")

    features: FeatureList | None = None
    code: Hex | None = None


@dataclass(frozen=True)
class Input:
    """What a request holds: its fields, and a picture if it was a form."""

    fields: Any
    image: UploadFile | None = None


async def read_input(request: Request, form: type[RequestFields], query: type[RequestFields], limits: Limits) -> Input:
    """The request's body by its content type."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        async with asyncio.timeout(limits.body_timeout):
            if kind == _JSON:
                return Input(await _read_json(await request.body(), query))
            if kind == _FORM:
                return await _read_form(request, form)
    except TimeoutError as error:
        raise Refusal(408, f"the request did not arrive within {limits.body_timeout:g} seconds") from error
    raise Refusal(415, f"send {_JSON}, or {_FORM} with a picture in the part image: got {kind or 'no content type'!r}")


async def _read_json(body: bytes, query: type[RequestFields]) -> RequestFields:
    try:
        if len(body) <= _SMALL:
            found = query.model_validate_json(body)
        else:
            found = await asyncio.to_thread(query.model_validate_json, body)
    except ValidationError as error:
        raise Refusal(422, _sentence_of(error)) from error
    given = [name for name in query.sources if getattr(found, name) is not None]
    if len(given) != 1:
        raise Refusal(422, f"give exactly one of {', '.join(query.sources)}: got {', '.join(given) or 'none'}")
    return found


async def _read_form(request: Request, form: type[RequestFields]) -> Input:
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


def _form_input(parts: FormData, form: type[RequestFields]) -> Input:
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
        raise Refusal(422, _sentence_of(error)) from error


def _sentence_of(error: ValidationError) -> str:
    """The first mistake."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    what = first["msg"].removeprefix("Value error, ")
    return f"{where}: {what}" if where else what


def read_upload(file: BinaryIO, limits: Limits) -> tuple[bytes, Picture]:
    """The bytes of an uploaded file and its picture; the header is checked before anything is decoded."""
    with file:
        file.seek(0)
        raw = file.read()
    _check_header(raw, limits)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of odd metadata
            return raw, decode_picture(raw, "the uploaded file")
    except UserError as error:
        raise Refusal(422, "the uploaded file begins as a picture but is broken or cut short: send it again") from error


def _check_header(raw: bytes, limits: Limits) -> None:
    if not raw:
        raise Refusal(422, "the uploaded file is empty: send a picture")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(raw), formats=FORMATS) as image:
                width, height = image.size
    except UnidentifiedImageError as error:
        raise Refusal(415, f"the uploaded file is not a picture of a known kind ({', '.join(FORMATS)})") from error
    except Image.DecompressionBombError as error:
        raise Refusal(413, f"the picture has more than the {limits.max_pixels:,} pixels allowed") from error
    except (OSError, ValueError, SyntaxError) as error:
        raise Refusal(422, "the uploaded file begins as a picture but is broken or cut short: send it again") from error
    if width * height > limits.max_pixels:
        raise Refusal(413, f"the picture has {width} x {height} pixels, more than the {limits.max_pixels:,} allowed")
