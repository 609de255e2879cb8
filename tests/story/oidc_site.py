"""A site whose people log in by OpenID Connect: portald by TLS, portal-outward that asks the providers, and a real one (npm oidc-provider, tests/support/oidc_provider)."""
import os
import signal
import subprocess
import threading

from api_site import UnixConnection
from listen_site import ListenSite, answer_of, free_port
from story import BIN, ROOT, skip, wait_for

MODULES = "/usr/local/lib/haas-tests/oidc_provider"


class OidcSite(ListenSite):
    host = "127.0.0.1"  # of portald, as browsers call it

    def __init__(self):
        super().__init__()
        self.url, self.outward_socket = f"https://{self.host}:{self.port}", str(self.dir / "outward.sock")
        self.corp, self.liar_port, self.outward, self.node = free_port(), free_port(), None, None
        self.providers = self.dir / "oidc"
        self.providers.mkdir()
        (self.dir / "secret").write_text("s3cret: of the client\n")
        for name, port in (("corp", self.corp), ("liar", self.liar_port)):
            (self.providers / f"{name}.conf").write_text(f'issuer = "https://127.0.0.1:{port}"; client_id = "haas"; client_secret_file = "{self.dir}/secret";\n')

    def conf(self, **changes):
        path = super().conf(**{"login": f'url = "{self.url}";', **changes})
        with open(path, "a") as conf:
            conf.write(f'outward_socket = "{self.outward_socket}";\n')
        return path

    def start_outward(self, allow='"127.0.0.1/32"'):
        (self.dir / "outward.conf").write_text(f'database = "host={self.pg_dir} dbname=haas user=portal_outward"; user = ""; ca_file = "{self.ca}/ca.crt"; allow = [{allow}];\n'
                                               f'socket: {{ path = "{self.outward_socket}"; }}; oidc: {{ folder = "{self.providers}"; }}; key_dir = "{self.dir}/outward-keys";\n')
        self.outward_log = open(self.dir / "outward.log", "ab")
        self.outward = subprocess.Popen([BIN / "portal-outward", "--config", self.dir / "outward.conf"], stderr=self.outward_log)
        wait_for("portal-outward has its database", self.outward_ready)

    def outward_ready(self):
        try:
            return answer_of(UnixConnection(str(self.outward_socket), 5), "GET", "/healthz").status == 200
        except OSError:
            return False

    def stop_outward(self):
        if self.outward:
            self.outward.send_signal(signal.SIGTERM)
            assert self.outward.wait(30) == 0, (self.dir / "outward.log").read_text()[-3000:]
            self.outward = None

    def start_provider(self):
        command = ["node", ROOT / "tests/support/oidc_provider/provider.mjs", f"https://127.0.0.1:{self.corp}", str(self.corp), self.certificate, self.key, "haas", "s3cret: of the client",
                   f"{self.url}/api/v1/login/oidc/corp/callback"]
        self.node = subprocess.Popen(command, env={**os.environ, "OIDC_MODULES": MODULES}, stdout=subprocess.PIPE, stderr=open(self.dir / "node.err", "wb"), text=True)
        assert self.node.stdout.readline() == "ready\n", (self.dir / "node.err").read_text()
        threading.Thread(target=self.node.stdout.read, daemon=True).start()

    def kill_all(self):
        for process in filter(None, (self.outward, self.node)):
            process.kill()
            process.wait()

    def invited(self, name, role="operator"):
        return self.post("/api/v1/accounts", {"name": name, "role": role}).json["link"]


if not os.path.isdir(MODULES):
    skip(f"{MODULES} is missing: tests/support/install makes it")
