"""The host, seen from a worker: calls of it are served by what the worker exports, and it can be called."""

import contextlib
import os
import sys
import threading
import time
import traceback

from . import arrays
from .arrays import Lease
from .channel import Reader, Writer, broken
from .crossing import Incoming, Outgoing, Struct
from .status import FAILED_PRECONDITION, INTERNAL, OK, RESOURCE_EXHAUSTED, Error

_LONGEST = 500  # bytes of a message
_BETWEEN_SIGNS = 0.2  # seconds
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def explain(failure, path=None):
    """Status and message of an exception: what it says, and the last line of the plugin's file that led there."""
    place = ""
    if isinstance(failure, Error):
        status, text = failure.status, str(failure)
    else:
        status = RESOURCE_EXHAUSTED if isinstance(failure, MemoryError) else INTERNAL
        text = traceback.format_exception_only(type(failure), failure)[-1].strip()
        frames = traceback.extract_tb(failure.__traceback__)
        own = [frame for frame in frames if path is not None and frame.filename == path]
        if isinstance(failure, SyntaxError):
            text = "SyntaxError: %s" % failure.msg
            place = " (%s:%s)" % (os.path.basename(failure.filename or "?"), failure.lineno)
        elif frames:
            frame = (own or frames)[-1]
            folder, name = os.path.split(frame.filename)
            place = " (%s%s:%d)" % ("quench/" if folder.startswith(_PACKAGE) else "", name, frame.lineno)
    text = " ".join(text.split())
    room = _LONGEST - len(place.encode())
    return status, text.encode()[:room].decode("utf-8", "ignore") + place


class Exports:
    """Tables and objects of this process, by the numbers that the host knows. Any thread may use it."""

    def __init__(self):
        self._lock = threading.Lock()
        self._tables, self._objects = {}, {}
        self._last_table, self._last_object = 1 << 20, 0  # items have the numbers below

    def add_table_as(self, number, group, implementation):
        with self._lock:
            self._tables[number] = (group, implementation)

    def add_table(self, group, implementation):
        with self._lock:
            self._last_table += 1
            self._tables[self._last_table] = (group, implementation)
            return self._last_table

    def table(self, number):
        with self._lock:
            if number not in self._tables:
                raise broken("there is no table %d" % number)
            return self._tables[number]

    def drop_table(self, number):
        with self._lock:
            self._tables.pop(number, None)

    def add_object(self, value):
        if value is None:
            return 0
        with self._lock:
            self._last_object += 1
            self._objects[self._last_object] = value
            return self._last_object

    def object(self, number):
        with self._lock:
            if number not in self._objects:
                raise broken("there is no object %d" % number)
            return self._objects[number]

    def drop_object(self, number):
        with self._lock:
            self._objects.pop(number, None)

    def count(self):
        """Of objects, and of tables that are no items."""
        with self._lock:
            return len(self._objects), sum(number > 1 << 20 for number in self._tables)


class Peer:
    """`path`: the plugin's file, which messages name."""

    def __init__(self, description, path=None):
        self.description, self.exports, self.path = description, Exports(), path
        self._thread = threading.local()
        self._aside, self._aside_turn = None, threading.RLock()
        self._last_sign = 0.0

    def serve_on(self, channel):
        """Serves a connection until the host closes it, on this thread."""
        self._thread.channel = channel
        channel.serve_all()

    def set_aside(self, channel):
        """The connection for threads that serve none."""
        self._aside = channel

    def reaches_host(self):
        """Whether this thread can call the host."""
        return getattr(self._thread, "channel", None) is not None or self._aside is not None

    @contextlib.contextmanager
    def _turn(self):
        channel = getattr(self._thread, "channel", None)
        if channel is not None:
            yield channel
            return
        if self._aside is None:
            raise Error(FAILED_PRECONDITION, "the host cannot be called yet")
        with self._aside_turn:
            yield self._aside

    def give_sign(self):
        """Says that the plugin is at work, at most a few times a second however often it is called."""
        now = time.monotonic()
        if now - self._last_sign < _BETWEEN_SIGNS:
            return
        self._last_sign = now
        channel = getattr(self._thread, "channel", None)
        if channel is not None:
            channel.sign()
        elif self._aside is not None and self._aside_turn.acquire(blocking=False):  # else another's call is the sign
            try:
                self._aside.sign()
            finally:
                self._aside_turn.release()

    # ---- calls to the host

    def call_service(self, service, name, /, **arguments):
        function = self.description.services[service, name]
        return self._call(0, function, arguments, None)

    def call(self, group, target, name, arguments, remote):
        return self._call(target, group.by_name[name], arguments, remote)

    def _call(self, target, function, arguments, remote):
        with self._turn() as channel:
            before = channel.own.top
            writer = Writer(channel.own)
            out = Outgoing(self, writer)
            try:
                out.values(function.parameters, arguments)
                reply = channel.call(target, function.number, writer.body())
                return self._result(function, arguments, Reader(reply, channel.theirs), remote, out)
            finally:
                channel.own.reset(before)

    def _result(self, function, arguments, reader, remote, out):
        incoming, value = Incoming(self, reader), None
        status, message = OK, None
        if function.returns == "status":
            status = reader.i64()
            message = reader.text() if function.has_error else None
        elif function.returns == "string":
            value = reader.text()
        elif function.returns != "void":
            value = reader.f64() if function.returns == "f64" else reader.i64()
            message = reader.text() if function.has_error else None
        if status != OK:
            for number in out.owned:
                self.exports.drop_table(number)
            raise Error(status, message or "%s: status %d" % (function.name, status))
        outputs = incoming.outputs(function, arguments, remote)
        reader.finish()
        if not outputs:
            return value
        return next(iter(outputs.values())) if len(outputs) == 1 else Struct(**outputs)

    # ---- calls of the host

    def serve(self, channel, target, number, reader):
        """The body of the reply to a call. Raises Broken where the call is none that this process has."""
        group, implementation = (self.description.host, None) if target == 0 else self.exports.table(target)
        if number >= len(group.functions) or not hasattr(implementation, group.functions[number].name):
            raise broken("there is no function %d" % number)
        function, lease = group.functions[number], Lease()
        incoming = Incoming(self, reader, lease)
        arguments = incoming.values(function.parameters)
        reader.finish()
        before = channel.own.top
        try:
            results = getattr(implementation, function.name)(arguments)
            body = self._reply(channel, function, arguments, results, incoming.handing)
            del results
        except (Exception, SystemExit) as failure:  # noqa: BLE001, none crosses
            status, message = explain(failure, self.path)
            channel.own.reset(before)
            body = self._failure(channel, function, status, message)
        else:
            for remote in incoming.handing:
                remote.handed.clear()
            del arguments
            if not lease.end():
                channel.own.reset(before)
                body = self._failure(channel, function, FAILED_PRECONDITION, (
                    "`%s` kept an array that it was handed: it is the host's memory and gone when the call returns; "
                    "keep a copy (x.copy())" % function.name))
        if function.closes:
            self.exports.drop_object([incoming.numbers[value.name] for value in function.parameters
                                      if value.type.kind == "object" and value.type.direction == "in"][-1])
        if function.name == "release":
            self.exports.drop_table(target)
        return body

    def _reply(self, channel, function, arguments, results, handing):
        writer = Writer(channel.own)
        out = Outgoing(self, writer)
        if function.returns == "status":
            writer.i64(OK)
            if function.has_error:
                writer.text(None)
            out.outputs(function.parameters, arguments, results)
        elif function.returns == "string":
            writer.text(results)
        elif function.returns != "void":
            value, message = results if isinstance(results, tuple) else (results, None)
            writer.i64(int(value))
            if function.has_error:
                writer.text(message)
            out.outputs(function.parameters, arguments, results)
        if function.defers:
            handed = [(remote.target, index, array, dtype) for remote in handing
                      for index, (array, dtype) in enumerate(remote.handed)]
            writer.u64(len(handed))
            for target, index, array, dtype in handed:
                writer.u64(target)
                writer.u64(index)
                writer.blob(arrays.elements(array, dtype))
        return writer.body()

    def _failure(self, channel, function, status, message):
        writer = Writer(channel.own)
        if function.returns == "status":
            writer.i64(status)
        elif function.returns not in ("void", "string"):
            writer.i64(0)
        elif function.returns == "string":
            writer.text(None)
        if function.has_error:
            writer.text(message)
        elif function.returns != "status":
            print("quench worker: %s: %s" % (function.name, message), file=sys.stderr)
        if function.defers:
            writer.u64(0)
        return writer.body()
