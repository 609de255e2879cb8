"""A peregrine-flowd that says what a story wants, at the socket where portald asks for the load of ports."""
import http.server
import json
import os
import socketserver
import threading
import time
import urllib.parse


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class Flowd:
    """`minutes` is given the scope (the number of a tenant, "" for the site), and says what flowd would: a list of minutes with their rows."""

    def __init__(self, path, minutes):
        flowd = self
        self.asked, self.away = [], False

        class Handler(http.server.BaseHTTPRequestHandler):
            def address_string(self):
                return "portald"

            def log_message(self, *words):
                pass

            def do_GET(self):
                flowd.asked.append((time.monotonic(), self.path))
                scope = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("scope", [""])[0]
                body = json.dumps({"last": 100, "minutes": minutes(scope)}).encode()
                self.send_response(503 if flowd.away else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = Server(str(path), Handler)
        os.chmod(path, 0o777)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()
