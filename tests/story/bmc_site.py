"""A scratch site with one real BMC: portald and its database (cli_site), a bampid, and OpenIPMI's ipmi_sim as the BMC of node n1."""
import os
import pathlib
import shutil
import socket
import subprocess
import threading

from cli_site import CliSite
from story import BUILD, ROOT, skip, wait_for

BAMPID = BUILD / "bin/bampid"
COMMAND_PORT = 9004
CONSOLE_PORT = 9003


class Serial:
    """The node's serial port: ipmi_sim connects to it."""

    def __init__(self, address):
        self.listener = socket.create_server((address, CONSOLE_PORT))
        self.line = None
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            self.line = self.listener.accept()[0]

    def say(self, text):
        self.line.sendall(text.encode())


class BmcSite(CliSite):
    plays_bampid = False

    def __init__(self):
        super().__init__()
        if not BAMPID.exists():
            skip(f"{BAMPID} is not built")
        for tool in ("ipmi_sim", "sdrcomp", "ipmitool"):
            if not shutil.which(tool):
                skip(f"{tool} is missing")
        self.process = None
        self.bmc_dir = self.dir / "bmc"
        self.address = None
        self.commands = None
        self.bampid_log = self.dir / "bampid.log"

    def __enter__(self):
        super().__enter__()
        self.bmc_start()
        self.bampid_start()
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print("--- health\n" + self.sql("select to_jsonb(h) from node_health h"))
            print("--- ipmi_sim\n" + (self.bmc_dir / "ipmi_sim.out").read_text(errors="replace")[-2000:])
            print("--- log of bampid\n" + self.bampid_log.read_text(errors="replace")[-6000:])
        status = self.bampid_stop()
        self.sim("stop")
        super().__exit__(kind, value, trace)
        assert kind is not None or status == 0, f"bampid ended with {status}"

    def sim(self, verb):
        env = {**os.environ, "BMC_COMMAND_PORT": str(COMMAND_PORT)}
        words = [self.address] if self.address else []
        return subprocess.run([ROOT / "tests/support/bmc_sim", verb, self.bmc_dir, *words], check=True, env=env, capture_output=True,
                              text=True, timeout=60).stdout.split()

    def bmc_start(self):
        self.address = self.sim("start")[0]

    def bampid_start(self):
        conf = self.dir / "bampid.conf"
        (self.dir / "image-keys").mkdir(exist_ok=True)
        conf.write_text(f'''database = "host={self.pg_dir} dbname=haas user=bampid"; user = ""; name = "one";
socket = {{ path = "{self.bampid}"; }};
key_dir = "{self.dir / "bampid-keys"}"; console_dir = "{self.dir / "consoles"}"; image_keys = "{self.dir / "image-keys"}";
claim = 2; poll = 1; bmc_patience = 10; backoff = 1; seal = 1; refresh = {{ power = 1; sensors = 1; sel = 1; }};
''')
        with open(self.bampid_log, "ab") as log:
            self.process = subprocess.Popen([BAMPID, "--config", conf], stdout=log, stderr=log)
        wait_for("bampid to start", lambda: pathlib.Path(self.bampid).exists() and self.sql("select count(*) from daemon_key") == "1")

    def bampid_stop(self, kill=False):
        if not self.process:
            return 0
        process, self.process = self.process, None
        process.kill() if kill else process.terminate()
        status = process.wait(60)
        pathlib.Path(self.bampid).unlink(missing_ok=True)
        return status

    def import_node(self):
        path = self.dir / "node.csv"
        path.write_text("name,mac,bmc_driver,bmc_address,bmc_port,bmc_username,bmc_password,bmc_cipher_suite,bmc_workarounds\n"
                        f"n1,52:54:00:00:00:01,ipmi,{self.address},9623,admin,secret,3,opensesspriv\n")
        self.ctl("node", "import", str(path))
        self.ctl("node", "accept", "n1")

    def ipmitool(self, *words):
        return subprocess.run(["ipmitool", "-I", "lanplus", "-C", "3", "-N", "5", "-H", self.address, "-p", "9623", "-U", "admin", "-P", "secret", *words],
                              check=True, capture_output=True, text=True, timeout=60).stdout

    def sel_add(self, *octets):
        """Logs one event, as ipmitool writes it: version, sensor type, sensor, event type (0x80 = its end), three bytes of data."""
        path = self.dir / "sel.txt"
        path.write_text(" ".join(f"{octet:#04x}" for octet in octets) + "\n")
        self.ipmitool("sel", "add", str(path))

    def sim_command(self, line):
        """A command of ipmi_sim itself; its telnet port echoes, then prompts. One connection for all: ipmi_sim does not outlive many."""
        if not self.commands:
            self.commands = socket.create_connection((self.address, COMMAND_PORT), 5)
            self.commands.settimeout(30)
            self.prompt()
        self.commands.sendall(line.encode() + b"\r\n")
        self.prompt()

    def prompt(self):
        seen = b""
        while not seen.endswith(b"> "):
            seen += self.commands.recv(4096)

    def set_temperature(self, value):
        """The sensor of the BMC; its command port may lose a line, so it is looked at."""
        def told():
            self.sim_command(f"sensor_set_value 0x20 0 1 {value:#x} 1")
            return f"| {value}.000" in self.ipmitool("sensor", "list")
        wait_for(f"the sensor to be {value}", told)
