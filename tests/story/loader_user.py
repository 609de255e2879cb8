"""A user's Python with the loader alone: Debian's python3, trainer_image/loader/python/haasload.py and libhaasload.so.1 as built. Not a story itself."""
import os
import subprocess
import tempfile

from story import BUILD, ROOT, run, skip

PYTHON = "/usr/bin/python3"
LIBRARY = BUILD / "lib/libhaasload.so.1"


def needs_modules(*names):
    """Skips by name what is not there."""
    if not LIBRARY.exists():
        skip(f"{LIBRARY} is not built")
    for name in names:
        if run(PYTHON, "-c", f"import {name}", check=False).returncode:
            skip(f"missing: python3-{name}")


def user(program, *arguments, **variables):
    """Runs the text of a program; gives its status, stdout and stderr."""
    environment = dict(os.environ, HAASLOAD_LIBRARY=str(LIBRARY), PYTHONPATH=str(ROOT / "trainer_image/loader/python"), PYTHONDONTWRITEBYTECODE="1",
                       ASAN_OPTIONS="detect_leaks=0") | variables
    needs = run("ldd", LIBRARY).stdout
    if "libasan" in needs:  # the interpreter is without it: it must come first
        environment["LD_PRELOAD"] = " ".join(line.split()[2] for line in needs.split("\n") if "libasan" in line or "libubsan" in line)
    with tempfile.NamedTemporaryFile("w", suffix=".py", prefix="user-") as file:
        file.write(program)
        file.flush()
        return subprocess.run([PYTHON, file.name, *map(str, arguments)], env=environment, text=True, capture_output=True)
