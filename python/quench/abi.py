"""The plugin interface as data: the tables, interfaces and structs of abi.json, with their types parsed."""

import functools
import hashlib
import json
import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "abi.json")
NUMBERS = {"i32": "<i4", "u32": "<u4", "i64": "<i8", "u64": "<u8", "f64": "<f8", "f32": "<f4", "u8": "|u1", "i8": "|i1",
           "u16": "<u2", "i16": "<i2"}
_DIRECTIONS = (("out pointer ", "pointer"), ("out deferred view", "deferred"), ("out view", "view"),
               ("optional out ", "optional"), ("inout ", "inout"), ("out ", "out"))


class Type:
    """One type of the grammar.

    direction: in, out, optional (an out array that may be unwanted), inout, pointer (the callee's memory), view, deferred.
    kind: a number, string, bytes, struct, tensor, ...; name: of the struct, object, interface or table; count: the
    expression in brackets, or None; of: the field whose object a table serves.
    """

    def __init__(self, text, life="call"):
        self.text, self.life, self.direction, self.of = text, life, "in", None
        text = text[:-1] if text.endswith("?") else text  # which may be NULL
        for prefix, direction in _DIRECTIONS:
            if text.startswith(prefix):
                self.direction, text = direction, text[len(prefix):]
                break
        match = re.fullmatch(r"(.*?)\[(.*)\]", text)
        text, self.count = match.groups() if match else (text, None)
        words = text.split(" ")
        self.kind = "tensor" if self.direction in ("view", "deferred") or text == "value tensor" else words[0]
        self.name = words[-1] if self.kind in ("struct", "pointers", "object", "interface") else None
        if self.kind == "pointers":
            self.kind = "struct"
        if self.kind == "table":
            self.name, self.of = words[1], words[3] if len(words) > 3 else None
        if self.kind == "text":
            self.kind = "string"
            self.count = None

    @property
    def silent(self):
        return self.kind in ("stream", "host", "context", "self", "error")

    @property
    def is_output(self):
        return self.direction != "in"


class Value:
    """A parameter of a function, or a member of a struct."""

    def __init__(self, described):
        self.name = described[0]
        self.type = Type(described[1], described[2] if len(described) > 2 else "call")


def _members(described):
    """Members of a struct. An output array may be one that the caller does not want, which the call says."""
    members = [Value(field) for field in described.get("fields", []) if "local" not in described]
    for member in members:
        if member.type.direction == "out" and member.type.count is not None and member.type.kind in NUMBERS:
            member.type.direction = "optional"
    return members


class Function:
    def __init__(self, described, number):
        if isinstance(described, str):
            described = {"name": described, "local": ""}
        self.name, self.number, self.local = described["name"], number, "local" in described
        self.returns = described.get("returns", "void")
        self.parameters = [Value(parameter) for parameter in described.get("parameters", [])]
        self.closes = bool(described.get("closes"))
        self.optional = bool(described.get("optional"))
        self.has_error = any(value.type.kind == "error" for value in self.parameters)
        self.defers = False  # an interface among its arguments hands out memory that is filled later


class Group:
    """A table, an interface, or all services of the host: functions by number, and data members."""

    def __init__(self, name, described, functions):
        self.name, self.kind = name, described.get("kind")
        self.fields = _members(described)
        self.functions = functions
        self.by_name = {function.name: function for function in functions}
        self.hands_out = any(function.returns.startswith("deferred") or any(
            value.type.direction == "deferred" for value in function.parameters) for function in functions)


def _functions(described):
    return [Function(function, number) for number, function in enumerate(described.get("functions", []))]


class Description:
    def __init__(self, text):
        self.sha256 = hashlib.sha256(text).hexdigest()
        data = json.loads(text)
        self.structs = {name: _members(struct) for name, struct in data["structs"].items()}
        self.interfaces = {name: Group(name, group, _functions(group)) for name, group in data["interfaces"].items()}
        self.tables = {name: Group(name, group, _functions(group)) for name, group in data["tables"].items()}
        self.table_of_kind = {table.kind: table for table in self.tables.values() if table.kind}
        self.services = {(name, function["name"]): Function(function, function["number"])
                         for name, service in data["services"].items() if "local" not in service for function in service["functions"]}
        served = sorted(self.services.values(), key=lambda function: function.number)
        self.host = Group("services", {}, served)
        for group in [*self.interfaces.values(), *self.tables.values(), self.host]:
            for function in group.functions:
                function.defers = any(self._defers(value.type) for value in function.parameters)

    def _defers(self, kind):
        if kind.kind == "interface":
            return kind.direction == "in" and kind.life == "call" and self.interfaces[kind.name].hands_out
        if kind.kind == "struct" and kind.direction == "in":
            return any(self._defers(field.type) for field in self.structs[kind.name])
        return False


@functools.lru_cache(maxsize=None)
def load():
    with open(PATH, "rb") as file:
        return Description(file.read())


@functools.lru_cache(maxsize=None)
def _constants():
    with open(PATH, "rb") as file:
        return json.load(file)["constants"]


def constant(name):
    """The number of QUENCH_`name` in the headers."""
    return _constants()["QUENCH_" + name]
