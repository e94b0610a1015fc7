#!/usr/bin/env python3
"""One exchange with a worker, as docs/worker.md shows it: this script is the host, `quench __worker` the worker.

    worker_exchange.py QUENCH PLUGIN.so ABI.json [--check PAGE]

Prints the messages of both sides; with --check, says whether they are those of the page.
"""
import fcntl
import hashlib
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys

MEMORY = 64 << 30
SHRINK, GROW, SEAL = 2, 4, 1


def memory(size, sealed=False):
    made = os.memfd_create("quench", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(made, size)
    if sealed:
        fcntl.fcntl(made, fcntl.F_ADD_SEALS, SHRINK | GROW | SEAL)
    return made


def blob(data):
    """A blob of at most 1024 bytes: its length, then its bytes."""
    return struct.pack("<Q", len(data)) + data + bytes(-len(data) % 8)


def hex_lines(data):
    return [f"    {data[at:at + 16].hex(' ')}".rstrip() for at in range(0, len(data), 16)]


def receive(channel, count):
    data = b""
    while len(data) < count:
        part = channel.recv(count - len(data))
        if not part:
            sys.exit("the worker has ended")
        data += part
    return data


class Host:
    def __init__(self, quench, plugin, abi):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.worker = subprocess.Popen([quench, "__worker"], preexec_fn=lambda: os.dup2(theirs.fileno(), 3), pass_fds=[3])
        theirs.close()
        hello = {"hello": {"format": 1, "abi": json.loads(abi.read_text())["abi"],
                           "description": hashlib.sha256(abi.read_bytes()).hexdigest(), "module": str(plugin.resolve()),
                           "seed": 0, "threads": 1, "instructions": 0, "sandbox": None}}
        socket.send_fds(self.control, [json.dumps(hello).encode()], [memory(4096)])
        self.ready = json.loads(self.control.recv(1 << 20))
        if "failed" in self.ready:
            sys.exit(f"the worker says: {self.ready['failed']}")
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        socket.send_fds(self.control, [b'{"channel": 1}'], [theirs.fileno(), memory(MEMORY, True), memory(MEMORY, True)])
        theirs.close()
        self.calls = 0

    def call(self, function, target, body):
        """The bytes of the call and of its reply."""
        self.calls += 1
        sent = struct.pack("<IHHQQQ", len(body), 1, function, target, self.calls, 0) + body
        self.channel.sendall(sent)
        header = receive(self.channel, 32)
        return sent, header + receive(self.channel, struct.unpack_from("<I", header)[0])

    def close(self):
        self.control.close()
        self.worker.wait(30)


def exchange(quench, plugin, abi):
    host = Host(quench, plugin, abi)
    parameters = b'{"bits": 4}'
    create = blob(parameters) + struct.pack("<Q", len(parameters))
    out = []
    (item,) = host.ready["ready"]["items"]
    out.append(f"{item['kind']} {item['id']}, target 1")
    sent, made = host.call(0, 1, create)
    out += ["host → worker, create:", *hex_lines(sent), "worker → host:", *hex_lines(made)]
    quantizer = made[-8:]
    sent, needs = host.call(2, 1, quantizer)
    out += ["host → worker, needs:", *hex_lines(sent), "worker → host:", *hex_lines(needs)]
    host.call(1, 1, quantizer)  # destroy
    host.close()
    return out


def main():
    quench, plugin, abi, *rest = sys.argv[1:]
    lines = exchange(quench, pathlib.Path(plugin), pathlib.Path(abi))
    if not rest:
        print("\n".join(lines))
        return
    page = pathlib.Path(rest[1]).read_text()
    shown = re.search(r"```text exchange\n(.*?)\n```", page, re.S)
    if shown is None or shown[1].splitlines() != lines:
        sys.exit(f"{rest[1]}: the exchange is:\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
