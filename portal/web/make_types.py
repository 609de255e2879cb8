#!/usr/bin/env python3
"""Makes TypeScript of openapi.yaml: make_types.py OPENAPI.yaml OUT.ts

Each schema becomes a type of its name. `Reads` says what GET answers at a path, `Writes` what "POST /path" takes and answers. A page that asks for a path
that is not there, or for a member that no answer has, is refused by tsc (tests/lint/page).
"""
import pathlib
import re
import sys

import yaml

METHODS = ("post", "put", "patch", "delete")
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def name_of(ref):
    return ref.rsplit("/", 1)[1]


def key(name):
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else f'"{name}"'


def word(value):
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int) else '"%s"' % value


def object_of(schema, depth):
    properties, required = schema.get("properties", {}), set(schema.get("required", ()))
    if not properties:
        more = schema.get("additionalProperties")
        return f"Record<string, {type_of(more, depth) if isinstance(more, dict) else 'unknown'}>"
    pad = "  " * (depth + 1)
    lines = [f"{pad}{key(name)}{'' if name in required else '?'}: {type_of(member, depth + 1)};" for name, member in properties.items()]
    return "{\n" + "\n".join(lines) + "\n" + "  " * depth + "}"


def type_of(schema, depth=0):
    """The type of a schema; what has none may be anything."""
    if "$ref" in schema:
        return name_of(schema["$ref"])
    if "const" in schema:
        return word(schema["const"])
    if "enum" in schema:
        return " | ".join(word(value) for value in schema["enum"])
    for many in ("oneOf", "anyOf"):
        if many in schema:
            return " | ".join(type_of(one, depth) for one in schema[many])
    if "allOf" in schema:
        return " & ".join(f"({type_of(one, depth)})" for one in schema["allOf"])
    kinds = schema.get("type", "object" if "properties" in schema else None)
    made = []
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind == "object":
            made.append(object_of(schema, depth))
        elif kind == "array":
            made.append(f"Array<{type_of(schema.get('items', {}), depth)}>")
        else:
            made.append(PLAIN.get(kind, "unknown"))
    return " | ".join(made)


def content_of(part):
    for kind, media in (part or {}).get("content", {}).items():
        if kind.endswith("json"):
            return type_of(media["schema"], 1)
    return "undefined"


def answer_of(document, operation):
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            return content_of(document["components"]["responses"][name_of(answer["$ref"])] if "$ref" in answer else answer)
    return "undefined"


def main(source, out):
    document = yaml.safe_load(pathlib.Path(source).read_text())
    lines = ["// Made of openapi.yaml by portal/web/make_types.py."]
    lines += [f"export type {name} = {type_of(schema)};" for name, schema in document["components"]["schemas"].items()]
    reads, writes = [], []
    for path, item in document["paths"].items():
        if "get" in item:
            reads.append(f'  "{path}": {answer_of(document, item["get"])};')
        for method in METHODS:
            if method in item:
                body = content_of(item[method].get("requestBody"))
                writes.append(f'  "{method.upper()} {path}": {{body: {body}; answer: {answer_of(document, item[method])}}};')
    lines += ["export interface Reads {", *reads, "}", "export interface Writes {", *writes, "}", ""]
    pathlib.Path(out).write_text("\n".join(lines))


main(*sys.argv[1:])
