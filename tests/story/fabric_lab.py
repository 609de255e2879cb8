"""A fabric of the lab (tests/lab/fabric) for one story in Python: its folder, its faults, who reaches whom."""
import os
import re
import shutil
import tempfile
from pathlib import Path

from story import BUILD, ROOT, need, run


class Fabric:
    """fabric("fault", "leaf1", "slow=0.6") runs that verb of tests/lab/fabric."""

    def __init__(self, name):
        self.work = Path(tempfile.mkdtemp(prefix=f"{name}."))
        self.dir = self.work / "fabric"
        self.env = {**os.environ, "HAAS_BUILD": str(BUILD)}

    def __call__(self, verb, *words, check=True):
        return run(ROOT / "tests/lab/fabric", verb, "--dir", self.dir, *words, check=check, env=self.env)

    def up(self, *words, topology=None):
        """Gives the fabric's variables (fabric.env) and the address of each switch."""
        if topology:
            (self.work / "topology").write_text(topology)
            words += ("--topology", self.work / "topology")
        done = self("up", *words, check=False)
        need(done.returncode == 0, done.stderr[-3000:])
        env = dict(re.findall(r"^(\w+)=(.*)$", (self.dir / "fabric.env").read_text(), re.M))
        return env, {line.split()[0]: line.split()[2] for line in (self.dir / "switches").read_text().splitlines()}

    def down(self):
        if os.environ.get("LAB_KEEP"):
            print(f"left running in {self.work}")
        else:
            self("down", check=False)
            shutil.rmtree(self.work, ignore_errors=True)

    def secrets(self, name, **values):
        path = self.work / name
        path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        path.chmod(0o600)

    def ping(self, node, address):
        return self("exec", node, "ping", "-c", "1", "-W", "1", address, check=False).returncode == 0

    def reaches(self, node, address):
        """A busy machine does not answer each ping within its second."""
        return any(self.ping(node, address) for _ in range(20))
