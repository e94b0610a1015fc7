"""A host for tests: it speaks the protocol by itself, byte by byte, and shares nothing with the worker's code."""

import array
import fcntl
import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import unittest

try:
    import numpy
except ImportError:
    print("SKIPPED: Python has no numpy here")
    raise unittest.SkipTest("Python has no numpy here") from None

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ABI_PATH = os.path.join(PACKAGE, "quench", "abi.json")
with open(ABI_PATH, "rb") as file:
    ABI_TEXT = file.read()
ABI = json.loads(ABI_TEXT)
NULL = 2 ** 64 - 1
F_ADD_SEALS, SEALS = 1033, 0x1 | 0x2 | 0x4  # seal, shrink, grow
FLOAT32, FLOAT64, INT32, INT64, UINT8 = (2 | 32 << 8 | 1 << 16, 2 | 64 << 8 | 1 << 16, 32 << 8 | 1 << 16,
                                         64 << 8 | 1 << 16, 1 | 8 << 8 | 1 << 16)
BFLOAT16 = 4 | 16 << 8 | 1 << 16
DTYPES = {"float32": FLOAT32, "float64": FLOAT64, "int32": INT32, "int64": INT64, "uint8": UINT8}
NAMES = {number: name for name, number in DTYPES.items()}


def function_number(table, name):
    group = ABI["tables"].get(table) or ABI["interfaces"][table]
    return [function if isinstance(function, str) else function["name"] for function in group["functions"]].index(name)


def service_number(service, name):
    return next(function["number"] for function in ABI["services"][service]["functions"] if function["name"] == name)


def mask(interface, *names):
    return sum(1 << function_number(interface, name) for name in names)


class Failure(Exception):
    def __init__(self, status, message):
        super().__init__("%d: %s" % (status, message))
        self.status, self.message = status, message


class Body:
    """A body that is written."""

    def __init__(self, channel):
        self._channel, self.data = channel, b""

    def u64(self, *values):
        for value in values:
            self.data += struct.pack("<Q", value)
        return self

    def i64(self, *values):
        for value in values:
            self.data += struct.pack("<q", value)
        return self

    def f64(self, value):
        self.data += struct.pack("<d", value)
        return self

    def blob(self, data):
        if data is None:
            return self.u64(NULL)
        data = bytes(data)
        self.u64(len(data))
        if len(data) > 1024:
            return self.u64(self._channel.keep(data))
        self.data += data + b"\0" * (-len(data) % 8)
        return self

    def text(self, text):
        return self.blob(None if text is None else text.encode())

    def shape(self, dtype, shape):
        return self.u64(1, dtype).i64(1, 0).u64(len(shape)).i64(*shape)

    def tensor(self, value, dtype=None):
        if value is None:
            return self.u64(0)
        value = numpy.ascontiguousarray(value)
        self.shape(dtype or DTYPES[str(value.dtype)], value.shape)
        return self.blob(value.tobytes())


class Answer:
    """A body that is read."""

    def __init__(self, data, memory):
        self._data, self._memory, self._at = data, memory, 0

    def _take(self, count):
        assert self._at + count <= len(self._data), "the body ends too early"
        self._at += count
        return self._data[self._at - count:self._at]

    def u64(self):
        return struct.unpack("<Q", self._take(8))[0]

    def i64(self):
        return struct.unpack("<q", self._take(8))[0]

    def f64(self):
        return struct.unpack("<d", self._take(8))[0]

    def blob(self):
        size = self.u64()
        if size == NULL:
            return None
        if size > 1024:
            at = self.u64()
            assert at % 64 == 0, "a value that is not aligned"
            return os.pread(self._memory, size, at)
        return self._take((size + 7) // 8 * 8)[:size]

    def text(self):
        data = self.blob()
        return None if data is None else data.decode()

    def shape(self):
        if self.u64() == 0:
            return None
        dtype = self.u64()
        assert (self.i64(), self.i64()) == (1, 0)
        return dtype, [self.i64() for _ in range(self.u64())]

    def tensor(self):
        dtype, shape = self.shape()
        return self.array(NAMES[dtype], shape)

    def array(self, dtype, shape=None):
        data = self.blob()
        values = None if data is None else numpy.frombuffer(data, dtype)
        return values if shape is None else values.reshape(shape)

    def status(self):
        """Raises Failure unless the call succeeded."""
        status, message = self.i64(), self.text()
        if status != 0:
            raise Failure(status, message)
        return self

    def finish(self):
        assert self._at == len(self._data), "%d bytes are left" % (len(self._data) - self._at)


class HostChannel:
    def __init__(self, worker, number):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.own, self.other = worker.memory(64 << 30), worker.memory(64 << 30)
        worker.send({"channel": number}, [theirs.fileno(), self.own, self.other])
        theirs.close()
        self._calls, self._top = 0, 0
        self.signs = 0  # of life that the worker gave
        self.noted = []  # (flags, name) of what the plugin read by itself
        self.refused = None  # the name of a file that is not what the key says

    def close(self):
        self._socket.close()

    def keep(self, data):
        at = self._top
        os.pwrite(self.own, data, at)
        self._top = (at + len(data) + 63) // 64 * 64
        return at

    def body(self):
        return Body(self)

    def _read(self, count):
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise EOFError("the worker is gone")
            data += part
        return data

    def call(self, target, function, body=None, serve=None):
        """The answer. `serve(target, function, answer, reply)` answers the worker's calls meanwhile."""
        self._calls += 1
        data = b"" if body is None else body.data
        self._socket.sendall(struct.pack("<IHHQQQ", len(data), 1, function, target, self._calls, 0) + data)
        while True:
            size, kind, got_function, got_target, number, reserved = struct.unpack("<IHHQQQ", self._read(32))
            assert size % 8 == 0 and reserved == 0
            if kind == 3:
                assert (size, got_function, got_target, number) == (0, 0, 0, 0)
                self.signs += 1
                continue
            answer = Answer(self._read(size), self.other)
            if kind == 2:
                assert (got_target, got_function, number) == (target, function, self._calls)
                self._top = 0
                return answer
            self._serve(got_target, got_function, number, answer, serve)

    def _serve(self, target, function, number, answer, serve):
        reply = self.body()
        if (target, function) == (0, service_number("quench_input_service", "note")):
            self.noted.append((answer.u64(), answer.text()))
            refuses = self.refused is not None and self.noted[-1][1].endswith(self.refused)
            reply.i64(11 if refuses else 0).text("other bytes" if refuses else None)
        else:
            assert serve is not None, "the worker called function %d of %d" % (function, target)
            serve(target, function, answer, reply)
        answer.finish()
        self._socket.sendall(struct.pack("<IHHQQQ", len(reply.data), 2, function, target, number, 0) + reply.data)

    def serve_one(self, serve):
        """Waits for one call of the worker, on the channel of threads that serve none."""
        size, kind, function, target, number, _ = struct.unpack("<IHHQQQ", self._read(32))
        assert kind == 1
        self._serve(target, function, number, Answer(self._read(size), self.other), serve)


class Worker:
    """A worker with one file. `with Worker(path) as worker:` ends it in order."""

    def __init__(self, path, **hello):
        self._descriptors = []
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = ["/bin/sh", "-c", 'exec "$@" 3<&%d' % theirs.fileno(), "sh", sys.executable, "-m", "quench.worker"]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": PACKAGE})
        theirs.close()
        self.flags = self.memory(4096)
        self.send({"hello": {"format": 1, "abi": ABI["abi"], "description": hashlib.sha256(ABI_TEXT).hexdigest(),
                             "module": str(path), "seed": 0, "threads": 2, "instructions": 1, "log_level": 1, **hello}},
                  [self.flags])
        answer = json.loads(self.control.recv(1 << 20))
        self.ready, self.failed = answer.get("ready"), answer.get("failed")
        self.aside = self.channel = None
        if self.ready is not None:
            self.aside = HostChannel(self, 2)
            self.channel = HostChannel(self, 1)

    def memory(self, size):
        descriptor = os.memfd_create("quench test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, size)
        fcntl.fcntl(descriptor, F_ADD_SEALS, SEALS)
        self._descriptors.append(descriptor)
        return descriptor

    def send(self, message, descriptors):
        self.control.sendmsg([json.dumps(message).encode()],
                             [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])

    def cancel(self):
        os.pwrite(self.flags, struct.pack("<i", 1), 0)

    def end(self):
        """The exit code, and what the worker wrote."""
        if self.process.returncode is not None:
            return self.process.returncode, ""
        self.control.close()
        _, written = self.process.communicate(timeout=60)
        for channel in (self.aside, self.channel):
            if channel is not None:
                channel.close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []
        return self.process.returncode, written.decode()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.end()
