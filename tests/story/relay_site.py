"""A site with a remote segment for the stories of bampi-relay; not a test itself. Four network namespaces without a common link:

    server 10.70.0.1 -- 10.70.0.254 router 10.71.0.254 -- 10.71.0.2 relay 10.81.0.1 (l1), 10.82.0.1 (l2) -- clients (c1, c2)

bampi-bootd and PostgreSQL are on the server, bampi-relay on the relay, the story itself with the clients.
"""
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from story import BIN, log_end, metric, need, on_failure, pg, programs, psql, run, step, wait_for

SERVER, RELAY = "10.70.0.1", "10.71.0.2"
LINKS = {"l1": "10.81.0.1", "l2": "10.82.0.1"}


class Daemon:
    """One of our daemons in a namespace."""

    def __init__(self, site, name, namespace, conf):
        self.site, self.name, self.namespace, self.process = site, name, namespace, None
        self.path = site.work / f"{name}.conf"
        self.path.write_text(conf)
        self.socket = site.work / f"{name}.metrics"
        with self.path.open("a") as file:
            file.write(f'metrics_socket = "{self.socket}";\n')

    def start(self):
        before = self.log().count("started (version")
        with open(self.site.work / f"{self.name}.log", "a") as log:
            self.process = subprocess.Popen(["ip", "netns", "exec", self.namespace, BIN / self.name, "--config", self.path, "--log-level", "debug"],
                                            stderr=log, stdin=subprocess.DEVNULL)
        wait_for(f"{self.name} starts", lambda: self.log().count("started (version") > before or self.process.poll() is not None)
        need(self.process.poll() is None, f"{self.name} runs")

    def log(self):
        path = self.site.work / f"{self.name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def stop(self, number=signal.SIGTERM):
        if not self.process:
            return
        self.process.send_signal(number)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process = None
            need(False, f"{self.name} stops within 60 s")
        self.process = None
        if number == signal.SIGTERM:
            need(status == 0, f"clean stop of {self.name} (status {status})")

    def metric(self, name):
        return metric(self.socket, name)


class Site:
    def __init__(self, relay_conf="", bootd_conf=""):
        programs("bampi-bootd", "bampi-relay", root="network namespaces")
        tag = os.getpid() % 100000
        self.namespaces = {name: f"rly{name[0]}{tag}" for name in ("server", "router", "proxy", "clients")}
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="relay_site."))
        self.work.chmod(0o755)  # PostgreSQL and the daemons are other users
        on_failure(self.show)
        self.daemons = []
        for name in ("boot", "images", "cache"):
            (self.work / name).mkdir()
        shutil.chown(self.work / "cache", "haas-relay", "haas-relay")
        self.bootd = self.daemon("bampi-bootd", "server", f"""
            database = "host={self.work}/pg dbname=haas user=bampi_bootd";
            user = "haas-bootd"; interfaces = ["s0"]; boot_dir = "{self.work}/boot"; image_dir = "{self.work}/images";
            """ + bootd_conf)
        self.relay = self.daemon("bampi-relay", "proxy", f"""
            user = "haas-relay"; interfaces = ["l1 circuit=rack7-a", "l2"];
            dhcp: {{ servers = ["{SERVER}"]; }};
            """ + relay_conf)

    def daemon(self, name, namespace, conf):
        daemon = Daemon(self, name, self.namespaces[namespace], conf)
        self.daemons.append(daemon)
        return daemon

    def ip(self, namespace, *words, **more):
        return run("ip", "-n", self.namespaces[namespace], *words, **more)

    def cable(self, one, name_one, two, name_two):
        self.ip(one, "link", "add", name_one, "type", "veth", "peer", "name", name_two, "netns", self.namespaces[two])
        for namespace, name in ((one, name_one), (two, name_two)):
            self.ip(namespace, "link", "set", name, "up")

    def up(self):
        for name in self.namespaces.values():
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        self.cable("server", "s0", "router", "r0")
        self.cable("router", "r1", "proxy", "p0")
        self.cable("proxy", "l1", "clients", "c1")
        self.cable("proxy", "l2", "clients", "c2")
        for namespace, name, prefix in (("server", "s0", f"{SERVER}/24"), ("router", "r0", "10.70.0.254/24"), ("router", "r1", "10.71.0.254/24"),
                                        ("proxy", "p0", f"{RELAY}/24"), ("proxy", "l1", "10.81.0.1/24"), ("proxy", "l2", "10.82.0.1/24")):
            self.ip(namespace, "addr", "add", prefix, "dev", name)
        self.ip("server", "route", "add", "default", "via", "10.70.0.254")
        self.ip("proxy", "route", "add", "default", "via", "10.71.0.254")
        for prefix in ("10.81.0.0/24", "10.82.0.0/24"):
            self.ip("router", "route", "add", prefix, "via", RELAY)
        pg("start", self.work / "pg")
        self.sql(f"""
            insert into subnet (name, prefix, gateway, boot_server, pool_low, pool_high, reserved_only, lease_s, relays) values
                ('l1', '10.81.0.0/24', '10.81.0.1', '10.81.0.1', '10.81.0.100', '10.81.0.199', false, 600, '{{10.81.0.1,{RELAY}}}'),
                ('l2', '10.82.0.0/24', '10.82.0.1', '10.82.0.1', '10.82.0.100', '10.82.0.199', false, 600, '{{10.82.0.1,{RELAY}}}');
            insert into node (name) values ('n1'), ('n2');
            insert into nic (mac, node_id, name, boot) select '02:aa:00:00:00:01', id, 'eth0', true from node where name = 'n1';
            insert into nic (mac, node_id, name, boot) select '02:aa:00:00:00:02', id, 'eth0', true from node where name = 'n2';
        """)
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{self.namespaces['clients']}") as namespace:
            if libc.setns(namespace.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def sql(self, text):
        return psql(f"host={self.work}/pg dbname=haas user=haas", text)

    def show(self):
        for daemon in self.daemons:
            print(log_end(self.work / f"{daemon.name}.log"))

    def end(self):
        """A clean stop, and no sanitizer complained."""
        for daemon in reversed(self.daemons):
            daemon.stop()
        for daemon in self.daemons:
            for line in daemon.log().splitlines():
                need("Sanitizer" not in line and "runtime error" not in line, line)
        step("passed")

    def down(self):
        for daemon in self.daemons:
            if daemon.process:
                daemon.process.kill()
                daemon.process.wait()
        for name in self.namespaces.values():
            run("ip", "netns", "del", name, check=False)
        if (self.work / "pg").exists():
            pg("stop", self.work / "pg")
        shutil.rmtree(self.work, ignore_errors=True)
