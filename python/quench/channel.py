"""One connection to the host: messages on a socket, large values in two shared memories."""

import mmap
import os
import socket
import struct

from .status import RESOURCE_EXHAUSTED, Error

CALL, REPLY, SIGN = 1, 2, 3
MAX_BODY = 16 << 20
MAX_INLINE = 1024  # larger values lie in shared memory
NULL = 2 ** 64 - 1
_HEADER = struct.Struct("<IHHQQQ")
_KEPT = 256 << 20  # bytes of used memory that are not given back to the system
_MADV_REMOVE = getattr(mmap, "MADV_REMOVE", None)


class Closed(BaseException):
    """The host has closed the connection."""


class Broken(BaseException):
    """What the host sent is no message. No plugin can catch it by mistake: the worker must end."""


def broken(what):
    return Broken("a message between processes: " + what)


class OwnMemory:
    """The memory that this process writes, as a stack."""

    def __init__(self, descriptor):
        self._map = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        self.top = self._highest = 0

    def put(self, data):
        """Copies bytes to the top, aligned to 64; returns where they lie."""
        at, size = self.top, memoryview(data).nbytes
        end = at + size
        if end > len(self._map):
            raise Error(RESOURCE_EXHAUSTED, "the memory shared with the host is full: %d bytes more" % size)
        self._map[at:end] = data
        self.top = (end + 63) // 64 * 64
        self._highest = max(self._highest, end)
        return at

    def reset(self, top):
        """Gives back all that was put since `top` was this."""
        self.top = top
        first = max(_KEPT, (top + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE)
        if self._highest > first and _MADV_REMOVE is not None:
            end = (self._highest + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
            self._map.madvise(_MADV_REMOVE, first, min(end, len(self._map)) - first)
            self._highest = first


class Writer:
    """The body of a message that this process sends."""

    def __init__(self, memory):
        self._memory, self._parts = memory, []

    def u64(self, value):
        self._parts.append(struct.pack("<Q", value))

    def i64(self, value):
        self._parts.append(struct.pack("<q", value))

    def f64(self, value):
        self._parts.append(struct.pack("<d", value))

    def blob(self, data):
        """Bytes, an array in C order, or None."""
        if data is None:
            self.u64(NULL)
            return
        size = memoryview(data).nbytes
        self.u64(size)
        if size > MAX_INLINE:
            self.u64(self._memory.put(data if isinstance(data, bytes) else memoryview(data).cast("B")))
        else:
            self._parts.append(bytes(data) + b"\0" * (-size % 8))

    def text(self, text):
        self.blob(None if text is None else text.encode())

    def body(self):
        body = b"".join(self._parts)
        if len(body) > MAX_BODY:
            raise Error(RESOURCE_EXHAUSTED, "a message of %d bytes to the host, at most %d are sent" % (len(body), MAX_BODY))
        return body


class Reader:
    """The body of a message that the host sent. Raises Broken for what does not fit."""

    def __init__(self, body, memory):
        self._body, self._memory, self._at = memoryview(body), memory, 0

    def _take(self, size):
        begin, self._at = self._at, self._at + size
        if self._at > len(self._body):
            raise broken("it ends too early")
        return self._body[begin:begin + size]

    def u64(self):
        return struct.unpack("<Q", self._take(8))[0]

    def i64(self):
        return struct.unpack("<q", self._take(8))[0]

    def f64(self):
        return struct.unpack("<d", self._take(8))[0]

    def blob(self):
        """A read-only memoryview, or None."""
        size = self.u64()
        if size == NULL:
            return None
        if size > MAX_INLINE:
            at = self.u64()
            if at + size > len(self._memory):
                raise broken("a value lies outside the shared memory")
            return self._memory[at:at + size]
        return self._take((size + 7) // 8 * 8)[:size]

    def data(self):
        """Bytes, or None."""
        blob = self.blob()
        return None if blob is None else bytes(blob)

    def text(self):
        data = self.data()
        return None if data is None else data.decode("utf-8", "replace")

    def finish(self):
        if self._at != len(self._body):
            raise broken("it is longer than its function's")


class Channel:
    """Used by one thread at a time. Calls nest: while one waits for its reply, others arrive and are served.

    serve(channel, target, function, reader) returns the body of the reply.
    """

    def __init__(self, connection, host_memory, own_memory, serve):
        self._socket = socket.socket(fileno=connection)
        size = os.fstat(host_memory).st_size
        self.theirs = memoryview(mmap.mmap(host_memory, size, access=mmap.ACCESS_READ))
        self.own = OwnMemory(own_memory)
        self._serve, self._calls, self._replied_from = serve, 0, None
        for descriptor in (host_memory, own_memory):
            os.close(descriptor)

    def _fill(self, size, may_close=False):
        data = bytearray(size)
        view, got = memoryview(data), 0
        while got < size:
            try:
                count = self._socket.recv_into(view[got:])
            except ConnectionError:
                count = 0
            if count == 0:
                if may_close and got == 0:
                    raise Closed
                raise broken("the connection is closed in the middle of it")
            got += count
        return bytes(data)

    def _receive(self):
        size, kind, function, target, number, reserved = _HEADER.unpack(self._fill(_HEADER.size, may_close=True))
        if size > MAX_BODY or size % 8 or reserved or kind not in (CALL, REPLY):
            raise broken("there is no header")
        body = self._fill(size)
        if self._replied_from is not None:  # the host has read the last reply
            self.own.reset(self._replied_from)
            self._replied_from = None
        return kind, function, target, number, body

    def _send(self, kind, function, target, number, body):
        try:
            self._socket.sendall(_HEADER.pack(len(body), kind, function, target, number, 0) + body)
        except ConnectionError:
            raise Closed from None

    def _serve_one(self, function, target, number, body):
        before = self.own.top
        reply = self._serve(self, target, function, Reader(body, self.theirs))
        self._send(REPLY, function, target, number, reply)
        self._replied_from = before

    def call(self, target, function, body):
        """Sends a call whose values lie above `own.top` of before; returns the body of the reply."""
        self._calls += 1
        expected = self._calls
        self._send(CALL, function, target, expected, body)
        while True:
            kind, got_function, got_target, number, answer = self._receive()
            if kind == REPLY:
                if (got_function, got_target, number) != (function, target, expected):
                    raise broken("a reply to another call")
                return answer
            self._serve_one(got_function, got_target, number, answer)

    def sign(self):
        """Says that this side is alive, while the other one waits for it."""
        self._send(SIGN, 0, 0, 0, b"")

    def serve_all(self):
        """Serves calls until the host closes the connection."""
        while True:
            try:
                kind, function, target, number, body = self._receive()
            except Closed:
                return
            if kind != CALL:
                raise broken("a reply that nobody waits for")
            self._serve_one(function, target, number, body)
            del body
