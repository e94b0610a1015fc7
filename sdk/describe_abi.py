#!/usr/bin/env python3
"""Reads the plugin interface from its C headers and writes it as data.

    describe_abi.py sdk/include/quench/abi sdk/abi.json           writes the description
    describe_abi.py --check sdk/include/quench/abi sdk/abi.json   says whether it is that of the headers

What a C declaration does not say stands beside it, in a comment that begins with a colon and ends before the comma or
semicolon of what it is about. Of a parameter or a member, separated by semicolons:

    /*: [count] */             an array; the expression names parameters or members
    /*: out */  /*: inout */   written by the callee, where the type does not show it
    /*: null */                may be NULL
    /*: life object */         how long it is lent: as long as the object (object), the process (kept); owned, scratch
    /*: is out view */         the whole type, where the words above do not give it

Of a function: `optional`, or `optional group NAME` for functions that are there together; `since 1.1`, the version that
added it; `closes` what its last object is; `life object` or `life next` of what it returns; `keeps` its arguments as long as its object; `returns T`; `local REASON` where
it cannot be called from another process. Of a struct, after its brace: `local REASON`, `entry`. Everything else follows from
the declarations: docs/worker.md has the types.
"""
import json
import pathlib
import re
import sys

NUMBERS = {"int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "double": "f64", "float": "f32",
           "uint8_t": "u8", "int8_t": "i8", "uint16_t": "u16", "int16_t": "i16"}
# Known to every process; they cross as bytes.
PLAIN = {"quench_dtype": "dtype", "quench_device": "device"}
BUILTIN = {"quench_error", "quench_tensor", *PLAIN}
TOKEN = re.compile(r'/\*:(?P<note>.*?)\*/|/\*.*?\*/|(?P<line>^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)|"[^"]*"|(?P<word>\w+)|(?P<sign>[^\s\w])',
                   re.S | re.M)


class Declaration:
    """A parameter, a member or a function pointer: its type as words, its name, and the notes beside it."""

    def __init__(self, words, name, notes, end, parameters=None, start=0):
        self.words, self.name, self.notes, self.end, self.parameters = words, name, notes, end, parameters
        self.start = start

    @property
    def base(self):
        return [word for word in self.words if word not in ("const", "struct", "*")][-1]

    @property
    def stars(self):
        return self.words.count("*")

    @property
    def is_const(self):
        return self.words[0] == "const"


class Struct:
    def __init__(self, name, header, notes, members, identifier, end):
        self.name, self.header, self.notes, self.members, self.identifier = name, header, notes, members, identifier
        self.end = end

    @property
    def functions(self):
        return [member for member in self.members if member.parameters is not None]

    @property
    def fields(self):
        return [member for member in self.members if member.parameters is None and member.name != "struct_size"]


class Header:
    """The structs, objects and constants of one header."""

    def __init__(self, path, name):
        self.path, self.name = path, name
        self.structs, self.declared, self.constants = [], [], {}
        self.tokens, self.at, self.identifier = [], 0, None
        for match in TOKEN.finditer(path.read_text()):
            if match["line"] is not None:
                self.tokens.append(("#", match["line"].strip(), match.end()))
            elif match["note"] is not None:
                self.tokens.append(("note", " ".join(match["note"].split()), match.end()))
            elif match["word"] or match["sign"] or match[0].startswith('"'):
                self.tokens.append(("token", match[0], match.end()))
        self.read()

    def fail(self, what):
        raise SystemExit(f"{self.path}: {what}, before {' '.join(t[1] for t in self.tokens[self.at:self.at + 8])}")

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at][1] if at < len(self.tokens) and self.tokens[at][0] == "token" else None

    def notes(self):
        found = []
        while self.at < len(self.tokens) and self.tokens[self.at][0] == "note":
            found += [note.strip() for note in self.next()[1].split(";")]
        return found

    def read(self):
        while self.at < len(self.tokens):
            kind, text, _ = self.tokens[self.at]
            if kind == "#":
                self.define(text)
                self.at += 1
            elif text in ("typedef", "struct") and "struct" in (text, self.peek(1)):
                self.struct()
            else:
                self.at += 1

    def define(self, line):
        found = re.match(r"#define (QUENCH_\w+) +(.*)", re.sub(r"/\*.*", "", line))
        if found is None:
            return
        name, value = found[1], found[2].strip()
        if re.fullmatch(r'"quench\.[\w.]+/\d+"', value):
            self.identifier = value.strip('"')
        number = re.fullmatch(r"\(?(-?\d+)u?(?: << (\d+))?\)?", value)
        if number:
            self.constants[name] = int(number[1]) << int(number[2] or 0)

    def struct(self):
        is_typedef = self.peek() == "typedef"
        self.at += 2 if is_typedef else 1
        name = self.next()[1]
        if self.peek() != "{":
            if is_typedef and self.peek(1) == ";":
                self.declared.append(name)
            return
        end = self.next()[2]
        notes = self.notes()
        members = []
        while self.peek() != "}":
            members.append(self.declaration(";"))
            self.next()
        functions = any(member.parameters is not None for member in members)
        self.structs.append(Struct(name, self.name, notes, members, self.identifier if functions else None, end))
        if functions:
            self.identifier = None

    def declaration(self, *ends):
        words, notes, name, parameters, end = [], self.notes(), None, None, 0
        start = self.tokens[self.at][2] - len(self.tokens[self.at][1])
        while self.peek() not in ends:
            if self.tokens[self.at][0] == "#":
                self.fail("a directive within a declaration")
            if self.tokens[self.at][0] == "note":
                notes += self.notes()
                continue
            if self.peek() == "(" and self.peek(1) == "*":
                self.at += 2
                name, parameters = self.next()[1], []
                self.at += 2  # ) (
                while self.peek() != ")":
                    parameters.append(self.declaration(",", ")"))
                    if self.peek() == ",":
                        self.next()
                end = self.next()[2]
                continue
            if self.peek() == "[":  # char hex[65]
                self.next()
                notes.append(f"is out text[{self.next()[1]}]")
                end = self.next()[2]
                continue
            _, word, end = self.next()
            if word != "QUENCH_NOEXCEPT":
                words.append(word)
        if parameters is None and words != ["void"]:
            name = words.pop()
        if parameters is not None:
            parameters = [parameter for parameter in parameters if parameter.words != ["void"]]
        return Declaration(words, name, notes, end, parameters, start)


class Abi:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.headers = [Header(path, str(path.relative_to(folder))) for path in sorted(folder.rglob("*.h"))]
        self.structs = {struct.name: struct for header in self.headers for struct in header.structs}
        self.constants = {name: value for header in self.headers for name, value in header.constants.items()}
        self.objects = [name for header in self.headers for name in header.declared if name not in self.structs]
        self.bare = {}

    def is_interface(self, name):
        struct = self.structs[name]
        return bool(struct.functions) and not name.endswith("_table") and struct.identifier is None

    # ---- types

    def type_of(self, one, following, owner, function=None):
        """The type of a parameter or member without its notes. `following`: the declaration after it."""
        base, stars = one.base, one.stars
        whole = next((note[3:] for note in one.notes if note.startswith("is ")), None)
        if whole is not None:
            return whole
        if one.parameters is not None:
            return "interface " + self.bare_name(owner, one.name)
        if base == "quench_error":
            return "error"
        if base == "void" and one.name in ("stream", "context"):
            callback = next((p.name for p in (function.parameters if function else []) if p.parameters is not None), None)
            return f"context of {callback}" if one.name == "context" and callback else one.name
        if base == "quench_host":
            return "host"
        if base == owner and stars == 1 and function is not None:
            return "self"
        if base in PLAIN and stars == 0:
            return PLAIN[base]
        if base == "quench_tensor":
            return ("value tensor", "tensor" if one.is_const else "out view", "out pointer tensor")[stars]
        sized = following is not None and following.base == "uint64_t" and following.stars == 0 and \
            re.search(r"(^|_)bytes$", following.name)
        if base in ("char", "void") and stars == 1 and one.is_const:
            return f"bytes[{following.name}]" if sized else "string"
        if base == "char" and stars == 2:
            return "string" if one.words.count("const") == 2 else "out pointer string"
        if base in NUMBERS:
            number = NUMBERS[base]
            return number if stars == 0 or (stars == 1 and one.is_const) else ("out ", "out pointer ")[stars - 1] + number
        if base in self.objects:
            return ("", "object ", "out object ")[stars] + base
        if base in self.structs:
            kind = "table" if base.endswith("_table") else "interface" if self.is_interface(base) else "struct"
            if kind == "table":
                return f"table {base} of model"
            if stars == 2:
                return ("pointers " if one.words.count("const") == 2 else "out pointer ") + kind + " " + base
            return ("" if one.is_const else "out ") + kind + " " + base
        if base == "void":  # an address, which stays in one process
            return "u64" if stars == 1 else "out u64"
        raise SystemExit(f"{owner}: {one.name}: no such type: {' '.join(one.words)}")

    def bare_name(self, owner, name):
        return re.sub(r"_table$", "", owner) + "_" + name

    def value(self, one, following, owner, function=None):
        """[name, type], or [name, type, life]."""
        text, life = self.type_of(one, following, owner, function), None
        for note in one.notes:
            word, _, rest = note.partition(" ")
            if word in ("out", "inout"):
                text = word + " " + re.sub(r"^out ", "", text)
            elif word == "life":
                life = rest
            elif word.startswith("["):
                text += note
            elif word not in ("is", "null"):
                raise SystemExit(f"{owner}: {one.name}: unknown note `{note}`")
        return [one.name, text + ("?" if "null" in one.notes else "")] + ([life] if life else [])

    def values(self, those, owner, function=None):
        following = [*those[1:], None]
        return [self.value(one, after, owner, function) for one, after in zip(those, following)]

    # ---- groups

    def function(self, struct, member):
        returned = "".join(member.words)
        out = {"name": member.name,
               "returns": {"quench_status": "status", "void": "void", "constchar*": "string",
                           "constvoid*": "extension"}.get(returned) or NUMBERS.get(returned)}
        out["parameters"] = self.values(member.parameters, struct.name, member)
        for note in member.notes:
            word, _, rest = note.partition(" ")
            if word == "optional":
                out["optional"] = rest.removeprefix("group ") or True
            elif word == "closes":
                out["closes"] = True
            elif word == "keeps":
                out["arguments"] = "object"
            elif word in ("life", "local", "returns", "since"):
                out[word] = rest
            else:
                raise SystemExit(f"{struct.name}.{member.name}: unknown note `{note}`")
        if out["returns"] is None:
            out["returns"] = self.value(Declaration(member.words, "", [], 0), None, struct.name)[1]
        for index, one in enumerate(member.parameters):
            if one.parameters is not None:
                self.bare[self.bare_name(struct.name, one.name)] = {
                    "header": struct.header, "bare": True, "place": f"{struct.name}::{member.name}, {index}",
                    "functions": [self.function(Struct(struct.name, struct.header, [], [], None, 0), one)]}
        return out

    def group(self, struct):
        out = {"header": struct.header}
        if struct.identifier:
            out["service" if self.is_service(struct) else "extension"] = struct.identifier
        elif struct.name.endswith("_table"):
            out["kind"] = struct.name.removeprefix("quench_").removesuffix("_table")
        local = next((note.partition(" ")[2] for note in struct.notes if note.startswith("local ")), None)
        if "entry" in struct.notes:
            local = "read where the module is loaded"
        if local is not None:
            out["local"] = local
            out["fields" if not struct.functions else "functions"] = [member.name for member in
                                                                      struct.functions or struct.fields]
            return out
        if struct.fields:
            out["fields"] = self.values(struct.fields, struct.name)
        if struct.functions:
            out["functions"] = [self.function(struct, member) for member in struct.functions]
        return out

    @staticmethod
    def is_service(struct):
        return any(parameter.base in ("quench_host",) for function in struct.functions for parameter in function.parameters)

    def description(self):
        out = {"format": 2, "abi": f"{self.constants['QUENCH_ABI_MAJOR']}.{self.constants['QUENCH_ABI_MINOR']}",
               "constants": self.constants, "objects": self.objects, "structs": {}, "interfaces": {}, "tables": {},
               "services": {}, "entry": {}}
        for struct in self.structs.values():
            if struct.name in BUILTIN:
                continue
            group = "entry" if "entry" in struct.notes else "structs" if not struct.functions else \
                "services" if struct.identifier and self.is_service(struct) else \
                "interfaces" if self.is_interface(struct.name) else "tables"
            out[group][struct.name] = self.group(struct)
        out["interfaces"].update(self.bare)
        self.number(out["services"])
        return out

    @staticmethod
    def number(services):
        """Numbers what other processes call of all services: what a later minor added comes behind the rest, so that no number changes."""
        functions = [function for service in services.values() if "local" not in service for function in service["functions"]]
        functions.sort(key=lambda function: [int(part) for part in function.get("since", "0").split(".")])
        for number, function in enumerate(functions):
            function["number"] = number


def text_of(description):
    """JSON, with what fits on a line on one."""
    def lines(value, room, indent):
        flat = json.dumps(value, ensure_ascii=False)
        if len(flat) <= room - len(indent) or not isinstance(value, (dict, list)):
            return flat
        inner = indent + "  "
        if isinstance(value, dict):
            parts = [f"{json.dumps(key)}: {lines(one, room - len(key) - 4, inner)}" for key, one in value.items()]
        else:
            parts = [lines(one, room, inner) for one in value]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return opening + "\n" + ",\n".join(inner + part for part in parts) + "\n" + indent + closing
    return lines(description, 120, "") + "\n"


def arguments_of(usage):
    """(whether only to check, folder of the headers, path) of a script that makes a file from the headers."""
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    if len(arguments) != 2 + check:
        sys.exit(usage)
    return check, *arguments[check:]


def make(usage, text_of_headers):
    """Writes what the function makes of a folder of headers, or says that the file there is another one."""
    check, folder, path = arguments_of(usage)
    text = text_of_headers(folder)
    if not check:
        pathlib.Path(path).write_text(text)
    elif pathlib.Path(path).read_text() != text:
        sys.exit(f"{path} is not what the headers say; write it with: sdk/{pathlib.Path(sys.argv[0]).name} {folder} {path}")


def main():
    make(__doc__, lambda folder: text_of(Abi(folder).description()))


if __name__ == "__main__":
    main()
