"""A scratch site for the tests of haasctl: portald and its database (api_site), haasctl as a child, on a terminal or behind a pipe."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import threading
import time

from api_site import Site
from story import BUILD, skip

HAASCTL = BUILD / "bin/haasctl"
PASSWORD = "Secret-17-of-a-BMC"  # must never come out again

TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?")


def masked(text):
    """Times as T, so that texts can be compared."""
    return TIME.sub(lambda m: "T" * 20 if " " in m.group() else "T", text)


# The commands that only tell what is. All others change something, and say so in a line of stdout (user 29).
READS = {noun: set(verbs.split()) for noun, verbs in {
    "status": "", "drill": "", "usage": "list", "event": "list watch", "job": "list show wait", "certificate": "list show verify keys", "audit": "head export verify", "link": "list", "nic": "list locate",
    "node": "list show describe sensors sel fru users lan console inventory drives trace health networks series", "health": "list", "deployment": "list show watch", "pdci": "classes list show watch describe",
    "volume": "list show login", "archive": "list show", "storage": "list", "network": "list show path", "image": "list show keys", "grant": "list", "package": "list show", "subnet": "list show",
    "reservation": "list", "lease": "list", "tenant": "list show", "fabric": "list show", "alert": "list show silences", "wiring": "list", "port": "list load", "circuit": "unknown list families",
    "switch": "list show ports aggregates health read diff describe topology", "sampling": "show agents export", "case": "list show report", "capture": "list show watch download grants points", "ca": "show", "rotation": "list keys", "account": "list show", "session": "list", "token": "list", "context": "list", "setting": "list", "webhook": "list show deliveries", "db": "status serve", "site": "check report"}.items()}


def changing():
    """(noun, verb) of every command of the table that changes something."""
    fish = subprocess.run([HAASCTL, "completion", "fish"], capture_output=True, text=True, check=True).stdout
    pairs = re.findall(r"(?m)^complete -c haasctl -n '__fish_seen_subcommand_from (\S+)' -f -a (\S+)", fish)
    return {(noun, verb) for noun, verb in pairs if verb not in READS.get(noun, ())}


class Result:
    def __init__(self, words, status, out, err):
        self.words, self.status, self.out, self.err = words, status, out, err

    def __repr__(self):
        return f"haasctl {' '.join(self.words)}: status {self.status}\n--- stdout\n{self.out}--- stderr\n{self.err}"


class Child:
    """haasctl while it runs: lines of its stdout as they come."""

    def __init__(self, site, words, env):
        self.words = words
        self.process = subprocess.Popen([HAASCTL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                        env=env)
        self.lines = []
        self.arrived = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.arrived:
                self.lines.append(line.rstrip("\n"))
                self.arrived.notify_all()

    def until(self, pattern, seconds=60):
        """The first line that matches; how long it took."""
        start = time.monotonic()
        with self.arrived:
            while True:
                for line in self.lines:
                    if re.search(pattern, line):
                        return line, time.monotonic() - start
                left = seconds - (time.monotonic() - start)
                if left <= 0 or not self.arrived.wait(left):
                    raise AssertionError(f"no line {pattern!r} within {seconds} s; there are {self.lines}")

    def end(self, status=None, how=None, seconds=60):
        if how:
            self.process.send_signal(how)
        got = self.process.wait(seconds)
        self.reader.join(seconds)
        err = self.process.stderr.read()
        result = Result(self.words, got, "".join(line + "\n" for line in self.lines), err)
        assert status is None or got == status, f"not {status}: {result!r}"
        assert "Sanitizer" not in err, repr(result)
        return result


class CliSite(Site):
    plays_bampid = True  # the story itself does, so it is heard; False: there is a real one

    def __init__(self):
        super().__init__()
        if not HAASCTL.exists():
            skip(f"{HAASCTL} is not built")
        self.said = []  # everything that haasctl ever printed
        self.changing = changing()
        self.changed = set()  # of these, what was done here

    def start(self, **changes):
        super().start(**changes)
        if self.plays_bampid:
            self.sql("insert into daemon (name, instance, version, started_at, seen_at) values ('bampid', 'story', '0', now(), 'infinity') on conflict do nothing")

    def env(self, **changes):
        # LC_ALL and TERM as a test must not depend on them; leaks are errors in a sanitized build
        keep = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "HAAS_SOCKET", "HAAS_CONTEXT", "HAAS_TOKEN_FILE", "TERM", "HAAS_DATABASE")}
        return {**keep, "HAAS_SOCKET": self.socket, "XDG_CONFIG_HOME": f"{self.dir}/config", "TERM": "xterm", "ASAN_OPTIONS": "detect_leaks=1", **changes}

    def ctl(self, *words, status=0, env=None, stdin=None, prefix=(), seconds=60):
        done = subprocess.run([*prefix, HAASCTL, *words], env=self.env(**(env or {})), input=stdin, capture_output=True, text=True,
                              timeout=seconds, stdin=subprocess.DEVNULL if stdin is None else None)
        result = Result(words, done.returncode, done.stdout, done.stderr)
        self.said += [done.stdout, done.stderr]
        assert done.returncode == status, f"not {status}: {result!r}"
        assert "Sanitizer" not in done.stderr, repr(result)
        if status == 0 and words[:2] in self.changing and not {"-o", "--output", "-h", "--help"} & set(words):
            assert done.stdout.strip(), f"it does not say what it has done (user 29): {result!r}"
            self.changed.add(words[:2])
        return result

    def out(self, *words, **options):
        return self.ctl(*words, **options).out

    def refuse(self, status, text, *words, **options):
        """A refusal: its exit status, nothing on stdout, `text` on stderr."""
        result = self.ctl(*words, status=status, **options)
        assert result.out == "" and text in result.err, repr(result)
        return result

    def child(self, *words, **env):
        return Child(self, words, self.env(**env))

    def on_terminal(self, *words, keys=(), env=None, prefix=(), rows=24, columns=80, seconds=60):
        """haasctl on a terminal of its own: (status, all bytes). `keys`: [(text to wait for, bytes to type or a function)]."""
        pid, fd = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))  # before anybody may ask for it
            os.execvpe((*prefix, HAASCTL)[0], [*prefix, HAASCTL, *words], self.env(**(env or {})))
        seen, keys, end = b"", list(keys), time.monotonic() + seconds
        while time.monotonic() < end:
            if keys and keys[0][0].encode() in seen:
                what = keys.pop(0)[1]
                if callable(what):
                    what()
                else:
                    os.write(fd, what)
            if not select.select([fd], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        else:
            os.kill(pid, 9)
            raise AssertionError(f"haasctl {words} is still there after {seconds} s: {seen!r}")
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(fd)
        self.said.append(seen.decode(errors="replace"))
        assert b"Sanitizer" not in seen, f"haasctl {words}: {seen!r}"
        return status, seen.decode(errors="replace")

    def sheet(self, count, first=1, extra=""):
        path = self.dir / f"nodes-{first}-{count}.csv"
        rows = ["name,class,rack,unit,nic,mac,bmc_driver,bmc_address,bmc_username,bmc_password"]
        for i in range(first, first + count):
            rows.append(f"n{i},gpu8,r07,{i},eth0,52:54:00:00:00:{i:02x},sim,10.1.0.{i},admin,{PASSWORD}")
        path.write_text("\n".join(rows) + "\n" + extra)
        return str(path)

    def nodes(self, count):
        """n1..nCOUNT, free."""
        self.box_pair()
        self.ctl("node", "import", self.sheet(count))
        self.ctl("node", "accept", *[f"n{i}" for i in range(1, count + 1)])

    def image_row(self, name="demo", version="1.0"):
        """An image that is ready, without its bytes."""
        return self.sql(f"""insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition,
            firmware, state, received_bytes, public) values ('{name}', '{version}', '{{}}', decode(repeat('00', 64), 'hex'), '0000000000000000', md5('{name}{version}') || md5('a'),
            md5('{name}{version}') || md5('b'), 1 << 20, 1000, 2, '{{bios,uefi}}', 'ready', 1000, true) returning id""")

    def keeps_secrets(self):
        """No BMC password in anything that haasctl said, in the log of portald, or in a reading of the API."""
        everything = "".join(self.said) + self.log_text() + self.get("/api/v1/nodes").body.decode()
        assert PASSWORD not in everything, "a BMC password came out"


def same(got, want, what=""):
    assert got == want, f"{what}\n--- got\n{got}\n--- want\n{want}"
