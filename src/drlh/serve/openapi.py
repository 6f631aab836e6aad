"""What `openapi.json` says of requests that come in two forms."""

from typing import Any

from drlh.serve.inputs import Settings


def body(query: type[Settings], form: type[Settings]) -> dict[str, Any]:
    """The request body of an endpoint: JSON with exactly one of its sources, or a form with a picture."""
    as_json = query.model_json_schema()
    as_json["oneOf"] = [{"required": [name]} for name in query.sources]
    as_form = form.model_json_schema()
    picture = {"type": "string", "format": "binary", "description": "A picture file."}
    as_form["properties"] = {"image": picture} | as_form.get("properties", {})
    as_form["required"] = ["image"]
    content = {"application/json": {"schema": as_json}, "multipart/form-data": {"schema": as_form}}
    return {"requestBody": {"required": True, "content": content}}
