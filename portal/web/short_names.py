#!/usr/bin/env python3
"""Members of xterm that nothing else knows, as a pattern for esbuild's --mangle-props: short_names.py NODE_MODULES SRC. They get short names, and the page is 4 kB smaller.

A name is left as it is where it may be asked for by its text: it stands in a string of xterm, in xterm's own typings, in a library that is bundled, in our sources, or in what a browser has."""
import pathlib
import re
import sys

WORD = re.compile(r"[A-Za-z_$][\w$]*")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`(?:[^`\\]|\\.)*`')
SHORT = 5  # what is shorter is hardly worth it

modules, src = map(pathlib.Path, sys.argv[1:])
xterm = (modules / "@xterm/xterm/lib/xterm.js").read_text()
bundled = [path for name in ("preact", "@preact", "uplot", "d3-sankey", "d3-hierarchy", "d3-shape", "d3-array", "d3-path", "internmap") for kind in ("js", "mjs") for path in (modules / name).rglob(f"*.{kind}")]
known = {word for path in (modules / "@xterm/xterm/typings/xterm.d.ts", *bundled, *(modules / "typescript/lib").glob("lib.*.d.ts"), *src.rglob("*.ts*")) for word in WORD.findall(path.read_text())}
known |= {word for text in STRING.findall(xterm) for word in WORD.findall(text)}
members = {name for name in re.findall(r"\.([A-Za-z$][\w$]*)", xterm) if len(name) >= SHORT}
print("^(_[^_].*|" + "|".join(sorted(members - known)).replace("$", r"\$") + ")$")
