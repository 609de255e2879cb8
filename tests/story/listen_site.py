"""A site whose portald strangers reach: certificates, clients of TLS, and listening sockets that are handed over as systemd does it."""
import contextlib
import http.client
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import time

from api_site import Answer, Site
from story import BIN, run, wait_for

PASSWORD = "correct horse battery"
CACHE = pathlib.Path(os.environ.get("HAAS_CACHE") or pathlib.Path.home() / ".cache/haas") / "ca"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answer_of(connection, method, path, body=None, headers=None):
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


class ListenSite(Site):
    """`handed`: names of sockets that stay open while portald is started anew."""
    wrapper = ()  # a program that becomes portald

    def __init__(self, handed=(), rates="handshakes = 100000; handshakes_per_address = 100000;"):
        super().__init__()
        self.port, self.edge, self.rates = free_port(), str(self.dir / "edge.sock"), rates
        self.ca, self.certificate, self.key = self.dir / "ca", self.dir / "c1.crt", self.dir / "c1.key"
        self.own_ca()
        self.context = ssl.create_default_context(cafile=self.ca / "ca.crt")
        self.handed = {name: self.open(name) for name in handed}

    def own_ca(self):
        """A CA and its first certificate, copied from those that this haasctl made within the last hours: keys are dear to make."""
        made = (BIN / "haasctl").stat()
        kept = CACHE / f"{made.st_mtime_ns}-{made.st_size}-{int(time.time()) // 36000}"
        if not kept.exists():
            run(BIN / "haasctl", "ca", "create", self.ca, "--site", "north")
            self.issue()
            self.keep_ca(kept)
            return
        shutil.copytree(kept, self.dir, dirs_exist_ok=True)

    def keep_ca(self, kept):
        """Made beside and renamed: two first stories at once do no harm."""
        CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in CACHE.iterdir():
            if old.stat().st_mtime < time.time() - 86400:
                shutil.rmtree(old, ignore_errors=True)
        beside = CACHE / f"{kept.name}.{os.getpid()}"
        beside.mkdir()
        shutil.copytree(self.ca, beside / "ca")
        for name in (self.certificate.name, self.key.name):
            shutil.copy2(self.dir / name, beside)
        with contextlib.suppress(OSError):
            beside.rename(kept)
        shutil.rmtree(beside, ignore_errors=True)

    def issue(self, *words):
        run(BIN / "haasctl", "ca", "issue", "c1", "--ca", self.ca, "--role", "controller", "--address", "127.0.0.1", "--out", self.dir, *words)

    def open(self, name):
        if name == "tls":
            ret = socket.create_server(("127.0.0.1", self.port), backlog=1024)
        else:
            ret = socket.socket(socket.AF_UNIX)
            ret.bind({"local": self.socket, "edge": self.edge}[name])
            os.chmod(ret.getsockname(), 0o666)
            ret.listen(1024)
        return ret

    def conf(self, **changes):
        tls = changes.pop("tls", True)
        path = super().conf(**changes)
        more = f'tls: {{ address = "127.0.0.1"; port = {self.port}; certificate = "{self.certificate}"; key = "{self.key}"; }};' if tls else ""
        with open(path, "a") as conf:
            conf.write(f'listen: {{ edge = "{self.edge}"; {self.rates} {more} }};\n')
        return path

    def spawn(self, **changes):
        """portald, with the sockets from descriptor 3 on."""
        conf = self.conf(**changes)
        numbers = [sock.fileno() for sock in self.handed.values()]
        # Moved out of the way first: the target of one may be another.
        moves = "".join(f"exec {50 + i}<&{fd}; " for i, fd in enumerate(numbers)) + "".join(f"exec {3 + i}<&{50 + i}; " for i in range(len(numbers)))
        give = f"export LISTEN_PID=$$ LISTEN_FDS={len(numbers)} LISTEN_FDNAMES={':'.join(self.handed)}; " if numbers else ""
        self.portald = subprocess.Popen(["bash", "-c", f'{moves}{give}exec "$0" "$@"', *self.wrapper, BIN / "portald", "--config", conf, "--log-level", "debug"],
                                        stderr=self.log, stdout=self.log, pass_fds=numbers)

    def start(self, **changes):
        self.spawn(**changes)
        wait_for("portald is ready", self.ready)

    def hang_up(self, text):
        """SIGHUP, until the log says `text` once more."""
        before = self.log_text().count(text)
        self.portald.send_signal(signal.SIGHUP)
        wait_for(f"the log says {text}", lambda: self.log_text().count(text) > before, seconds=20)  # sooner than portald looks by itself

    # --- clients
    def secure(self, address="127.0.0.1", timeout=30, **more):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.context, source_address=(address, 0), **more)

    def far(self, method, path, body=None, headers=None, address="127.0.0.1"):
        return answer_of(self.secure(address), method, path, body, headers)

    def raw_tls(self, data, timeout=20):
        """All that comes for these bytes, until the other end closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as plain, self.context.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
            sock.sendall(data)
            return read_all(sock)

    def person(self, name, role="operator", **more):
        """The header of a session that was made on the local socket."""
        link = self.post("/api/v1/accounts", {"name": name, "role": role, **more}).json["link"]
        account = self.post("/api/v1/links/use", {"link": link, "password": PASSWORD}).json["account"]
        return {"Authorization": "Bearer " + self.post("/api/v1/login", {"account": account, "password": PASSWORD}).json["secret"]}


def read_all(sock):
    data = b""
    try:
        while piece := sock.recv(65536):
            data += piece
    except (ConnectionResetError, ssl.SSLError):
        pass
    return data
