"""The helpers of all stories in Python: where programs are, how to run them, how to wait, how to say what was checked.

A story stops at its first `need` that fails. Before it stops, it prints the evidence of every `on_failure` function.
"""
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HAAS_BUILD", ROOT / "build/dev")).resolve()
BIN = Path(os.environ.get("HAAS_BIN", BUILD / "bin")).resolve()
started = time.monotonic()
checks = 0  # how many `need` were asked
evidence = []


def skip(missing):
    print(missing)
    sys.exit(77)


def programs(*names, root=""):
    """Skips unless these programs are built, and unless we are root where `root` says why root is needed."""
    for name in names:
        if not (BIN / name).exists():
            skip(f"{BIN / name} is not built")
    if root and os.geteuid() != 0:
        skip(f"root is needed for {root}")


def run(*words, check=True, **more):
    """Runs a program to its end; gives stdout, stderr and returncode. A status other than 0 raises, with both outputs."""
    done = subprocess.run([str(word) for word in words], text=True, **({"capture_output": True} | more))
    if check and done.returncode:
        raise AssertionError(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{(done.stdout or '')[-3000:]}{(done.stderr or '')[-3000:]}")
    return done


def step(text):
    print(f"{time.monotonic() - started:6.1f} {text}", flush=True)


def finished(name):
    print(f"{name} ok checks={checks} seconds={time.monotonic() - started:.0f}")


def passed(text):
    print(f"ok: {text}", flush=True)


def on_failure(function):
    """`function` prints what explains a failure (logs, rows). Usable as a decorator."""
    evidence.append(function)
    return function


class Failed(AssertionError):
    pass


def need(condition, what):
    global checks
    checks += 1
    if not condition:
        while evidence:  # a function whose own `need` fails is not called again
            evidence.pop()()
        raise Failed(f"FAILED: {what}")


def check(condition, text):
    need(condition, text)
    passed(text)


def wait_for(what, condition, seconds=60.0, every=0.05):
    """The first true answer of `condition`. A connection that is refused (OSError) is no answer yet."""
    end = time.monotonic() + seconds
    while True:
        try:
            if answer := condition():
                return answer
        except OSError:
            pass
        if time.monotonic() > end:
            need(False, f"{what} (waited {seconds} s)")
        time.sleep(every)


def stays(what, condition, seconds, every=0.1):
    """`condition` holds all the time. `seconds` is a period of the product and a little more, no guess."""
    end = time.monotonic() + seconds
    while True:
        need(condition(), what)
        if time.monotonic() > end:
            return
        time.sleep(every)


def pg(verb, folder):
    """`start` gives the conninfo of a private PostgreSQL in `folder`."""
    said = run(ROOT / "tests/support/pg", verb, folder, env={**os.environ, "LC_ALL": "C"}).stdout.split("\n")
    return said[-2] if verb == "start" else None


def psql(conninfo, text):
    """The rows that `text` gives; its statements are one transaction."""
    return run("psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-c", f"set search_path = haas; {text}").stdout.strip()


def metric(path, name):
    """A number of a daemon that serves /metrics on the Unix socket `path`."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        data = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    found = re.search(rf"^{re.escape(name)} (\d+)$", data, re.M)
    need(found, f"metric {name}")
    return int(found.group(1))


def log_end(path, lines=25):
    """The part of a log that explains a failure: the report of a sanitizer, or else the last lines."""
    path = Path(path)
    text = path.read_text(errors="replace") if path.exists() else ""
    crash = text.find("ERROR: AddressSanitizer")
    return f"-- {path.name}\n" + (text[crash:][:4000] if crash >= 0 else "\n".join(text.splitlines()[-lines:]))
