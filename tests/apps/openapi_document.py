"""Whether a document is an OpenAPI 3.1 description that holds together."""

import re

from json_schema import ANNOTATIONS, CHECKS, SchemaError, resolve

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
PLACES = {"query", "header", "path", "cookie"}


def problems(document):
    """What is wrong with it, one sentence each."""
    return list(find_problems(document))


def find_problems(document):
    if not re.fullmatch(r"3\.1\.\d+", document.get("openapi", "")):
        yield "openapi is not 3.1"
    for name in ("title", "version"):
        if not document.get("info", {}).get(name):
            yield f"info has no {name}"
    yield from references_that_lead_nowhere(document)
    operations = [(f"{method} {path}", path, operation)
                  for path, item in document["paths"].items() for method, operation in item.items()]
    for path, item in document["paths"].items():
        if not path.startswith("/"):
            yield f"{path} does not begin with a slash"
        for method in item.keys() - METHODS:
            yield f"{path}: {method} is no method"
    names = [operation.get("operationId") for _, _, operation in operations]
    for name in {name for name in names if names.count(name) > 1 or not name}:
        yield f"operationId {name} is not there exactly once"
    for where, path, operation in operations:
        yield from problems_of_operation(document, where, path, operation)
    for name, schema in document["components"]["schemas"].items():
        yield from problems_of_schema(schema, f"schemas/{name}")


def references_that_lead_nowhere(document):
    used = {f"#/components/securitySchemes/{name}"
            for wanted in document.get("security", []) for name in wanted}
    for reference in references(document):
        used.add(reference)
        try:
            resolve(document, reference)
        except SchemaError as error:
            yield str(error)
    for kind, components in document["components"].items():
        for name in components:
            if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
                yield f"{name} is no name for a component"
            if f"#/components/{kind}/{name}" not in used:
                yield f"{kind}/{name} is used by nothing"


def references(part):
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


def problems_of_operation(document, where, path, operation):
    def of(part):
        return resolve(document, part["$ref"]) if "$ref" in part else part

    declared = []
    for parameter in map(of, operation.get("parameters", [])):
        declared.append((parameter.get("in"), parameter.get("name")))
        if parameter.get("in") not in PLACES or "schema" not in parameter:
            yield f"{where}: a parameter has no place or no schema: {parameter}"
            continue
        if parameter["in"] == "path" and parameter.get("required") is not True:
            yield f"{where}: {parameter['name']} has to be required"
        yield from problems_of_schema(parameter["schema"], f"{where} {parameter['name']}")
    if len(set(declared)) != len(declared):
        yield f"{where}: a parameter is there twice"
    in_path = re.findall(r"\{(\w+)\}", path)
    if sorted(in_path) != sorted(name for place, name in declared if place == "path"):
        yield f"{where}: the path has {in_path}, described are {declared}"
    if "requestBody" in operation:
        yield from problems_of_content(operation["requestBody"].get("content"), where)
    if not operation.get("responses"):
        yield f"{where} has no answer"
    for status, answer in operation.get("responses", {}).items():
        answer = of(answer)
        if not re.fullmatch(r"[1-5]\d\d|default", status) or not answer.get("description"):
            yield f"{where}: {status} is no status, or is not described"
        for name, field in answer.get("headers", {}).items():
            yield from problems_of_schema(field["schema"], f"{where} {status} {name}")
        if "content" in answer:
            yield from problems_of_content(answer["content"], f"{where} {status}")


def problems_of_content(content, where):
    if not content:
        yield f"{where}: content without a type"
    for media_type, described in (content or {}).items():
        if not re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", media_type) or "schema" not in described:
            yield f"{where}: {media_type} is no type, or has no schema"
        else:
            yield from problems_of_schema(described["schema"], f"{where} {media_type}")


def problems_of_schema(schema, where):
    for keyword in schema.keys() - CHECKS.keys() - ANNOTATIONS:
        yield f"{where}: the keyword {keyword} is not checked by json_schema.py"
    for name in schema.get("required", []):
        if name not in schema.get("properties", {}):
            yield f"{where}: {name} is required and not described"
    if "properties" in schema and schema.get("additionalProperties") is not False:
        yield f"{where}: members that are not described would pass"
    for name, inner in schema.get("properties", {}).items():
        yield from problems_of_schema(inner, f"{where}.{name}")
    for inner in [schema[key] for key in ("items",) if key in schema] + schema.get("oneOf", []):
        yield from problems_of_schema(inner, where)
