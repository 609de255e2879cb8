"""What every driver of switches must do, against an emulator of another hand: each membership from each other, saving, every fault. Whatever happens,
an edit that is called taken is there, one that is called refused is not, and a host key that is not the pinned one gets no password. Used by the
stories of the ways in: switch_cli, switch_netconf."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from story import BIN, programs, skip

try:
    import paramiko
except ImportError:
    skip("python3-paramiko is missing")

programs("switch_cli", "switch_ask")

PASSWORD = "s3cret"
SEED = "vlan 77 foreign\nmac 2 77 52:54:00:00:00:02\nneighbor 1 52:54:00:00:00:aa Ethernet1/7 spine1\n"


class Kind:
    """A kind of switch: `word` names it here, `emulate` are the emulator's options, `family` and `driver` ours, `shows` prints its configuration."""

    def __init__(self, word, emulate, family, driver, shows, needs_native=False, has_modes=True, has_lock=True):
        self.has_lock = has_lock  # without, anybody may configure at any time
        self.word, self.emulate, self.family, self.driver, self.shows = word, emulate, family, driver, shows
        self.needs_native = needs_native  # a trunk of these cannot drop untagged frames: refused, not half done
        self.has_modes = has_modes  # without, a trunk that carries nothing with a tag is an access port


class Switch:
    started = []

    def __init__(self, folder, kind):
        self.kind, self.word = kind, kind.word
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder, prefix=kind.word + "."))
        (self.folder / "seed").write_text(SEED)
        (self.folder / "faults").write_text("")
        (self.folder / "password").write_text(PASSWORD + "\n")
        self.process = subprocess.Popen(
            [BIN / "switch_cli", *kind.emulate, "--ports", "8", "--seed", self.folder / "seed", "--faults", self.folder / "faults",
             "--password-file", self.folder / "password"], stdout=subprocess.PIPE, text=True)
        Switch.started.append(self.process)
        ready = self.process.stdout.readline().split()
        assert ready and ready[0] == "ready", f"{kind.word}: {ready}"
        self.port = int(ready[2])
        self.secrets()

    def secrets(self, **changes):
        words = {"ssh_user": "admin", "ssh_password": PASSWORD, "ssh_enable": PASSWORD, "host_key": "any"} | changes
        (self.folder / "secrets").write_text("".join(f"{k}={v}\n" for k, v in words.items()))

    def faults(self, words=""):
        (self.folder / "faults.new").write_text(words + "\n")
        (self.folder / "faults.new").rename(self.folder / "faults")

    def ask(self, *words, deadline=20000):
        done = subprocess.run(
            [BIN / "switch_ask", "--address", "127.0.0.1", "--cli-port", str(self.port), "--netconf-port", str(self.port), "--secrets",
             self.folder / "secrets", "--family", self.kind.family, "--driver", self.kind.driver, "--deadline", str(deadline), *words], capture_output=True, text=True, timeout=60)
        assert PASSWORD not in done.stdout + done.stderr, "a secret was printed"
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def change(self, *edits, **more):
        return self.ask("change", *edits, **more)

    def good(self, *edits):
        answer = self.change(*edits)
        assert answer["result"] == "ok" and set(answer["results"]) == {"taken"}, f"{self.word} {edits}: {answer}"

    def read(self, parts="vlans,ports"):
        answer = self.ask("read", "--parts", parts)
        assert answer["result"] == "ok", f"{self.word}: {answer}"
        return answer

    def port_names(self):
        ports = [p["name"] for p in self.read()["ports"] if not re.match(r"(?i)(po|lag|trk|bridge|mgmt)", p["name"])]
        if len(ports) < 4 and self.word.startswith("sonic"):  # only members stand in its table
            ports = ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"]
        return ports

    def is_now(self):
        """By the driver: the VLANs, and "access V" or "trunk N T" of each port."""
        reading = self.read()
        ports = {p["name"]: ("trunk %d %s" % (p["native"], p["tagged"]) if p["trunk"] else "access %d" % p["native"])
                 for p in reading["ports"] if "trunk" in p}
        return {v["id"] for v in reading["vlans"]}, ports

    def shows(self, text=None):
        """By the switch, to somebody else. Without a terminal."""
        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
        client.connect("127.0.0.1", self.port, "admin", PASSWORD, look_for_keys=False, allow_agent=False, timeout=60, banner_timeout=60, auth_timeout=60)
        answer = client.exec_command(text or self.kind.shows, timeout=60)[1].read().decode().replace("\r", "")
        client.close()
        return answer

    def types(self, *lines):
        """By hand, in configuration mode: what is not refused stands."""
        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
        client.connect("127.0.0.1", self.port, "admin", PASSWORD, look_for_keys=False, allow_agent=False, timeout=60, banner_timeout=60, auth_timeout=60)
        channel = client.invoke_shell(width=200)
        channel.settimeout(60)

        def until_prompt(after=""):
            seen = ""
            while not re.search(re.escape(after) + r"[\s\S]*([#>\]]|assword:|continue) *$", seen):
                got = channel.recv(65536).decode(errors="replace")
                assert got, f"{self.word} ended the session: {seen}"
                seen = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", seen + got)
            return seen

        seen = until_prompt()
        if "any key" in seen:
            channel.send(" ")
            seen = until_prompt()
        mode = {"comware": ["system-view"], "sonic": []}.get(self.word, ["configure terminal" if self.word in ("ios", "nxos", "aoscx", "os10") else "configure"])
        for line in ([] if self.word in ("comware", "sonic") or seen.rstrip().endswith("#") else ["enable"]) + mode + list(lines):
            channel.send(line + "\r")
            seen = until_prompt(line)
            if "assword" in seen:
                channel.send(PASSWORD + "\r")
                seen = until_prompt()
            assert not re.search(r"(?i)invalid|error|incomplete|refused|unrecognized", seen), f"{self.word} {line}: {seen}"
        client.close()

    def end(self):
        self.process.terminate()
        assert self.process.wait(60) == 0, "the emulator did not end well"


def expect(switch, port, what):
    ports = switch.is_now()[1]
    assert ports.get(port, "access 1").strip() == what, f"{switch.word} {port}: {ports.get(port)}, not {what}"


def changes(switch):
    """Each way from one membership to another; nothing of the one before stays."""
    one, two = switch.port_names()[:2]
    switch.good("vlan+:110:acme", "vlan+:120:blue", "vlan+:130:")
    assert {110, 120, 130, 77} <= switch.is_now()[0]
    for member in ("access:110", "access:120", "trunk:110:120,130", "trunk:120:110", "access:130", "trunk:110:", "trunk:130:110,120", "access:110"):
        switch.good(f"port:{one}:{member}")
        if not switch.kind.has_modes and member == "trunk:110:":
            member = "access:110"
        expect(switch, one, member.replace(":", " ").strip())
    answer = switch.change(f"port:{two}:trunk:0:110,120")
    if switch.kind.needs_native:
        assert answer["result"] == "unsupported" and answer["results"] == ["refused"], f"{switch.word}: {answer}"
    else:
        assert answer["result"] == "ok", f"{switch.word}: {answer}"
        expect(switch, two, "trunk 0 110,120")
    switch.good(f"port:{two}:access:120")
    expect(switch, one, "access 110")
    # Somebody else sees the same, and what is not ours was not touched.
    text = switch.shows()
    assert all(re.search(rf"(?<!\d){vlan}(?!\d)", text) for vlan in (77, 110)), text
    switch.good(f"port:{one}:access:120", "vlan-:110:", "vlan-:130:")
    vlans = switch.is_now()[0]
    assert not vlans & {110, 130} and {77, 120} <= vlans, vlans
    return f"{switch.word}: 8 memberships"


def saving(switch):
    port = switch.port_names()[0]
    switch.good("vlan+:140:kept", f"port:{port}:access:140")
    answer = switch.ask("save")
    assert answer["result"] == "ok", f"{switch.word}: {answer}"
    switch.faults("reboot=1")
    switch.ask("read", "--parts", "vlans")  # whoever asks it has it look at its faults first
    switch.faults("")
    expect(switch, port, "access 140")
    switch.good("vlan+:150:lost", f"port:{port}:access:150")
    switch.faults("reboot=2")
    switch.ask("read", "--parts", "vlans")  # whoever asks it has it look at its faults first
    switch.faults("")
    expect(switch, port, "access 140")
    # A switch that says that it saved and did not is not believed after the reboot: what is read is what is there.
    switch.good("vlan+:160:lost", f"port:{port}:access:160")
    switch.faults("lost_save")
    assert switch.ask("save")["result"] == "ok", "a driver cannot know"
    switch.faults("reboot=3")
    switch.ask("read", "--parts", "vlans")
    switch.faults("")
    expect(switch, port, "access 140")
    assert 160 not in switch.is_now()[0]


# Faults, and what the answer may be called. What is called "ok" must be so in any case.
FAULTS = [
    ("refuse=pvid,untagged", {"conflict"}), ("refuse=egress", None), ("refuse=all", {"conflict", "denied"}), ("lost_write=pvid,untagged", {"protocol", "conflict"}),
    ("lost_write=all", {"protocol", "conflict", "denied"}), ("partial=1", {"unavailable", "timeout"}), ("partial=3", None), ("lock", {"busy"}),
    ("endless", {"limit", "timeout"}), ("silent", {"timeout"}), ("garbage", None), ("slow=0.05", {"ok"}), ("slow_change=2", {"ok"}), ("slow_change=4", {"timeout"}),
    ("reboot_after=1", {"unavailable", "timeout"}), ("reboot_after=3", {"unavailable", "timeout", "ok"}),  # by then some had all they were told
]
# ms; who works slowly is given up while it still works; of who is silent no more is learned by waiting longer.
DEADLINES = {"slow_change=2": 40000, "slow_change=4": 3000, "silent": 2500, "garbage": 4000}


def faults(switch):
    one, two = switch.port_names()[:2]
    switch.good("vlan+:110:acme", "vlan+:120:blue")
    seen = []
    for words, may in FAULTS:
        end = time.monotonic() + 30  # a session that was given up may hold its lock until the switch has noticed
        while switch.change(f"port:{one}:access:110", f"port:{two}:access:120")["result"] == "busy" and time.monotonic() < end:
            time.sleep(0.2)
        switch.good(f"port:{one}:access:110", f"port:{two}:access:120")
        if words.startswith("reboot_after"):
            assert switch.ask("save")["result"] == "ok"  # what it comes back with is what was before
        switch.faults(words if "=" in words else words + "=1")
        answer = switch.change(f"port:{one}:access:120", f"port:{two}:access:110", deadline=DEADLINES.get(words, 8000))
        switch.faults("")
        result, results = answer["result"], answer["results"]
        if words == "lock" and not switch.kind.has_lock:
            may = {"ok"}
        assert may is None or result in may, f"{switch.word} {words}: {answer}"
        assert words != "lock" or result == "ok" or "locked by another" in answer["problem"]["message"], f"{switch.word}: {answer}"
        ports = switch.is_now()[1]
        for port, before, after, said in ((one, 110, 120, results[0]), (two, 120, 110, results[1])):
            if said == "taken":
                assert ports[port] == f"access {after}", f"{switch.word} {words}: {port} was called taken, is {ports[port]}: {answer}"
            elif said in ("refused", "not_tried"):
                assert ports[port] == f"access {before}", f"{switch.word} {words}: {port} was called {said}, is {ports[port]}: {answer}"
        assert (result == "ok") == (set(results) == {"taken"}), f"{switch.word} {words}: {answer}"
        seen.append(f"{words}={result}")
    return f"{switch.word}: " + " ".join(seen)


def sessions(switch):
    """Somebody has the only session that may be: nothing is tried. When he lets go, all is."""
    port = switch.port_names()[0]
    switch.good("vlan+:110:acme", "vlan+:120:blue", f"port:{port}:access:110")
    holder = paramiko.SSHClient()
    holder.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    holder.connect("127.0.0.1", switch.port, "admin", PASSWORD, look_for_keys=False, allow_agent=False, timeout=10)
    holder.invoke_shell()
    switch.faults("sessions=1")
    answer = switch.change(f"port:{port}:access:120")
    assert answer["result"] != "ok" and answer["results"] == ["not_tried"], f"{switch.word}: {answer}"
    holder.close()
    end = time.monotonic() + 30
    while (again := switch.change(f"port:{port}:access:120"))["result"] != "ok":
        assert again["results"] in (["not_tried"], ["unknown"]) and time.monotonic() < end, f"{switch.word}: {again}"
        time.sleep(0.1)
    switch.faults("")
    expect(switch, port, "access 120")
    return f"{switch.word}: sessions=1 {answer['result']}"


def trust(switch):
    shown = switch.ask("save")
    assert shown["result"] == "ok", shown
    switch.secrets(host_key="SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    other = switch.ask("save")
    assert other["result"] == "authentication" and "another SSH host key" in other["problem"]["message"], other
    known = re.search(r"shows (SHA256:\S+),", other["problem"]["detail"]).group(1)
    switch.secrets(host_key=known)
    assert switch.ask("save")["result"] == "ok"
    switch.secrets(host_key="")
    unknown = switch.ask("save")
    assert unknown["result"] == "authentication" and known in unknown["problem"]["detail"], unknown
    switch.secrets(ssh_password="wrong")
    wrong = switch.ask("save")
    assert wrong["result"] == "authentication" and "user" in wrong["problem"]["message"], wrong
    switch.secrets()


def one_kind(folder, kind, with_faults):
    switch = Switch(folder, kind)
    lines = [changes(switch)]
    saving(switch)
    if with_faults:
        lines += [faults(switch), sessions(switch)]
    trust(switch)
    switch.end()
    return lines


def run(kinds, more=(), at_once=3, faulty=None):
    """Every kind, and what a story has besides: functions of a folder that give lines. Faults, which take most of the time, are tried with the kinds whose words are
    in `faulty`, or with all."""
    faulty = {kind.word for kind in kinds} if faulty is None else faulty & {kind.word for kind in kinds}
    folder = tempfile.mkdtemp(prefix="haas-switch.")
    failed = 0
    try:
        with ThreadPoolExecutor(at_once) as pool:
            # What takes longest begins first: nothing of it is left over when all else has ended.
            futures = [(kind.word, pool.submit(one_kind, folder, kind, True)) for kind in kinds if kind.word in faulty]
            futures += [(job.__name__, pool.submit(job, folder)) for job in more]
            futures += [(kind.word, pool.submit(one_kind, folder, kind, False)) for kind in kinds if kind.word not in faulty]
            for word, future in futures:
                try:
                    print("\n".join(future.result()), flush=True)
                except Exception as why:  # pylint: disable=broad-except
                    print(f"FAILED {word}: {type(why).__name__} {why}", flush=True)
                    failed += 1
    finally:
        for process in Switch.started:
            if process.poll() is None:
                process.kill()
        shutil.rmtree(folder, ignore_errors=True)
    if failed:
        sys.exit(1)
    print(f"{len(kinds)} kinds, {len(faulty)} of them with {len(FAULTS)} faults each")
