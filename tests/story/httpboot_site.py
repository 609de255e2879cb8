"""A site of two nodes for the stories of bampi-bootd: its own network namespace, PostgreSQL and daemon. Not a test itself.

The server is 10.77.0.1, the nodes are 10.77.0.17 and .18; all of them are addresses of lo, so a story takes a node's place by binding to its
address. The database says that they hold leases.
"""
import atexit
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from agent_key import AgentKey
from story import BIN, log_end, on_failure, pg, programs, wait_for

SERVER = "10.77.0.1"
PORT = 8067
NODES = {"n17": ("10.77.0.17", "52:54:00:77:00:17"), "n18": ("10.77.0.18", "52:54:00:77:00:18")}
STRANGER = "10.77.0.99"


def enter():
    """Becomes root of a new network namespace, or skips."""
    programs("bampi-bootd", root="a network namespace")
    if os.environ.get("HAAS_STORY_NAMESPACE") != str(os.getppid()):
        os.environ["HAAS_STORY_NAMESPACE"] = str(os.getpid())
        sys.exit(subprocess.call(["unshare", "-n", sys.executable] + sys.argv))
    for command in (["link", "set", "lo", "up"],
                    *(["address", "add", f"{address}/24", "dev", "lo"]
                      for address in (SERVER, STRANGER, *(node[0] for node in NODES.values())))):
        subprocess.run(["ip", *command], check=True)


class Site:
    def __init__(self):
        enter()
        on_failure(lambda: print(log_end(self.folder / "bootd.log")))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="haas_boot_"))
        os.chmod(self.folder, 0o755)
        self.daemon = None
        self.pg_folder = self.folder / "pg"
        atexit.register(self.close)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        for name in ("boot", "images"):
            (self.folder / name).mkdir()
        pg("start", self.pg_folder)
        self.fill()
        (self.folder / "bootd.conf").write_text(
            f'database = "host={self.pg_folder} dbname=haas user=bampi_bootd";\n'
            'user = "";\n'
            f'http_port = {PORT};\n'
            f'boot_dir = "{self.folder}/boot";\nimage_dir = "{self.folder}/images";\n'
            f'metrics_socket = "{self.folder}/metrics.sock";\n')

    def pg_pause(self):
        """Stops the server process; the data stay."""
        pg("stop", self.pg_folder)

    def pg_resume(self):
        pg("start", self.pg_folder)

    def sql(self, text):
        """Runs SQL as the owner; gives rows of texts."""
        done = subprocess.run(["psql", "-qXAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", self.pg_folder, "-U", "haas", "-d", "haas"],
                              input="set search_path = haas;\n" + text, text=True, check=True, capture_output=True)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def fill(self):
        self.sql(f"insert into subnet (name, prefix, boot_server) values ('lab', '10.77.0.0/24', '{SERVER}')")
        for name, (address, mac) in NODES.items():
            self.sql(f"""insert into node (name, state) values ('{name}', 'discovered');
                update node set state = 'reserved' where name = '{name}';
                insert into nic (mac, node_id, name, boot) select '{mac}', id, 'eth0', true from node where name = '{name}';
                insert into lease (address, mac, subnet_id, expires_at) select '{address}', '{mac}', id, now() + '1 day' from subnet;
                insert into deployment (plan, node_id, actor) select 'inspect', id, 'story' from node where name = '{name}'""")

    def intent(self, node, target, token, nonce=None, image=None):
        """What bampid writes before it switches the power on."""
        nonce = nonce or token[::-1]
        digest = f"'{image}'" if image else "null"
        self.sql(f"""insert into boot_intent (node_id, target, deployment_id, token, nonce, stored_digest)
            select n.id, '{target}', d.id, '{token}', '{nonce}', {digest} from node n join deployment d on d.node_id = n.id
            where n.name = '{node}' on conflict (node_id) do update set target = excluded.target, token = excluded.token,
            nonce = excluded.nonce, stored_digest = excluded.stored_digest, changed_at = now(), fetched_at = null, fetched_by = null,
            fetched_connection = null, agent_key = null, agent_by = null, ended_at = null, ended_why = null; notify boot_intent""")

    def post_task(self, node, token, kind, params="{}", agent=None):
        """For the agent whose key is of the token's name, or for this one."""
        agent = agent or AgentKey(token)
        return int(self.sql(f"""insert into agent_task (deployment_id, node_id, token, step, kind, params, statement, signature)
            select d.id, n.id, '{token}', 'story', '{kind}', '{params}', E'signed by bampid\\nagent {agent.public}\\n', repeat('0', 128) from node n join deployment d on d.node_id = n.id
            where n.name = '{node}' returning id; notify agent_task""")[0][0])

    def start(self):
        self.log = open(self.folder / "bootd.log", "ab")
        self.daemon = subprocess.Popen([BIN / "bampi-bootd", "--config", self.folder / "bootd.conf"], stderr=self.log)
        wait_for("the daemon to be ready", lambda: self.get("/healthz")[0] == 200)

    def stop(self):
        if self.daemon:
            self.daemon.terminate()
            status = self.daemon.wait(60)
            self.daemon = None
            assert status == 0, f"the daemon ended with {status}"

    def close(self):
        failed = False
        try:
            self.stop()
        except (AssertionError, subprocess.TimeoutExpired) as error:
            print(error)
            failed = True
        pg("stop", self.pg_folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        if failed:
            os._exit(1)

    def connection(self, source=STRANGER, timeout=30):
        return http.client.HTTPConnection(SERVER, PORT, timeout=timeout, source_address=(source, 0))

    def request(self, method, path, source=STRANGER, token=None, body=None, headers=None):
        """Gives status, body, headers."""
        headers = dict(headers or {})
        if isinstance(body, dict):
            body = json.dumps(body)
        if token:
            headers = {**AgentKey(token).headers(path, token, body), **headers}
            headers["Authorization"] = f"Bearer {token}"
        connection = self.connection(source)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def get(self, path, source=STRANGER, **more):
        return self.request("GET", path, source, **more)

    def post(self, path, body, source=STRANGER, **more):
        return self.request("POST", path, source, body=body, **more)

    def observation(self, node, kind):
        rows = self.sql(f"select o.detail, o.bytes, o.token from boot_observation o join node n on n.id = o.node_id "
                        f"where n.name = '{node}' and o.kind = '{kind}'")
        return (rows[0][0], int(rows[0][1]), rows[0][2]) if rows else None

    def metric(self, name):
        done = subprocess.run(["curl", "-sS", "--unix-socket", self.folder / "metrics.sock", "http://x/metrics"], text=True, check=True,
                              capture_output=True)
        for line in done.stdout.splitlines():
            if line.startswith(name + " "):
                return int(line.split()[1])
        raise KeyError(name)


