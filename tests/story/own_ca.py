"""A CA with the dates that a story wants; `haasctl ca create` makes none that has ended."""
import datetime

from story import run

CONF = """[ca]
default_ca = d
[d]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = p
x509_extensions = e
[p]
organizationName = supplied
commonName = supplied
[e]
basicConstraints = critical,CA:TRUE
"""


def make_ca(folder, site, first, last):
    """FOLDER/ca.key and FOLDER/ca.crt of `site`, good from `first` to `last` days from now."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("conf", CONF), ("index", ""), ("serial", "01\n")):
        (folder / name).write_text(text)
    dates = [(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)).strftime("%Y%m%d%H%M%SZ") for days in (first, last)]
    run("openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", f"/O={site}/CN=haas site CA", "-keyout", "ca.key", "-out", "request", cwd=folder)
    run("openssl", "ca", "-batch", "-notext", "-selfsign", "-config", "conf", "-keyfile", "ca.key", "-in", "request", "-out", "ca.crt", "-startdate", dates[0], "-enddate", dates[1], cwd=folder)
    (folder / "ca.key").chmod(0o600)
