#!/usr/bin/env python3
"""Makes C of a file of statements: statements.py ROOT FILE.sql OUT.h OUT.c; of several: statements.py ROOT --json FILE.sql ...

X.sql holds the statements of one store (common/db/README.md, "Statements"). Its marks stand in comments:

    -- :use FOLDER/Y.sql            parts and rows of that file may be used here
    -- :part NAME ARGUMENT, ...     text for ${NAME value ;; ...}; inside it, ${ARGUMENT} is the value
    -- :row NAME                    columns that several statements answer with
    -- :statement NAME              a statement; C sees it as NAME_query
    -- :columns A, B                its columns, also one a line with a description; or `= NAME`: those of that row. None: C reads no column
    -- :list TYPE                   it is ${store_page ..}: a list whose rows people filter and order; TYPE is that of its key. Its columns follow:
    --   NAME  KIND FLAG ..  SQL    two blanks or more between the three; KIND and FLAG are those of portal/server/list.h, SQL goes on in deeper lines

C gets one `const struct db_query NAME_query` a statement, and `enum NAME_column` with NAME_A, NAME_B: a column that is not there does not
compile. db.c holds the names against what PostgreSQL answers. A list is `const struct list NAME_table` besides.
"""
import json
import pathlib
import re
import sys

MARK = re.compile(r"-- :(\w+) *(.*)")
NAME = re.compile(r"[a-z][a-z0-9_]*")


class Wrong(Exception):
    pass


class Item:
    def __init__(self, kind, name, at, arguments=()):
        self.kind, self.name, self.at, self.arguments = kind, name, at, list(arguments)
        self.lines, self.columns, self.row, self.used = [], [], None, kind != "part"
        self.key_type, self.listed = None, []


def column_names(text):
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if not NAME.fullmatch(name):
            raise Wrong(f"'{name}' is no name of a column")
    return names


def described_columns(lines, at):
    """The lines `--   name   description` from `at` on; (names, the first line behind them)."""
    names = []
    while at < len(lines) and (match := re.match(r"-- {3}([a-z][a-z0-9_]*)(?:  |$)", lines[at])):
        names.append(match[1])
        at += 1
        while at < len(lines) and re.match(r"-- {6,}\S", lines[at]):
            at += 1
    return names, at


LIST_KINDS = ("text", "natural", "number", "time", "bool")
LIST_FLAGS = ("site", "unsorted", "unsearched")


def listed_columns(lines, at):
    """The lines `--   NAME  KIND FLAG ..  SQL` from `at` on; ([(name, kind, flags, sql)], the first line behind them)."""
    found = []
    while at < len(lines) and (match := re.match(r"-- {3}([a-z][a-z0-9_]*) {2,}([a-z ]+?) {2,}(\S.*)", lines[at])):
        name, (kind, *flags), sql = match[1], match[2].split(), match[3]
        at += 1
        while at < len(lines) and (more := re.match(r"-- {6,}(\S.*)", lines[at])):
            sql, at = f"{sql} {more[1]}", at + 1
        if kind not in LIST_KINDS or set(flags) - set(LIST_FLAGS):
            raise Wrong(f"column {name}: '{match[2]}' is no kind with flags")
        found.append((name, kind, flags, sql))
    if not found:
        raise Wrong("a list without columns")
    return found, at


def read_items(path):
    """(files that it uses, items)"""
    uses, items, item, at = [], [], None, 0
    lines = path.read_text().split("\n")
    while at < len(lines):
        line, at = lines[at], at + 1
        match = MARK.fullmatch(line)
        if not match:
            if item and not line.startswith("--"):
                item.lines.append(line)
            continue
        mark, rest = match.groups()
        try:
            if mark == "use":
                uses.append(rest.strip())
            elif mark in ("part", "statement", "row"):
                name, _, arguments = rest.strip().partition(" ")
                if not NAME.fullmatch(name):
                    raise Wrong(f"'{name}' is no name")
                item = Item(mark, name, at, column_names(arguments))
                items.append(item)
                if mark == "row":
                    item.columns, at = described_columns(lines, at)
            elif mark == "columns" and item and item.kind == "statement":
                if rest.startswith("="):
                    item.row = rest[1:].strip()
                else:
                    item.columns = column_names(rest)
                    if not item.columns:
                        item.columns, at = described_columns(lines, at)
            elif mark == "list" and item and item.kind == "statement":
                item.key_type = rest.strip()
                item.listed, at = listed_columns(lines, at)
            else:
                raise Wrong(f"no mark '{mark}' here")
        except Wrong as wrong:
            raise Wrong(f"{path}:{at}: {wrong}") from None
    return uses, items


def call_end(text, at):
    depth = 0
    while at < len(text):
        if text.startswith("${", at):
            depth += 1
        elif text[at] == "}" and depth:
            depth -= 1
            if depth == 0:
                return at
        elif text[at] == "{" and not text.startswith("${", at - 1):
            end = text.find("}", at)
            at = end if end >= 0 else at
        at += 1
    raise Wrong("a ${ without its }")


def arguments_of(text):
    found, depth, start = [], 0, 0
    for at, byte in enumerate(text):
        depth += text.startswith("${", at)
        depth -= byte == "}" and depth > 0
        if text.startswith(";;", at) and depth == 0:
            found.append(text[start:at].strip())
            start = at + 2
    return found + [text[start:].strip()]


def expand(text, parts, values, depth=0):
    if depth > 20:
        raise Wrong("parts that use each other")
    made, at = "", 0
    while (start := text.find("${", at)) >= 0:
        end = call_end(text, start)
        name, _, rest = text[start + 2:end].partition(" ")
        made += text[at:start]
        at = end + 1
        if name in values:
            made += values[name]
            continue
        part = parts.get(name)
        if not part:
            raise Wrong(f"no part '{name}'")
        part.used = True
        given = [expand(value, parts, values, depth + 1) for value in arguments_of(rest)] if part.arguments else []
        if len(given) != len(part.arguments):
            raise Wrong(f"part '{name}' takes {len(part.arguments)} arguments, {len(given)} given")
        made += expand("\n".join(part.lines).strip(), parts, dict(zip(part.arguments, given)), depth + 1)
    return made + text[at:]


def expand_list(item, parts):
    """The pieces of its ${store_page key ;; item ;; from ;; order}, and its columns."""
    text = "\n".join(item.lines).strip()
    if not text.startswith("${store_page ") or call_end(text, 0) != len(text) - 1:
        raise Wrong("a list is ${store_page ..} and nothing else")
    _, item.list_item, item.list_from, order = [expand(value, parts, {}) for value in arguments_of(text[len("${store_page "):-1])]
    if " where " not in item.list_from.replace("\n", " "):
        raise Wrong("a list has conditions: ${store_page}'s third argument ends with `where ..`")
    item.descending = order.endswith(" desc")
    item.list_order = order.removesuffix(" desc")
    item.listed = [(name, kind, flags, expand(sql, parts, {})) for name, kind, flags, sql in item.listed]


PROBES = {"text": "haas.csv_cell({})", "natural": "haas.csv_cell({})", "number": "({}) + 1.5", "time": "({}) - now()", "bool": "({}) and true"}


def list_probe(item):
    """A statement that PostgreSQL takes only when all of the list's expressions are good, and of their kind."""
    cells = "".join(f", {PROBES[kind].format(sql)} as {name}" for name, kind, _, sql in item.listed)
    return f"select {item.list_order} as list_key, {item.list_item} as list_item{cells} from {item.list_from} and $1::text is null"


def read_statements(root, path):
    """(statements with .sql, .param_count and .columns; rows of this file), in their order"""
    uses, items = read_items(path)
    parts, rows = {}, {}
    for use in uses:
        for item in read_items(root / use)[1]:
            (parts if item.kind == "part" else rows if item.kind == "row" else {})[item.name] = item
    theirs = set(parts)
    for item in items:
        if item.kind == "part" and item.name in parts:
            raise Wrong(f"{path}:{item.at}: part '{item.name}' is there already")
        (parts if item.kind == "part" else rows if item.kind == "row" else {})[item.name] = item
    statements = [item for item in items if item.kind == "statement"]
    for item in statements:
        try:
            item.sql = expand("\n".join(item.lines), parts, {}).strip()
            numbers = {int(number) for number in re.findall(r"\$(\d+)", item.sql)}
            item.param_count = max(numbers, default=0)
            if item.row:
                if item.row not in rows:
                    raise Wrong(f"no row '{item.row}'")
                item.columns = rows[item.row].columns
            if item.listed:
                expand_list(item, parts)
            if not item.sql:
                raise Wrong(f"statement '{item.name}' is empty")
        except Wrong as wrong:
            raise Wrong(f"{path}:{item.at}: {wrong}") from None
    own = [item for item in items if item.kind == "row"]
    used_elsewhere = {name for name in parts if name not in theirs}
    return statements, own, [parts[name] for name in used_elsewhere if not parts[name].used]


def c_text(text):
    lines = text.split("\n")
    quoted = [line.replace("\\", "\\\\").replace('"', '\\"') + ("\\n" if at + 1 < len(lines) else "") for at, line in enumerate(lines)]
    return "\n".join(f'\t"{line}"' for line in quoted)


def c_columns(name, columns):
    rows = "".join(f"\t{name.upper()}_{column.upper()},\n" for column in columns)
    return f"enum {name}_column {{\n{rows}}};\n"


def c_list(item):
    rows = ""
    for name, kind, flags, sql in item.listed:
        bits = " | ".join(f"LIST_{flag.upper()}" for flag in flags) or "0"
        rows += f'\t\t{{"{name}", LIST_{kind.upper()}, {bits},\n{c_text(sql)}}},\n'
    texts = "".join(f"{c_text(text)},\n" for text in (item.list_item, item.list_from, item.list_order))
    return (f'\nconst struct list {item.name}_table = {{\n\t&{item.name}_query,\n{texts}\t"{item.key_type}",\n\t{"true" if item.descending else "false"},\n'
            f"\t(const struct list_column[]){{\n{rows}\t\t{{0}},\n\t}},\n}};\n")


def c_header(source, statements, rows):
    made = f'/* Made of {source} by cmake/statements.py. */\n#pragma once\n\n#include "common/db/db.h"\n'
    if any(item.listed for item in statements):
        made += '\n#include "portal/server/list.h"\n'
    for item in rows:
        made += "\n" + c_columns(item.name, item.columns)
    for item in statements:
        made += f"\nextern const struct db_query {item.name}_query; /* {item.param_count} parameters */\n"
        if item.columns and not item.row:
            made += c_columns(item.name, item.columns)
        if item.listed:
            made += f"extern const struct list {item.name}_table;\n"
    return made


def c_source(source, header, statements):
    made = f'/* Made of {source} by cmake/statements.py. */\n#include "{header}"\n\n'
    made += "/* C promises 4095 bytes (C17 5.2.4.1), our compilers take a text of any length. */\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
    for item in statements:
        columns = "".join(f'\t\t"{column}",\n' for column in item.columns)
        made += f'\nconst struct db_query {item.name}_query = {{\n\t"{item.name}",\n{c_text(item.sql)},\n\t{item.param_count},\n'
        made += f"\t(const char *const[]){{\n{columns}\t\tNULL,\n\t}},\n}};\n" if columns else "\tNULL,\n};\n"
        if item.listed:
            made += c_list(item)
    return made


def main(arguments):
    root = pathlib.Path(arguments[0])
    if arguments[1] == "--json":
        for name in arguments[2:]:
            for item in read_statements(root, root / name)[0]:
                print(json.dumps({"file": name, "line": item.at, "name": item.name, "sql": item.sql, "params": item.param_count, "columns": item.columns}))
                if item.listed:
                    names = ["list_key", "list_item", *[column[0] for column in item.listed]]
                    print(json.dumps({"file": name, "line": item.at, "name": f"{item.name}_table", "sql": list_probe(item), "params": item.param_count,
                                      "columns": names}))
        return
    source, header, code = arguments[1:]
    statements, rows, _ = read_statements(root, root / source)
    pathlib.Path(header).write_text(c_header(source, statements, rows))
    pathlib.Path(code).write_text(c_source(source, source.removesuffix(".sql") + "_sql.h", statements))


try:
    main(sys.argv[1:])
except Wrong as wrong:
    sys.exit(f"statements.py: {wrong}")
