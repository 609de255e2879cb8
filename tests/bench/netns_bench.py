"""What the benches of servers share: two network namespaces on a veth pair, processes with their CPU, medians. Not a bench itself."""
import atexit
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
TICKS = os.sysconf("SC_CLK_TCK")


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, text=True, **more)


def quiet(*command):
    return run(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def build(*targets):
    """The release preset of this tree; a failure shows its log."""
    if os.geteuid() != 0:
        sys.exit("run me as root (packages, network namespaces)")
    run(ROOT / "tests/support/install")
    os.environ.setdefault("CCACHE_DIR", str(ROOT / "build/ccache"))
    for command in (["cmake", "--preset", "release"], ["cmake", "--build", "--preset", "release", "-j", "2", "--target", *targets]):
        done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit(done.stdout[-4000:])


def package(*names):
    """Installs what a peer comes in, without starting it."""
    missing = [name for name in names
               if subprocess.run(["dpkg", "-s", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode]
    if missing:
        policy = pathlib.Path("/usr/sbin/policy-rc.d")
        made = not policy.exists()
        if made:
            policy.write_text("#!/bin/sh\nexit 101\n")
            policy.chmod(0o755)
        try:
            quiet("apt-get", "update", "-q")
            quiet("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q", "--no-install-recommends", *missing)
        finally:
            if made:
                policy.unlink()


def unpack(name, folder):
    """The files of a package that conflicts with others, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    quiet("apt-get", "update", "-q")
    run("apt-get", "download", "-q", name, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    quiet("dpkg", "-x", next(folder.glob(f"{name}_*.deb")), folder)


class Pair:
    """Namespaces `server` and `client` on one veth pair, and a folder; gone at exit with all that was started."""

    def __init__(self, server_address, client_address, client_prefix=None):
        self.server, self.client = f"haasbs{os.getpid()}", f"haasbc{os.getpid()}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="haas_bench_"))
        self.folder.chmod(0o755)
        self.processes = []
        self.pg_folder = None
        atexit.register(self.close)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: sys.exit(1))
        for name in (self.server, self.client):
            quiet("ip", "netns", "add", name)
            quiet("ip", "-n", name, "link", "set", "lo", "up")
        quiet("ip", "link", "add", "eth0", "netns", self.server, "type", "veth", "peer", "name", "eth0", "netns", self.client)
        for name, address in ((self.server, server_address), (self.client, client_address)):
            quiet("ip", "-n", name, "address", "add", address, "dev", "eth0")
            quiet("ip", "-n", name, "link", "set", "eth0", "up")
        if client_prefix:  # clients with addresses of their own
            quiet("ip", "-n", self.client, "route", "add", "local", client_prefix, "dev", "lo")
            quiet("ip", "-n", self.server, "route", "add", client_prefix, "via", client_address.split("/")[0])

    def database(self):
        """conninfo's host of a fresh PostgreSQL."""
        self.pg_folder = self.folder / "pg"
        run(ROOT / "tests/support/pg", "start", self.pg_folder, stdout=subprocess.DEVNULL)
        return self.pg_folder

    def inside(self, side):
        """The words before a command of one side."""
        return ["ip", "netns", "exec", self.server if side == "server" else self.client]

    def start(self, command):
        log = open(self.folder / "server.log", "ab")
        process = subprocess.Popen([*self.inside("server"), *map(str, command)], stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log)
        self.processes.append(process)
        return process

    def stop(self, process):
        for pid in tree(process.pid):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        process.wait(20)
        self.processes.remove(process)

    def wait_port(self, table, port, process):
        """Until `port` is bound in /proc/net/<table> of the server's namespace."""
        deadline = time.monotonic() + 20
        while f":{port:04X} " not in quiet("ip", "netns", "exec", self.server, "cat", f"/proc/net/{table}"):
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("a server did not start:\n" + (self.folder / "server.log").read_text(errors="replace")[-2000:])
            time.sleep(0.05)

    def close(self):
        for process in list(self.processes):
            try:
                self.stop(process)
            except subprocess.TimeoutExpired:
                process.kill()
        if self.pg_folder:
            subprocess.run([ROOT / "tests/support/pg", "stop", self.pg_folder], stdout=subprocess.DEVNULL)
        for name in (self.server, self.client):
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)


def tree(root):
    """A process and its descendants."""
    children = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(folder.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_s(process):
    """CPU seconds that a process and its descendants have used, those that ended and were waited for included."""
    ticks = 0
    for pid in tree(process.pid):
        try:
            ticks += sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            pass
    return ticks / TICKS


def fields(text):
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def median(values):
    return statistics.median(values)


def bootd_conf(pair, **more):
    """A configuration of bampi-bootd for a bench; gives its path."""
    path = pair.folder / "bootd.conf"
    for name in ("boot", "images"):
        (pair.folder / name).mkdir(exist_ok=True)
    lines = {"database": f'"host={pair.database()} dbname=haas user=bampi_bootd"', "user": '""', "interfaces": '["eth0"]',
             "boot_dir": f'"{pair.folder}/boot"', "image_dir": f'"{pair.folder}/images"', **more}
    path.write_text("".join(f"{key} = {value};\n" for key, value in lines.items()))
    return path
