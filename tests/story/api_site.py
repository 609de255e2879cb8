"""A scratch site for the API tests: a private PostgreSQL, a portald on a Unix socket, and small clients of both."""
import base64
import ctypes
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from story import BIN, ROOT, skip, wait_for

PORTALD = BIN / "portald"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def type(self):
        return (self.headers.get("content-type") or "").split(";")[0]

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.type} {self.body[:400]!r}"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Stream:
    """Server-sent events, as they come: (id, data) pairs."""

    def __init__(self, site, path, headers=None, timeout=30):
        self.connection = UnixConnection(site.socket, timeout)
        self.connection.request("GET", path, headers=headers or {})
        self.answer = self.connection.getresponse()
        self.last_id = None
        self.comments = 0

    def __iter__(self):
        return self

    def __next__(self):
        data, event = None, None
        while True:
            line = self.answer.readline().decode()
            if not line:
                raise StopIteration
            line = line.rstrip("\n")
            if line.startswith("id: "):
                self.last_id = line[4:]
            elif line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: "):
                data = line[6:]
            elif line.startswith(":"):
                self.comments += 1
            elif line == "" and data is not None:
                return self.last_id, event, data

    def close(self):
        self.connection.close()


def totp(secret, step=0):
    """The code that an authenticator shows, `step` times 30 s from now: its own arithmetic, as RFC 6238 has it."""
    mac = hmac.digest(base64.b32decode(secret), struct.pack(">Q", int(time.time()) // 30 + step), "sha1")
    at = mac[-1] & 15
    return f"{(struct.unpack('>I', mac[at:at + 4])[0] & 0x7fffffff) % 10 ** 6:06}"


class Site:
    program = PORTALD
    def __init__(self):
        if not PORTALD.exists():
            skip(f"{PORTALD} is not built")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="haas-api-"))
        os.chmod(self.dir, 0o755)
        self.pg_dir = self.dir / "pg"
        self.socket = str(self.dir / "portald.sock")
        self.images = self.dir / "images"
        self.keys = self.dir / "keys"
        self.keys.mkdir()
        self.bampid = str(self.dir / "bampid.sock")
        self.log = open(self.dir / "portald.log", "wb")
        self.portald = None
        self.sodium = ctypes.CDLL("libsodium.so.23")
        self.sodium.sodium_init()

    def __enter__(self):
        self.pg("start")
        try:
            self.start()
        except BaseException:
            sys.stderr.write("--- log of portald\n" + self.log_text()[-6000:])
            self.portald.kill()
            self.pg("stop")
            raise
        return self

    def __exit__(self, kind, value, trace):
        status = self.stop()
        self.pg("stop")
        sane = "Sanitizer" not in self.log_text() and "runtime error" not in self.log_text()
        if kind is not None or status != 0 or not sane:
            sys.stderr.write("--- log of portald\n" + self.log_text()[-6000:])
        shutil.rmtree(self.dir, ignore_errors=True)
        if kind is None and (status != 0 or not sane):
            raise AssertionError(f"portald ended with {status}" if sane else "a sanitizer reports in the log of portald")

    def pg(self, verb):
        subprocess.run([ROOT / "tests/support/pg", verb, self.pg_dir], check=True, stdout=subprocess.DEVNULL)

    def pg_ctl(self, verb):
        """Stops (immediate) or starts the cluster that is there."""
        tool = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))[-1]
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        options = ["-m", "immediate"] if verb == "stop" else [
            "-l", str(self.pg_dir / "postgres.log"), "-o",
            f"-k '{self.pg_dir.resolve()}' -c listen_addresses='' -c fsync=off"]
        subprocess.run(user + [str(tool), "-D", str(self.pg_dir / "data"), "-w", "-t", "60", *options, verb], check=True,
                       stdout=subprocess.DEVNULL, cwd=self.pg_dir)

    def conf(self, **changes):
        values = {"image_dir": str(self.images), "operator_group": "haas-operators", "read_limit": 20, "read_connections": 4, "more": "", "second_factor": "none", "login": "", **changes}
        text = f'''
database = "host={self.pg_dir} dbname=haas user=portald";
user = "";
socket: {{ path = "{self.socket}"; mode = "0666"; }};
image_dir = "{values["image_dir"]}";
operator_group = "{values["operator_group"]}";
read_limit = {values["read_limit"]};
read_connections = {values["read_connections"]};
{values["more"]}
image_keys = "{self.keys}";
key_dir = "{self.dir}/portald-keys";
login: {{ second_factor = "{values["second_factor"]}"; {values["login"]} }};
bampid_socket = "{self.bampid}";
flowd_socket = "{self.dir}/flowd.sock";
'''
        path = self.dir / "portald.conf"
        path.write_text(text)
        return path

    def start(self, **changes):
        self.portald = subprocess.Popen([self.program, "--config", self.conf(**changes), "--log-level", "debug"], stderr=self.log,
                                        stdout=self.log)
        wait_for("portald is ready", self.ready)

    def ready(self):
        assert self.portald.poll() is None, f"portald ended with {self.portald.returncode}"
        return self.get("/readyz").status == 200

    def stop(self, how=signal.SIGTERM):
        if not self.portald:
            return 0
        self.portald.send_signal(how)
        status = self.portald.wait(60)
        self.portald = None
        return status

    def log_text(self):
        self.log.flush()
        return (self.dir / "portald.log").read_text(errors="replace")

    # --- HTTP
    def ask(self, method, path, body=None, headers=None, timeout=30):
        connection = UnixConnection(self.socket, timeout)
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            headers.setdefault("Content-Type", kind)
            body = json.dumps(body)
        try:
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path, headers=None):
        return self.ask("GET", path, headers=headers)

    def edit(self, method, path, body, headers=None):
        """An edit of what is there now: with the ETag that its GET says."""
        return self.ask(method, path, body, {**(headers or {}), "If-Match": self.get(path, headers).headers["etag"]})

    def post(self, path, body, headers=None):
        return self.ask("POST", path, body, headers)

    def stream(self, path="/api/v1/events/stream", headers=None, timeout=30):
        return Stream(self, path, headers, timeout)

    def ask_as(self, uid, method, path):
        """The same from another user: a process of its own, so that SO_PEERCRED differs."""
        code = ("import socket,sys;s=socket.socket(socket.AF_UNIX);s.connect(sys.argv[1]);"
                "s.sendall(f'{sys.argv[2]} {sys.argv[3]} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'.encode());"
                "f=s.makefile();print(f.readline().split()[1])")
        out = subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", sys.executable, "-c", code, self.socket,
                              method, path], check=True, capture_output=True, text=True).stdout
        return int(out)

    # --- database
    def sql(self, text, user="haas"):
        out = subprocess.run(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-h", self.pg_dir, "-U", user, "-d", "haas", "-f", "-"],
                             input="set search_path = haas; " + text, text=True, capture_output=True)
        if out.returncode != 0:
            raise AssertionError(f"{text}: {out.stderr}")
        return out.stdout.strip()

    def session(self, user="haas"):
        """psql that stays open: write statements to .stdin."""
        return subprocess.Popen(["psql", "-qXAt", "-h", self.pg_dir, "-U", user, "-d", "haas"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, bufsize=1)

    # --- keys
    def box_pair(self):
        """bampid's key pair; the public half is published as bampid does."""
        public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
        self.sodium.crypto_box_keypair(public, secret)
        self.sql("insert into daemon_key (daemon, public_key) values ('bampid', decode('%s', 'hex')) "
                 "on conflict (daemon) do update set public_key = excluded.public_key" % public.raw.hex())
        return public, secret

    def unseal(self, sealed_hex, pair):
        sealed = bytes.fromhex(sealed_hex)
        out = ctypes.create_string_buffer(max(len(sealed) - 48, 1))
        rc = self.sodium.crypto_box_seal_open(out, sealed, ctypes.c_ulonglong(len(sealed)), pair[0], pair[1])
        assert rc == 0, "the password was not sealed to bampid's key"
        return out.raw[:len(sealed) - 48].decode()

    def sign_pair(self, name):
        """A key that may sign images; the server learns of it by SIGHUP."""
        public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        self.sodium.crypto_sign_keypair(public, secret)
        (self.keys / f"{name}.pub").write_text(public.raw.hex() + "\n")
        if self.portald:
            lines = self.log_text().count("read again")
            self.portald.send_signal(signal.SIGHUP)
            wait_for("the keys are read again", lambda: self.log_text().count("read again") > lines)
        return secret

    def image(self, name, version, data, secret, **changes):
        """A body for POST /images."""
        digest = hashlib.blake2b(data, digest_size=32).hexdigest()
        manifest = {"name": name, "version": version, "arch": "x86_64", "format": "raw+zstd", "digest": digest, "size_bytes": len(data),
                    "stored_digest": digest, "stored_bytes": len(data), "root_partition": 2, "firmware": ["bios", "uefi"],
                    "created": "2026-11-21T03:10:00Z", **changes}
        text = json.dumps(manifest, indent=1)
        signature = ctypes.create_string_buffer(64)
        self.sodium.crypto_sign_detached(signature, None, text.encode(), ctypes.c_ulonglong(len(text.encode())), secret)
        return {"manifest": text, "signature": signature.raw.hex()}

    def upload(self, name, version, data, offset=0, part=1 << 20):
        answer = None
        while offset < len(data):
            answer = self.ask("PUT", f"/api/v1/images/{name}/{version}/content?offset={offset}", data[offset:offset + part],
                              {"Content-Type": "application/octet-stream"})
            if answer.status != 200:
                break
            offset += part
        return answer
