"""A stand-in for a switch's SNMP port whose answers are cut short: asks the switch from inside of its
namespace and passes on the first half of every answer, of every third one nothing.

snmp_cut.py ADDRESS NAMESPACE-FILE"""

import ctypes
import os
import selectors
import socket
import sys

CLONE_NEWNET = 0x40000000
CLIENTS = 64


def upstream(namespace, address):
    """A socket of the switch's own namespace."""
    sock = None
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(namespace, os.O_RDONLY)
    if libc.setns(there, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((address, 161))
    libc.setns(home, CLONE_NEWNET)
    os.close(home)
    os.close(there)
    return sock


def main():
    address, namespace = sys.argv[1:]
    front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    front.bind((address, 161))
    waiting = selectors.DefaultSelector()
    waiting.register(front, selectors.EVENT_READ, None)
    clients = {}
    answers = 0
    print("ready", flush=True)
    while True:
        for key, _ in waiting.select():
            if key.data is None:
                packet, client = front.recvfrom(65536)
                if client not in clients and len(clients) < CLIENTS:
                    clients[client] = upstream(namespace, address)
                    waiting.register(clients[client], selectors.EVENT_READ, client)
                if client in clients:
                    clients[client].send(packet)
                continue
            packet = key.fileobj.recv(65536)
            answers += 1
            if answers % 3 != 0:
                front.sendto(packet[: len(packet) // 2], key.data)


if __name__ == "__main__":
    main()
