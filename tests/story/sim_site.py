"""A scratch site whose nodes live: the simulated rack of tests/sim/node/lab.sh with its PostgreSQL and a bampid, a portald, and haasctl."""
import os
import subprocess

from cli_site import CliSite
from story import ROOT, skip

# The lab stands in a shell of its own: it reads commands, a line each, and ends with its standard input.
LAB = r"""
set -euo pipefail
. "$1/tests/sim/node/lab.sh"
lab_start "$2"
bampid_start one
await_true 60 "select count(*) = 1 from daemon_key where daemon = 'bampid'" || fail bampid
echo "lab $lab"
while IFS= read -r line; do
	eval "$line"
	echo "did $line"
done
invariants
lab_end
"""


class SimSite(CliSite):
    plays_bampid = False

    def __init__(self, nodes):
        super().__init__()
        self.nodes_count = nodes
        self.shell = None

    def pg(self, verb):
        """The lab's own cluster, which comes and goes with the lab."""
        if verb == "start":
            self.shell = subprocess.Popen(["bash", "-c", LAB, "lab", str(ROOT), str(self.nodes_count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, text=True, env={**os.environ, "NETBOOT": "4", "AGENT": "6"})
            self.lab = self.line("lab ")
            self.pg_dir = type(self.dir)(self.lab) / "pg"
            self.bampid = self.lab + "/one.sock"
        elif self.shell:
            self.shell.stdin.close()
            said = self.shell.stdout.read()
            status = self.shell.wait(60)
            if status != 0:
                raise AssertionError(f"the lab ended with {status}:\n{said[-6000:]}")

    def line(self, begin):
        """The rest of the lab's next line that begins so."""
        said = []
        for line in self.shell.stdout:
            if line.startswith(begin):
                return line[len(begin):].strip()
            said.append(line)
        if self.shell.wait() == 77:
            skip("".join(said).strip())
        raise AssertionError("the lab is gone:\n" + "".join(said)[-6000:])

    def do(self, command):
        """A line of bash among the lab's functions: bampid_kill one; faults "s1 no_script"."""
        self.shell.stdin.write(command + "\n")
        self.shell.stdin.flush()
        self.line("did ")
