"""Checks values against JSON Schemas (2020-12), as far as the descriptions of our APIs use them.

A keyword that is not known here is an error: what is not checked must not look as if it were.
"""

import datetime
import re

ANNOTATIONS = {"description", "default", "title"}
KINDS = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


class SchemaError(Exception):
    """The schema itself is wrong, not the value."""


def resolve(root, reference):
    """What "#/a/b" stands for in the document `root`."""
    if not reference.startswith("#/"):
        raise SchemaError(f"{reference} is not of this document")
    found = root
    for step in reference[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or step not in found:
            raise SchemaError(f"{reference} leads nowhere")
        found = found[step]
    return found


def violations(root, schema, value, where="$"):
    """What is wrong with `value`, one sentence each; `root` is the document of the schema."""
    for keyword, argument in schema.items():
        if keyword in ANNOTATIONS:
            continue
        if keyword not in CHECKS:
            raise SchemaError(f"{where}: the keyword {keyword} is not known")
        yield from CHECKS[keyword](root, schema, argument, value, where)


def is_valid(root, schema, value):
    return not list(violations(root, schema, value))


def unless(good, where, what):
    if not good:
        yield f"{where}: {what}"


def equal_values(a, b):
    """As JSON has it: true is not 1."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def check_ref(root, _, argument, value, where):
    yield from violations(root, resolve(root, argument), value, where)


def check_type(_root, _schema, argument, value, where):
    kinds = argument if isinstance(argument, list) else [argument]
    for kind in kinds:
        if kind not in KINDS:
            raise SchemaError(f"{where}: {kind} is no type")
    yield from unless(any(KINDS[kind](value) for kind in kinds), where,
                      f"{value!r:.80} is not {' or '.join(kinds)}")


def check_properties(root, _, argument, value, where):
    if isinstance(value, dict):
        for name, schema in argument.items():
            if name in value:
                yield from violations(root, schema, value[name], f"{where}.{name}")


def check_required(_root, _schema, argument, value, where):
    if isinstance(value, dict):
        for name in argument:
            yield from unless(name in value, where, f"{name} is missing")


def check_additional(_root, schema, argument, value, where):
    if argument is not False:
        raise SchemaError(f"{where}: additionalProperties other than false is not known")
    if isinstance(value, dict):
        for name in value:
            yield from unless(name in schema.get("properties", {}), where, f"{name} is not listed")


def check_items(root, _, argument, value, where):
    if isinstance(value, list):
        for i, element in enumerate(value):
            yield from violations(root, argument, element, f"{where}[{i}]")


def check_one_of(root, _, argument, value, where):
    matching = [schema for schema in argument if is_valid(root, schema, value)]
    yield from unless(len(matching) == 1, where, f"{len(matching)} alternatives fit {value!r:.200}")


def check_format(_root, _schema, argument, value, where):
    if argument != "date-time":
        raise SchemaError(f"{where}: the format {argument} is not known")
    if not isinstance(value, str):
        return
    try:
        datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError as error:
        yield f"{where}: {error}"


def of_kind(kind, good):
    """A check of values of one kind; others pass."""
    def check(_root, _schema, argument, value, where):
        if KINDS[kind](value):
            yield from unless(good(argument, value), where, f"{value!r:.80} against {argument!r}")
    return check


CHECKS = {
    "$ref": check_ref,
    "additionalProperties": check_additional,
    "const": lambda _root, _schema, a, v, where: unless(equal_values(a, v), where, f"not {a!r}"),
    "enum": lambda _root, _schema, a, v, where: unless(
        any(equal_values(each, v) for each in a), where, f"{v!r:.80} is none of {a}"),
    "format": check_format,
    "items": check_items,
    "maxItems": of_kind("array", lambda most, v: len(v) <= most),
    "maxLength": of_kind("string", lambda most, v: len(v) <= most),
    "maximum": of_kind("number", lambda most, v: v <= most),
    "minLength": of_kind("string", lambda least, v: len(v) >= least),
    "minProperties": of_kind("object", lambda least, v: len(v) >= least),
    "minimum": of_kind("number", lambda least, v: v >= least),
    "oneOf": check_one_of,
    "pattern": of_kind("string", lambda pattern, v: re.search(pattern, v) is not None),
    "properties": check_properties,
    "required": check_required,
    "type": check_type,
}


def wrong_values(root, schema):
    """(why, value) that violate the schema, each in one way, made from the schema itself."""
    while "$ref" in schema:
        schema = {**resolve(root, schema["$ref"]), **{k: v for k, v in schema.items()
                                                     if k != "$ref"}}
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds:
        yield "of another type", "7" if {"integer", "number"} & set(kinds) else 7
    if "minimum" in schema:
        yield "too small", schema["minimum"] - 1
    if "maximum" in schema:
        yield "too large", schema["maximum"] + 1
        if "number" not in kinds:
            yield "no integer", schema["maximum"] - 0.5
    if "maxLength" in schema:
        yield "too long", "x" * (schema["maxLength"] + 1)
    if "object" in kinds:
        yield from wrong_objects(root, schema)
    if "array" in kinds:
        yield from ((f"an element {why}", [value]) for why, value
                    in wrong_values(root, schema["items"]))


def wrong_objects(root, schema):
    properties = schema["properties"]
    required = {name: right_value(root, properties[name]) for name in schema.get("required", [])}
    for name in required:
        yield f"{name} missing", {k: v for k, v in required.items() if k != name}
    yield "one member too many", {**required, "no-such-member": 1}
    for name, inner in properties.items():
        for why, value in wrong_values(root, inner):
            yield f"{name} {why}", {**required, name: value}


def right_value(root, schema):
    """Some value that fits, for members that have to be there."""
    while "$ref" in schema:
        schema = resolve(root, schema["$ref"])
    kind = schema.get("type", "string")
    return {"string": "x", "integer": schema.get("minimum", 0), "array": []}[kind]
