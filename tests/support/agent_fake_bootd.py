"""What the agent's stories share: a bootd that misbehaves on request, a node made of files, an image, the key that signs tasks. Not a test."""
import ctypes
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from agent_key import SODIUM, blake, is_signed, result_statement
from story import BUILD, need

TOKEN = "0123456789abcdef0123456789abcdef"
MAC = "52:54:00:00:00:01"
MIB = 1 << 20


def gone(sock):
    """The other side has closed. Its kernel did so before the process could be waited for."""
    try:
        return sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


class TaskKey:
    """As bampid's: signs what a task is, for whom and how long (common/net/task_wire.h)."""

    def __init__(self):
        public, self.secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        SODIUM.crypto_sign_keypair(public, self.secret)
        self.public = public.raw.hex()

    def sign(self, text):
        signature = ctypes.create_string_buffer(64)
        SODIUM.crypto_sign_detached(signature, None, text.encode(), ctypes.c_ulonglong(len(text.encode())), self.secret)
        return signature.raw.hex()

    def task(self, ident, kind, params, agent, token=TOKEN, mac=MAC, life_ms=600000, **other):
        """The answer to a poll. `other` members replace what would be right."""
        now = int(time.time() * 1000)
        lines = {"task": ident, "deployment": 1, "kind": kind, "node": "n1", "mac": mac, "boot": blake(token.encode()), "agent": agent,
                 "issued": now, "expires": now + life_ms, "params": blake(params.encode()), **other}
        statement = "haas-task 1\n" + "".join(f"{name} {value}\n" for name, value in lines.items())
        return {"id": ident, "statement": statement, "params": params, "signature": self.sign(statement)}


class Bootd:
    """Serves tasks one by one, keeps what the agent says. The hooks are set by the stories."""

    def __init__(self, port=0):
        self.tasks = []          # waiting
        self.results = {}        # id -> body
        self.progress = []       # (id, body)
        self.image_requests = [] # (range or None, bytes sent)
        self.images = {}         # path -> bytes
        self.cut_after = []      # bytes of the next image answers, then the connection breaks
        self.stall_after = None  # bytes of every image answer, then silence
        self.gone = set()        # task ids answered 410
        self.poll_status = None  # instead of a task
        self.result_statuses = []  # of the next results, before they are taken
        self.chunk_delay = 0.0
        self.polls = 0
        self.bad_tokens = 0
        self.unsigned = 0        # results that their agent did not sign
        self.agent_key = None     # of the agent that asked last, hex
        self.key = TaskKey()
        self.mac = MAC           # of the node that its tasks are for
        self.change = None       # what a person on the path makes of a task, before the agent has it
        self.ignore_range = False
        self.next_id = 1
        self.lock = threading.Condition()
        self.port = port
        self.server = None
        self.start()

    def start(self):
        bootd = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body=b"", headers=()):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                if status != 204:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def allowed(self):
                if self.headers.get("Authorization") == "Bearer " + TOKEN:
                    return True
                bootd.bad_tokens += 1
                self.answer(401)
                return False

            def do_GET(self):
                try:
                    if not self.allowed():
                        return
                    if self.path.startswith("/agent/v1/task?"):
                        bootd.agent_key = self.headers.get("Haas-Agent-Key")
                        bootd.poll(self)
                    elif self.path in bootd.images:
                        bootd.image(self, bootd.images[self.path])
                    else:
                        self.answer(404)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if not self.allowed():
                    return
                match = re.fullmatch(r"/agent/v1/tasks/(\d+)/(progress|result)", self.path)
                if not match:
                    return self.answer(404)
                ident, what = int(match[1]), match[2]
                parsed = json.loads(body)
                if what == "result" and not is_signed(self.headers.get("Haas-Agent-Key"), self.headers.get("Haas-Result-Signature"),
                                                      result_statement(ident, TOKEN, body)):
                    bootd.unsigned += 1
                    return self.answer(401)
                with bootd.lock:
                    if ident in bootd.gone:
                        status = 410
                    elif what == "progress":
                        bootd.progress.append((ident, parsed))
                        status = 204
                    elif bootd.result_statuses:
                        status = bootd.result_statuses.pop(0)
                    else:
                        bootd.results[ident] = parsed
                        status = 204
                    bootd.lock.notify_all()
                self.answer(status)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True
            open_sockets = set()

            def process_request(self, request, client_address):
                self.open_sockets.add(request)
                super().process_request(request, client_address)

            def shutdown_request(self, request):
                self.open_sockets.discard(request)
                super().shutdown_request(request)

            def handle_error(self, request, client_address):
                pass

        while not self.server:
            # Below the ports that the kernel gives to whoever names none: it is still ours after a restart.
            port = self.port or random.randrange(12000, 32000)
            try:
                self.server = Server(("127.0.0.1", port), Handler)
                self.port = port
            except OSError:
                if self.port:
                    raise
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        """As kill -9 would: the listener and every connection are gone at once."""
        server, self.server = self.server, None
        if not server:
            return
        server.shutdown()
        server.server_close()
        for sock in list(server.open_sockets):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def poll(self, handler):
        with self.lock:
            self.polls += 1
            self.lock.notify_all()
            if self.poll_status:
                return handler.answer(self.poll_status)
            if not self.tasks:
                self.lock.wait(0.3)
            # The poll of an agent that has ended meanwhile takes no task from the one that came after it.
            agent = handler.headers.get("Haas-Agent-Key")
            task = self.tasks.pop(0) if self.tasks and agent and not gone(handler.connection) else None
        if not task:
            return handler.answer(204)
        signed = self.key.task(task["id"], task["kind"], json.dumps(task["params"]), **{"agent": agent, "mac": self.mac, **task["signed"]})
        if self.change:
            signed = self.change(signed)
        handler.answer(200, json.dumps(signed).encode(), [("Content-Type", "application/json")])

    def image(self, handler, data):
        wanted = handler.headers.get("Range")
        start = 0
        if wanted and not self.ignore_range:
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
        body = data[start:]
        cut = self.cut_after.pop(0) if self.cut_after else None
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        sent = 0
        limit = min(x for x in (cut, self.stall_after, len(body)) if x is not None)
        self.image_requests.append((wanted, limit))
        while sent < limit:
            piece = body[sent:min(sent + 65536, limit)]
            handler.wfile.write(piece)
            sent += len(piece)
            time.sleep(self.chunk_delay)
        handler.wfile.flush()
        if limit < len(body):
            if self.stall_after is not None:
                time.sleep(20)
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)

    def post(self, kind, params=None, **signed):
        with self.lock:
            ident = self.next_id
            self.next_id += 1
            self.tasks.append({"id": ident, "kind": kind, "params": params or {}, "signed": signed})
            self.lock.notify_all()
        return ident

    def wait(self, condition, seconds, what):
        end = time.monotonic() + seconds
        with self.lock:
            while not condition():
                need(time.monotonic() < end, f"{what}: not within {seconds} s")
                self.lock.wait(0.1)

    def result(self, ident, seconds=60):
        self.wait(lambda: ident in self.results, seconds, f"result of task {ident}")
        return self.results[ident]


class Node:
    """A root for the agent: fake /sys and /proc, disks that are files."""

    def __init__(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="haas_agent_"))
        for folder in ("sys/block", "sys/class/net", "sys/class/dmi/id", "sys/bus/pci/devices", "proc", "dev", "etc/haas/image-keys", "etc/haas/task-keys", "sys/class/net/boot0"):
            (self.top / folder).mkdir(parents=True)
        (self.top / "sys/class/net/boot0/address").write_text(MAC + "\n")
        self.agent = None
        self.log = self.top / "agent.log"

    def disk(self, name, size, serial="", content=b"", **attributes):
        folder = self.top / "sys/block" / name
        (folder / "device").mkdir(parents=True)
        (folder / "size").write_text(f"{size // 512}\n")
        serial_file = folder / "serial" if name.startswith("vd") else folder / "device/serial"
        serial_file.write_text(serial + "\n")
        for key, value in attributes.items():
            (folder / key).write_text(f"{value}\n")
        with open(self.top / "dev" / name, "wb") as file:
            file.truncate(size)
            if content:
                for at in range(0, size, len(content)):
                    file.seek(at)
                    file.write(content[:size - at])
        return self.top / "dev" / name

    def start(self, bootd, *options, token=TOKEN, cmdline=False):
        if bootd.key:
            (self.top / "etc/haas/task-keys/site.pub").write_text(bootd.key.public + "\n")
        arguments = [str(BUILD / "bin/bampi-agent"), "--root", str(self.top), "--sandbox", *options]
        url = f"http://127.0.0.1:{bootd.port}"
        if cmdline:
            (self.top / "proc/cmdline").write_text(f"console=ttyS0 quiet haas.url={url} haas.token={token} haas.mac={MAC}\n")
        else:
            (self.top / "token").write_text(token + "\n")
            arguments += ["--url", url, "--token-file", str(self.top / "token"), "--mac", MAC]
        self.agent = subprocess.Popen(arguments, stderr=open(self.log, "ab"), stdin=subprocess.DEVNULL)

    def stop(self):
        """Ends the agent as init would and insists on a clean end (no leak, no sanitizer's word)."""
        if self.agent.poll() is None:
            self.agent.terminate()
        status = self.agent.wait(60)
        text = self.log.read_text(errors="replace")
        need(status == 0, f"the agent ended with {status}:\n{text}")
        return text

    def remove(self):
        if self.agent and self.agent.poll() is None:
            self.agent.kill()
            self.agent.wait()
        shutil.rmtree(self.top)


class Image:
    """A raw disk with holes, its zstd form, its manifest, its signature."""

    def __init__(self, folder, raw, version="1.0"):
        path = folder / "image.raw"
        path.write_bytes(raw)
        subprocess.run(["zstd", "-q", "-f", "-3", str(path), "-o", str(folder / "image.zst")], check=True)
        self.raw = raw
        self.stored = (folder / "image.zst").read_bytes()
        self.manifest = {
            "name": "demo", "version": version, "arch": "x86_64", "format": "raw+zstd", "digest": blake(raw), "size_bytes": len(raw),
            "stored_digest": blake(self.stored), "stored_bytes": len(self.stored), "root_partition": 1, "firmware": ["bios", "uefi"],
            "created": "2026-11-21T00:00:00Z"}
        self.key = folder / "key.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(self.key)], check=True)

    def public_key(self):
        der = subprocess.run(["openssl", "pkey", "-in", str(self.key), "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout
        return der[-32:]

    def text(self):
        return json.dumps(self.manifest, separators=(",", ":")) + "\n"

    def sign(self, text):
        with tempfile.NamedTemporaryFile() as file:
            file.write(text.encode())
            file.flush()
            return subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", str(self.key), "-in", file.name],
                                  check=True, capture_output=True).stdout.hex()

    def params(self, **more):
        # bampid keeps params as jsonb: the object comes back with its members sorted by length and name.
        shuffled = dict(sorted(self.manifest.items(), key=lambda item: (len(item[0]), item[0])))
        return {"manifest": shuffled, "signature": self.sign(self.text()), "url": self.path(), "disk": "auto", **more}

    def path(self):
        return "/boot/image/" + self.manifest["stored_digest"]


def image_bytes(size=6 * MIB + 512 * 40):
    """Data, a long hole, data, an odd tail."""
    noise = os.urandom(MIB)
    raw = bytearray(size)
    raw[0:MIB] = noise
    raw[4 * MIB:5 * MIB] = os.urandom(MIB)
    raw[-700:] = os.urandom(700)
    return bytes(raw)


def run(stories):
    """Each story gets its own bootd and node. Prints one line each; returns the exit status."""
    failed = 0
    for story in stories:
        bootd, node = Bootd(), Node()
        began = time.monotonic()
        try:
            story(bootd, node)
            print(f"ok   {story.__name__} ({time.monotonic() - began:.1f} s)")
        except Exception as error:  # noqa: BLE001 - a story may fail in any way; the log says what the agent saw
            failed += 1
            print(f"FAIL {story.__name__}: {error}")
            print(node.log.read_text(errors="replace") if node.log.exists() else "(no log)")
        finally:
            node.remove()
            bootd.stop()
    return 1 if failed else 0
