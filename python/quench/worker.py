"""Serves a plugin file to the host that has started this process, with a socket as descriptor 3.

The host runs main() of this module in the interpreter of the file; docs/worker.md is what is said on the sockets.
"""

import array
import json
import mmap
import os
import socket
import sys
import threading
import traceback

from . import abi, host
from .channel import Broken, Channel, Closed
from .confine import confine
from .describe import declared_files, describe, read_items
from .inputs import watch
from .status import DATA_LOSS, FAILED_PRECONDITION, NOT_FOUND, Error
from .surroundings import surroundings

CONTROL = 3
MAX_PACKET = 1 << 20
PIECE = 16 << 20  # bytes of a file that are handed over at once
ASIDE = 2  # the channel for threads that serve none


class Services:
    """The host's services, for plugins: quench.log and the like."""

    def __init__(self, peer, hello, flags, module):
        self._peer, self.flags, self.module = peer, flags, module
        self.seed, self.threads = hello["seed"], hello["threads"]
        self._least = hello.get("log_level", 0)

    def log(self, level, message):
        if level >= self._least:
            self._peer.call_service("quench_log", "write", level=level, message=message)

    def progress(self, what, done, total):
        self._peer.call_service("quench_progress", "report", what=what, done=done, total=total)

    def sign(self):
        self._peer.give_sign()

    def note_input(self, flags, name):
        if self._peer.reaches_host():
            self._peer.call_service("quench_input_service", "note", flags=flags, name=name)

    def read_file(self, path):
        opened = self._peer.call_service("quench_input_service", "open", path=path)
        pieces = []
        for offset in range(0, opened.size, PIECE):
            pieces.append(bytes(self._peer.call_service("quench_input_service", "read", path=path, offset=offset,
                                                        bytes=min(PIECE, opened.size - offset))))
        return b"".join(pieces)


def receive(control):
    """The next packet: its JSON and its descriptors; None where the host has closed the socket."""
    room = socket.CMSG_SPACE(8 * array.array("i").itemsize)
    data, ancillary, flags, _ = control.recvmsg(MAX_PACKET, room)
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[:len(content) - len(content) % descriptors.itemsize])
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if not data:
        return None
    if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
        raise Error(DATA_LOSS, "a packet of the host is larger than 1 MiB")
    return json.loads(data), list(descriptors)


def expect(descriptors, wanted, what):
    if len(descriptors) != wanted:
        raise Error(DATA_LOSS, "%s came with %d descriptors, wanted %d" % (what, len(descriptors), wanted))
    return descriptors


def check_version(hello):
    """The description of the interface, which must be the host's."""
    description = abi.load()
    if hello.get("format") != 1 or hello["description"] != description.sha256:
        raise Error(FAILED_PRECONDITION, "the Python package quench is of another version than the program: "
                    "its abi.json has the SHA-256 %s, the program's %s" % (description.sha256, hello["description"]))
    return description


def describe_module(hello):
    """What to answer to a host that asks what the file is: it is read, and nothing of it runs."""
    try:
        check_version(hello)
        confine(hello.get("sandbox"))
        path = hello["module"]
        items = read_items(path)
        return {"ready": {**describe(path, items), "surroundings": surroundings(path, declared_files(path, items))}}
    except (Error, OSError) as failure:
        return {"failed": str(failure)}
    except Exception as failure:  # noqa: BLE001
        return {"failed": traceback.format_exception_only(type(failure), failure)[-1].strip()}


def get_ready(message, descriptors):
    """The peer, and what to answer to `hello`."""
    # With numpy, which is not needed to describe a file.
    from .kinds import TABLES  # noqa: PLC0415
    from .peer import Peer  # noqa: PLC0415
    from .plugin import Plugin  # noqa: PLC0415

    hello = message["hello"]
    flags, = expect(descriptors, 1, "hello")
    description = check_version(hello)
    # What reads the file's text runs nothing of it; from here on foreign code may be imported.
    in_force = confine(hello.get("sandbox"))
    plugin = Plugin(hello["module"])
    for path in declared_files(plugin.path, plugin.items):
        if not os.path.isfile(path):
            raise Error(NOT_FOUND, "%s: reads %s, which is no file" % (plugin.path, path))
    peer = Peer(description, plugin.path)
    for number, item in enumerate(plugin.items, 1):
        peer.exports.add_table_as(number, description.table_of_kind[item.kind], TABLES[item.kind](plugin, item))
    # None of what it computes with is the host's.
    ready = {**describe(plugin.path, plugin.items), "libraries": [], "sandbox": in_force}
    host.current = Services(peer, hello, mmap.mmap(flags, mmap.PAGESIZE, access=mmap.ACCESS_READ), ready["module"]["id"])
    os.close(flags)
    watch(plugin, host.current.note_input)
    return peer, ready


def serve(peer, channel):
    """What a thread does with its channel. A host that cannot be understood is left, so that it notices."""
    try:
        peer.serve_on(channel)
    except (Broken, Closed) as failure:
        print("quench worker: %s" % (str(failure) or "the connection is closed"), file=sys.stderr)
        sys.stderr.flush()
        os._exit(4)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(4)


def take_channel(peer, message, descriptors):
    connection, host_memory, own_memory = expect(descriptors, 3, "a channel")
    channel = Channel(connection, host_memory, own_memory, peer.serve)
    if message["channel"] == ASIDE:
        peer.set_aside(channel)
    else:
        threading.Thread(target=serve, args=(peer, channel), daemon=True).start()


def main():
    sys.dont_write_bytecode = True
    try:
        control = socket.socket(fileno=CONTROL)
        is_control = control.type == socket.SOCK_SEQPACKET
    except OSError:
        is_control = False
    if not is_control:
        sys.exit("quench.worker is run by quench itself, with descriptor 3 open")
    control.set_inheritable(False)
    first = receive(control)
    if first is None:
        return
    hello = first[0].get("hello", {})
    if hello.get("describe"):
        control.send(json.dumps(describe_module(hello), sort_keys=True).encode())
        return
    path = hello.get("module")
    try:
        peer, ready = get_ready(*first)
    except Exception as failure:  # noqa: BLE001
        from .peer import explain  # noqa: PLC0415

        control.send(json.dumps({"failed": explain(failure, path)[1]}).encode())
        sys.exit(1)
    control.send(json.dumps({"ready": ready}).encode())
    while True:
        packet = receive(control)
        if packet is None:
            sys.stderr.flush()
            os._exit(0)  # threads may be at work for a host that is gone
        take_channel(peer, *packet)


if __name__ == "__main__":
    main()
