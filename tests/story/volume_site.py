"""A storage with real initiators: tgtd and bampi-stored as users of their own, in folders as deploy/storage/tmpfiles makes them, nodes of two tenants as network namespaces on one bridge."""
import hashlib
import json
import os
import shutil
import subprocess

from cli_site import CliSite
from story import BUILD, ROOT, skip, wait_for

STORED = BUILD / "bin/bampi-stored"
PORT = 3260
NET = "10.77.0"
AS_STORED, AS_TGTD = (["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"] for user in ("haas-stored", "haas-tgtd"))


class VolumeSite(CliSite):
    """`nodes`: name -> last octet of its address. The disk is a tmpfs of `disk_mib`."""

    def __init__(self, nodes, disk_mib):
        super().__init__()
        for tool in ("tgtd", "qemu-io", "iscsi-ls"):
            if not shutil.which(tool):
                skip(f"{tool} is not installed")
        if os.getuid() != 0:
            skip("network namespaces need root")
        self.nodes_at = nodes
        self.disk = self.dir / "disk"
        self.keys_dir = self.dir / "storage-keys"
        self.run_dir = self.dir / "run"
        self.disk_mib = disk_mib
        self.tgtd_process = self.stored_process = None
        self.stored_log = open(self.dir / "stored.log", "wb")
        self.names = {name: f"v{os.getpid()}{name}" for name in ("st", *nodes)}
        self.secrets = []

    def __enter__(self):
        for folder in (self.disk, self.keys_dir, self.run_dir):
            folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.disk_mib}m", "none", self.disk], check=True)
        for folder, mode, user, group in ((self.disk, 0o2710, "haas-stored", "haas-tgtd"), (self.keys_dir, 0o700, "haas-stored", "haas-stored"),
                                          (self.run_dir, 0o2710, "haas-tgtd", "haas-stored")):
            shutil.chown(folder, user, group)
            folder.chmod(mode)
        self.network()
        return super().__enter__()

    def __exit__(self, kind, value, trace):
        ended = self.stored_process.poll() if self.stored_process else 0
        self.end(self.stored_process)
        self.end(self.tgtd_process, 9)  # it waits for its targets to go
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)
        if kind is not None:
            print("--- log of bampi-stored\n" + self.stored_text()[-6000:])
        subprocess.run(["umount", "-l", self.disk])
        text = self.stored_text()
        super().__exit__(kind, value, trace)
        if kind is None and ended is None:
            assert self.stored_process.returncode == 0, f"bampi-stored ended with {self.stored_process.returncode}: {text[-3000:]}"
        assert kind is not None or ("Sanitizer" not in text and "runtime error" not in text), text[-6000:]

    @staticmethod
    def end(process, how=15):
        if process and process.poll() is None:
            process.send_signal(how)
            process.wait(60)

    def network(self):
        """A bridge in the storage's namespace, a veth to each node."""
        st = self.names["st"]
        lines = [f"netns add {st}", f"-n {st} link add br0 type bridge", f"-n {st} addr add {NET}.1/24 dev br0", f"-n {st} link set br0 up", f"-n {st} link set lo up"]
        for i, (name, octet) in enumerate(self.nodes_at.items()):
            ns = self.names[name]
            lines += [f"netns add {ns}", f"-n {st} link add p{i} type veth peer name eth0 netns {ns}", f"-n {st} link set p{i} master br0 up",
                      f"-n {ns} addr add {NET}.{octet}/24 dev eth0", f"-n {ns} link set eth0 up", f"-n {ns} link set lo up"]
        for line in lines:
            subprocess.run(["ip", *line.split()], check=True)

    # --- daemons
    def tgtd(self):
        # waits for its answer on the management socket as bampi-stored does
        self.tgtd_process = subprocess.Popen(
            ["ip", "netns", "exec", self.names["st"], *AS_TGTD, "env", f"TGT_IPC_SOCKET={self.run_dir}/tgtd", "unshare", "--user",
             "tgtd", "-f", "--iscsi", f"portal={NET}.1:{PORT}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            umask=0o007)
        wait_for("tgtd listens", lambda: (self.run_dir / "tgtd.0").exists())

    def stored(self, **changes):
        values = {"level": 3, "period": 200, "checkpoint": 64, **changes}
        conf = self.dir / "stored.conf"
        conf.write_text(f'''
database = "host={self.pg_dir} dbname=haas user=bampi_stored";
storage = "s1";
dir = "{self.disk}";
key_dir = "{self.keys_dir}";
control = "{self.run_dir}/tgtd.0";
level = {values["level"]};
checkpoint = {values["checkpoint"]};
period = {values["period"]};
claim = 5;
''')
        self.stored_process = subprocess.Popen([*AS_STORED, STORED, "--config", conf, "--log-level", "debug"], stderr=self.stored_log, stdout=self.stored_log, umask=0o027)

    def stored_text(self):
        self.stored_log.flush()
        return (self.dir / "stored.log").read_text(errors="replace")

    # --- rows
    def pdci_ready(self, pdci, node):
        """What bampid would have done: the node is the PDCI's, has its address and is handed over."""
        self.sql(f"""insert into pdci_node (pdci_id, node, node_id, group_index, class, address) select p.id, n.name, n.id, 0, n.class, '{NET}.{self.nodes_at[node]}'
            from pdci p, node n where p.name = '{pdci}' and n.name = '{node}'; update pdci set state = 'ready', ready_at = now() where name = '{pdci}'""")

    def state(self, volume):
        return self.sql(f"select coalesce((select state from volume_view where name = '{volume}' order by id desc limit 1), '')")

    def volume_until(self, volume, state, seconds=60):
        wait_for(f"volume {volume} is {state}, not {self.state(volume)}", lambda: self.state(volume) == state, seconds)

    def file(self, volume):
        return self.disk / "volumes" / self.sql(f"select id from volume where name = '{volume}' order by id desc limit 1")

    def secret(self, volume):
        """(user, secret, target), told once."""
        told = json.loads(self.out("volume", "secret", volume, "-o", "json"))
        self.secrets.append(told["secret"])
        # the storage opens it with the new secret
        wait_for("the new secret holds", lambda: told["user"] in self.targets())
        return told["user"], told["secret"], told["target"]

    def targets(self):
        """tgtd's own word for it, by its own tool. No word is an OSError, which `wait_for` takes for a no."""
        out = subprocess.run([*AS_STORED, "env", f"TGT_IPC_SOCKET={self.run_dir}/tgtd", "tgtadm", "--lld", "iscsi", "--op", "show", "--mode", "target"],
                             capture_output=True, text=True)
        if out.returncode:
            raise OSError(f"tgtadm ended with {out.returncode}: {out.stderr}")
        return out.stdout

    # --- initiators
    def io(self, node, login, *commands, ok=True):
        """qemu-io as the initiator of a node; its output."""
        user, secret, target = login  # no user: without CHAP
        path = self.dir / "secret"
        path.write_text(secret or "")
        chap = f",user={user},password-secret=s" if user else ""
        done = subprocess.run(
            ["ip", "netns", "exec", self.names[node], "timeout", "60", "qemu-io", *[word for c in commands for word in ("-c", c)],
             "--object", f"secret,id=s,file={path}", "--image-opts",
             f"driver=iscsi,transport=tcp,portal={NET}.1:{PORT},target={target},lun=1{chap},initiator-name=iqn.2026-11.test:{node}"],
            capture_output=True, text=True)
        path.unlink()
        text = done.stdout + done.stderr
        good = done.returncode == 0 and "can't open" not in text and "failed" not in text
        assert good == ok, f"{node} {commands}: {text}"
        return text

    def say_hello(self, node, login, name, *alias):
        """A login of a node that says of itself what it is told to; it prints "in" and, once it is ended, "cut"."""
        user, secret, target = login
        return subprocess.Popen(["ip", "netns", "exec", self.names[node], ROOT / "tests/support/iscsi_login", f"{NET}.1", str(PORT), target, user, secret, name, *alias],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def discovered(self, node):
        """What iscsi-ls of a node is told."""
        return subprocess.run(["ip", "netns", "exec", self.names[node], "timeout", "60", "iscsi-ls", f"iscsi://{NET}.1:{PORT}"], capture_output=True, text=True).stdout


def digest(path):
    state = hashlib.blake2b(digest_size=32)
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            state.update(part)
    return state.hexdigest()
