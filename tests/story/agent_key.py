"""The key of a boot's agent, for stories that play one (common/io/agent_key.h, common/net/result_wire.h). Not a test."""
import ctypes
import ctypes.util
import hashlib

SODIUM = ctypes.CDLL(ctypes.util.find_library("sodium"))


def blake(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def result_statement(task, token, body):
    return f"haas-result 1\ntask {task}\nboot {blake(token.encode())}\nresult {blake(body)}\n"


def is_signed(public, signature, text):
    """Whether the key signed the text; both hex, or None."""
    try:
        data = text.encode()
        return SODIUM.crypto_sign_verify_detached(bytes.fromhex(signature), data, ctypes.c_ulonglong(len(data)), bytes.fromhex(public)) == 0
    except (TypeError, ValueError):
        return False


class AgentKey:
    """The same name gives the same key."""

    def __init__(self, name):
        public, self.secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        SODIUM.crypto_sign_seed_keypair(public, self.secret, hashlib.blake2b(name.encode(), digest_size=32).digest())
        self.public = public.raw.hex()

    def sign(self, task, token, body):
        data, signature = result_statement(task, token, body).encode(), ctypes.create_string_buffer(64)
        SODIUM.crypto_sign_detached(signature, None, data, ctypes.c_ulonglong(len(data)), self.secret)
        return signature.raw.hex()

    def headers(self, path, token, body=None):
        """What an agent says with each request; a result is signed."""
        headers = {"Haas-Agent-Key": self.public}
        if path.endswith("/result"):
            headers["Haas-Result-Signature"] = self.sign(path.split("/")[-2], token, body.encode() if isinstance(body, str) else body or b"")
        return headers
