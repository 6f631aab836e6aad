"""The shapes of requests and responses, for `openapi.json` and `/docs`."""

from typing import Any

from pydantic import BaseModel, Field

from drlh.serve.inputs import RequestFields


class ErrorAnswer(BaseModel):
    error: str = Field(description="One plain sentence.")


class CodeAnswer(BaseModel):
    code: str = Field(description="Hex, first byte first, as `drlh search` prints it.")
    bits: str = Field(description="The same as 0 and 1, first bit first.")
    n_bits: int


class ItemShown(BaseModel):
    id: int
    name: str
    labels: list[str]
    thumbnail: str | None


class SearchHit(ItemShown):
    rank: int
    distance: int
    code: str
    bits: str
    differs: list[int] = Field(description="Bits in which hit and query differ.")


class SearchAnswer(CodeAnswer):
    hits: list[SearchHit] = Field(description="Nearest first, ties by id.")
    more: bool = Field(description="With a radius: whether more items may lie within it than were returned.")
    milliseconds: float


class WalkStep(BaseModel):
    step: int
    flipped: list[int] = Field(description="Bits that changed since the step before.")
    bits: str
    code: str
    q: list[float | None] = Field(description="Q-value of each action here; null at the step limit.")
    distances: list[int] = Field(description="Hamming distance to the codeword of each class.")
    action: int | None = Field(description="The action taken here, null at the step limit.")
    history: list[list[int]] | None = Field(
        description="Bits of each of the last flips that the agent sees here, newest first; null: it sees none."
    )


class NearestClass(BaseModel):
    name: str = Field(alias="class")
    distance: int


class StopReward(BaseModel):
    sigma: float = Field(description="Earned by a stop near the codeword; one elsewhere costs as much.")
    eta: float = Field(description="Largest distance to the codeword, in bits, that counts as near.")


class WalkAnswer(CodeAnswer):
    method: str
    classes: list[str]
    codewords: list[str] = Field(description="The codeword of each class, as bits.")
    actions: list[list[int]] = Field(description="Bits that each action flips; the last one flips none and stops.")
    steps: list[WalkStep]
    stopped: bool = Field(description="Whether the agent stopped by itself, before the step limit.")
    max_steps: int = Field(description="The step limit: the most flips a walk may have.")
    history_length: int = Field(description="How many of its last flips the agent sees; 0: none.")
    gamma: float = Field(description="What a reward one step later counts for in the Q-values.")
    stop_reward: StopReward | None = Field(description="What a stop earned while learning; null: always 0.")
    nearest: NearestClass


class ItemAnswer(ItemShown, CodeAnswer):
    pass


class AddedAnswer(CodeAnswer):
    id: int


class RemovedAnswer(BaseModel):
    removed: int


class SamplesAnswer(BaseModel):
    items: list[ItemShown]


class MapPoint(BaseModel):
    id: int
    x: float
    y: float
    label: str | None
    thumbnail: str | None


class MapAnswer(BaseModel):
    ready: bool
    progress: float
    points: list[MapPoint]
    classes: list[str]
    n_items: int


class ServedMethod(BaseModel):
    name: str
    n_bits: int
    items: int
    main: bool
    walks: bool


class MethodsAnswer(BaseModel):
    methods: list[ServedMethod]


class ComparedMethod(CodeAnswer):
    name: str
    hits: list[SearchHit]
    precision: float | None = Field(description="Share of hits that share a label with the query.")
    milliseconds: float


class CompareAnswer(BaseModel):
    k: int
    label: list[str] | None
    methods: list[ComparedMethod]


class StatsAnswer(BaseModel):
    method: str
    n_bits: int
    items: int
    features: str | None
    classes: list[str]
    data: str | None
    engine: str
    started: str
    uptime_seconds: float
    requests: dict[str, int]
    writable: bool
    version: str


class HealthAnswer(BaseModel):
    ok: bool


class ReadyAnswer(BaseModel):
    ready: bool
    items: int


_DESCRIPTIONS = {
    400: "The host name is not one this service answers to.",
    401: "The token is missing or wrong.",
    403: "The service was started without a token.",
    404: "There is no such item, or no picture of it.",
    408: "The request took too long to arrive.",
    409: "The model does not walk.",
    413: "The request or the picture is too large.",
    415: "Neither JSON nor a form with a picture of a known kind.",
    422: "Something in the request is wrong; the sentence says what.",
    429: "Too many requests from one address.",
    503: "The index does not answer, or too many requests wait.",
}
_EVERYWHERE = (400, 413, 422, 429, 503)


def answers(model: type[BaseModel], *errors: int, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """The `responses` of an endpoint that answers with `model` or one of the errors."""
    found: dict[int | str, dict[str, Any]] = {status: {"model": model, "description": "What was asked for."}}
    for code in sorted({*_EVERYWHERE, *errors}):
        found[code] = {"model": ErrorAnswer, "description": _DESCRIPTIONS[code]}
    return found


def request_body(query: type[RequestFields], form: type[RequestFields]) -> dict[str, Any]:
    """The request body of an endpoint: JSON with exactly one of its sources, or a form with a picture."""
    as_json, as_form = _schema(query), _schema(form)
    as_json.pop("required", None)
    as_json["oneOf"] = [{"required": [name]} for name in query.sources]
    picture = {"type": "string", "format": "binary", "description": "A picture file."}
    as_form["properties"] = {"image": picture} | as_form.get("properties", {})
    as_form["required"] = ["image"]
    content = {"application/json": {"schema": as_json}, "multipart/form-data": {"schema": as_form}}
    return {"requestBody": {"required": True, "content": content}}


def _schema(fields: type[RequestFields]) -> dict[str, Any]:
    """The schema of the fields, which are optional but never null."""
    schema = fields.model_json_schema()
    for name, field in schema.get("properties", {}).items():
        options = [option for option in field.get("anyOf", ()) if option != {"type": "null"}]
        if len(options) == 1:
            schema["properties"][name] = options[0]
    return schema
