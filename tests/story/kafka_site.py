"""A Kafka broker (librdkafka's mock cluster in a process of its own: Debian has no Kafka), a reader of it and a real ClickHouse: for the stories about flowd's export."""
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

from flow_site import FLOWD, free_port
from story import ROOT, wait_for

SIM = FLOWD.parent / "kafka_sim"
TABLES = ("share", "pair", "flow", "port")
# The column with bytes (of a port: those that left it), counted from 0.
BYTES = {"share": 14, "pair": 14, "flow": 21, "port": 9}


class Broker:
    def __init__(self):
        self.process = subprocess.Popen([SIM, "broker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def tell(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ok\n"

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0

    def messages(self, table):
        """(key, rows) of each message, repeats and all."""
        data = subprocess.run([SIM, "read", self.address, f"haas.traffic.{table}.v1"], check=True, capture_output=True).stdout
        found = []
        while data:
            head, data = data.split(b"\n", 1)
            key, size = head.decode().rsplit(" ", 1)
            found.append((key, [line.split("\t") for line in data[:int(size)].decode().splitlines()]))
            data = data[int(size):]
        return found

    def rows(self, table):
        """What a reader has that throws out repeats: one row of each (writer, batch, row); and those repeats are the same."""
        kept = {}
        for key, rows in self.messages(table):
            for row in rows:
                name = (row[1], row[2], row[3] if table != "bucket" else "0")
                assert key.startswith(f"{row[1]}:{row[2]}:{table}:"), (key, row)
                assert kept.setdefault(name, row) == row, (key, row)
        return list(kept.values())


class ClickHouse:
    """The server of Debian 12 (18.16) in `folder`."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port(socket.SOCK_STREAM)
        folder.mkdir()
        # It joins a group of readers again and again; without the short session the mock waits 45 s for those that left.
        (folder / "config.xml").write_text(f"""<yandex>
            <logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog><size>10M</size><count>1</count></logger>
            <listen_host>127.0.0.1</listen_host><http_port>{self.port}</http_port>
            <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>users.xml</users_config>
            <default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
            <kafka><auto_offset_reset>smallest</auto_offset_reset><session_timeout_ms>6000</session_timeout_ms></kafka>
        </yandex>""")
        (folder / "users.xml").write_text("""<yandex><profiles><default><max_memory_usage>1000000000</max_memory_usage></default></profiles>
            <users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
            <quotas><default></default></quotas></yandex>""")
        self.process = subprocess.Popen([shutil.which("clickhouse-server", path="/usr/sbin:/usr/bin"), f"--config-file={folder}/config.xml"],
                                        stdout=open(folder / "out", "w"), stderr=subprocess.STDOUT, cwd=folder)
        wait_for("ClickHouse answers", self.answers)

    def answers(self):
        try:
            return self.ask("select 1") == "1"
        except OSError:
            return False

    def ask(self, query):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", query.encode())
        try:
            return urllib.request.urlopen(request, timeout=60).read().decode().strip()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from None

    def run_file(self, brokers):
        text = (ROOT / "deploy/clickhouse/traffic.sql").read_text().replace("BROKERS", brokers)
        lines = [line for line in text.splitlines() if not line.startswith("--")]
        for statement in "\n".join(lines).split(";"):
            if statement.strip():
                self.ask(statement)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
