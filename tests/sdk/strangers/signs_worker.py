#!/usr/bin/python3 -IS
"""A worker that knows docs/worker.md and nothing of the package `quench`: it serves the quantizer `signs`, whose weights
keep their sign and get the mean size of their row."""
import array
import itertools
import json
import mmap
import os
import socket
import struct
import sys
import threading

MODULE = {"id": "signs", "version": "0.1.0", "build": "by hand"}
FUNCTIONS = ["create", "destroy", "needs", "begin", "observe", "quantize", "end"]
ITEM = {"kind": "quantizer", "id": "signs"}
DESCRIBED = {**ITEM, "version": "0.1.0", "summary": "Keeps signs and the mean size of a row.", "reference": "", "example": "",
             "parameters": [], "presets": {}, "model_types": [], "instance": {"needs": 0, "functions": []}}
OK, NUMERICAL = 0, 7
NULL = 2 ** 64 - 1
INLINE = 1024
NUMBERS = itertools.count(2)  # of states; the quantizer is 1
FIRST = 256 << 20  # the pages before may be pinned, and are not used


class Reader:
    def __init__(self, body, memory):
        self.body, self.memory, self.at = body, memory, 0

    def u64(self):
        self.at += 8
        return struct.unpack_from("<Q", self.body, self.at - 8)[0]

    def blob(self):
        size = self.u64()
        if size == NULL:
            return None
        if size > INLINE:
            first = self.u64()
            return self.memory[first:first + size]
        self.at += (size + 7) // 8 * 8
        return self.body[self.at - (size + 7) // 8 * 8:][:size]

    def shape(self):
        """(element's letter, sizes) of a tensor in host memory."""
        assert self.u64() == 1
        bits = self.u64() >> 8 & 255
        self.u64(), self.u64()
        return {32: "f", 64: "d"}[bits], [self.u64() for _ in range(self.u64())]


class Channel:
    objects = {}  # by number, of all channels

    def __init__(self, connection, host, own):
        self.connection = connection
        self.host = mmap.mmap(host, 0, access=mmap.ACCESS_READ)
        self.own = mmap.mmap(own, 0)
        self.used, self.calls = FIRST, 0

    def read(self, size):
        out = b""
        while len(out) < size:
            out += self.connection.recv(size - len(out)) or sys.exit(0)
        return out

    def message(self):
        size, kind, function, target, number, _ = struct.unpack("<IHHQQQ", self.read(32))
        return kind, function, target, number, Reader(self.read(size), self.host)

    def send(self, kind, function, target, number, body):
        self.connection.sendall(struct.pack("<IHHQQQ", len(body), kind, function, target, number, 0) + body)

    def blob(self, data):
        if data is None:
            return struct.pack("<Q", NULL)
        if len(data) <= INLINE:
            return struct.pack("<Q", len(data)) + data + bytes(-len(data) % 8)
        first, self.used = self.used, self.used + (len(data) + 63) // 64 * 64
        self.own[first:first + len(data)] = data
        return struct.pack("<QQ", len(data), first)

    def call(self, target, function, body):
        self.calls += 1
        self.send(1, function, target, self.calls, body)
        kind, _, _, number, reply = self.message()
        assert (kind, number) == (2, self.calls)
        status = reply.u64()
        assert status == OK, bytes(reply.blob()).decode()

    def serve(self):
        while True:
            self.used = FIRST
            kind, function, target, number, body = self.message()
            assert kind == 1
            self.send(2, function, target, number, getattr(self, FUNCTIONS[function])(body))

    def done(self, *numbers, message=None, status=OK):
        return struct.pack("<q", status) + self.blob(message) + struct.pack("<%dQ" % len(numbers), *numbers)

    def create(self, body):
        return self.done(1)

    def destroy(self, body):
        return b""

    def needs(self, body):
        return struct.pack("<Q", 0)

    def begin(self, body):
        for _ in range(6):  # the quantizer; args are there; flags, block, group; info is there
            body.u64()
        for _ in range(4):  # stage, input, rows, expert
            body.u64()
        body.u64()
        linears = []
        for _ in range(body.u64() - 1):
            body.u64()
            _, _, weight, _ = (body.blob() for _ in range(4))
            linears.append((bytes(weight).decode(), body.u64(), body.u64()))
        state = next(NUMBERS)
        self.objects[state] = linears
        return self.done(state)

    def observe(self, body):
        return self.done()

    def end(self, body):
        body.u64()
        del self.objects[body.u64()]
        return b""

    def quantize(self, body):
        body.u64()
        linears = self.objects[body.u64()]
        body.u64(), body.u64()  # args are there; flags
        name, rows, columns = linears[body.u64()]
        letter, _ = body.shape()
        weight = array.array(letter, bytes(body.blob()))
        body.shape()
        sink, _ = body.u64(), body.u64()
        codes, scales = bytearray(rows * columns), array.array("f", bytes(4 * rows))
        for row in range(rows):
            values = weight[row * columns:(row + 1) * columns]
            size = sum(map(abs, values)) / columns
            if not size < float("inf"):
                return self.done(message=b"%s: a weight is not finite" % name.encode(), status=NUMERICAL) + struct.pack("<Q", 0)
            scales[row] = size
            for column, value in enumerate(values):
                step = (value > 0) - (value < 0)
                codes[row * columns + column] = step + 1
                weight[row * columns + column] = step * scales[row]
        made = [("codes", 8, 1, codes, (rows, columns)), ("scales", 32, 2, scales.tobytes(), (rows, 1)),
                ("zeros", 32, 2, array.array("f", [1] * rows).tobytes(), (rows, 1)), ("g_idx", 32, 0, bytes(4 * columns), (columns,))]
        for text, bits, code, _, shape in made:
            sizes = struct.pack("<%dq" % len(shape), *shape)
            self.call(sink, 0, self.blob(text.encode()) + struct.pack("<QQ", code + 256 * bits + 65536, len(shape)) + self.blob(sizes))
        self.call(sink, 1, self.blob(b"bits_per_weight") + struct.pack("<d", 2 + 32 / columns))
        out = self.done() + self.blob(weight.tobytes()) + struct.pack("<Q", len(made))
        return out + b"".join(struct.pack("<QQ", sink, place) + self.blob(bytes(data)) for place, (_, _, _, data, _) in enumerate(made))


def packet(control):
    data, ancillary, _, _ = control.recvmsg(1 << 20, socket.CMSG_SPACE(32))
    descriptors = array.array("i")
    for _, _, content in ancillary:
        descriptors.frombytes(content)
    return json.loads(data or "null"), list(descriptors)


control = socket.socket(fileno=3)
hello = packet(control)[0]["hello"]
if hello.get("describe"):
    control.send(json.dumps({"ready": {"module": MODULE, "items": [DESCRIBED], "links": []}}).encode())
    sys.exit(0)
ready = {"module": MODULE, "items": [{**ITEM, "functions": FUNCTIONS}], "libraries": []}
control.send(json.dumps({"ready": ready}).encode())
while True:
    message, descriptors = packet(control)
    if message is None:
        os._exit(0)
    if message["channel"] == 1:
        channel = Channel(socket.socket(fileno=descriptors[0]), *descriptors[1:])
        threading.Thread(target=channel.serve, daemon=True).start()
