"""What `openapi.json` says of requests that come in two forms."""

from typing import Any

from drlh.core.codes import bytes_per_code
from drlh.serve.inputs import Settings
from drlh.serve.model import Model


def body(query: type[Settings], form: type[Settings]) -> dict[str, Any]:
    """The request body of an endpoint: JSON with exactly one of its sources, or a form with a picture."""
    as_json, as_form = _schema(query), _schema(form)
    as_json.pop("required", None)
    as_json["oneOf"] = [{"required": [name]} for name in query.sources]
    picture = {"type": "string", "format": "binary", "description": "A picture file."}
    as_form["properties"] = {"image": picture} | as_form.get("properties", {})
    as_form["required"] = ["image"]
    content = {"application/json": {"schema": as_json}, "multipart/form-data": {"schema": as_form}}
    return {"requestBody": {"required": True, "content": content}}


def _schema(settings: type[Settings]) -> dict[str, Any]:
    """The schema of the fields, of which each is left out rather than null."""
    schema = settings.model_json_schema()
    for name, field in schema.get("properties", {}).items():
        options = [option for option in field.get("anyOf", ()) if option != {"type": "null"}]
        if len(options) == 1:
            schema["properties"][name] = options[0]
    return schema


def fit_to(schema: dict[str, Any], model: Model) -> dict[str, Any]:
    """`schema` with the lengths that this very model takes."""
    for verbs in schema["paths"].values():
        for operation in verbs.values():
            content = operation.get("requestBody", {}).get("content", {})
            for name, field in content.get("application/json", {}).get("schema", {}).get("properties", {}).items():
                if name == "features":
                    field |= {"minItems": model.n_features, "maxItems": model.n_features}
                elif name == "code":
                    field |= dict.fromkeys(("minLength", "maxLength"), 2 * bytes_per_code(model.n_bits))
    return schema
