#!/usr/bin/env python3
"""Makes what crosses between processes from the description of the plugin interface.

    make_stubs.py abi.json OUTPUT_FOLDER

writes abi_structs.hpp and .cpp (every struct and interface: put, take), abi_calls.cpp (functions that
call the other process) and abi_serve.cpp (functions that serve its calls). Each function is checked by
the compiler against the C headers: its pointer is converted to the member's type.
"""
import hashlib
import json
import pathlib
import re
import sys

NUMBERS = {"i32": "int32_t", "u32": "uint32_t", "i64": "int64_t", "u64": "uint64_t", "f64": "double",
           "f32": "float", "u8": "uint8_t", "u16": "uint16_t", "i8": "int8_t"}
PUT = {"i32": "i64", "u32": "u64", "i64": "i64", "u64": "u64", "f64": "f64"}
TAKE = {"i32": "reader().i32", "u32": "reader().u32", "i64": "i64", "u64": "u64", "f64": "f64"}


class Type:
    """One type of the grammar: direction, kind, name of the element, count expression."""

    def __init__(self, text, life="call"):
        self.text, self.life = text, life
        # All that must not be NULL is refused where the other process sends it so: what reads it would not look.
        self.nullable = text.endswith("?")
        text = text.removesuffix("?")
        self.direction = "in"
        for prefix, direction in (("out pointer ", "pointer"), ("out deferred view", "deferred"),
                                  ("out view", "view"), ("inout ", "inout"), ("out ", "out")):
            if text.startswith(prefix):
                self.direction = direction
                text = text[len(prefix):]
                break
        self.count = None
        found = re.fullmatch(r"(.*?)\[(.*)\]", text)
        if found:
            text, self.count = found.groups()
        self.name = None
        words = text.split(" ")
        self.kind = words[0]
        if self.direction in ("view", "deferred"):
            self.kind = "tensor"
        elif self.kind in ("struct", "object", "interface", "table", "pointers", "value", "context"):
            self.name = words[-1] if self.kind in ("pointers", "struct", "object", "interface") else \
                words[1] if len(words) > 1 else None
            self.of = words[3] if self.kind == "table" and len(words) > 3 else None
            if self.kind == "context" and len(words) > 2:
                self.name = words[2]
        elif self.kind == "elements":
            self.count = "elements"
        elif self.kind not in NUMBERS and self.kind not in (
                "string", "bytes", "text", "tensor", "dtype", "device", "stream", "host", "self", "error"):
            raise SystemExit(f"make_stubs: no such type: {self.text}")

    @property
    def scratch(self):
        """An input that the callee may overwrite."""
        return self.life == "scratch"

    @property
    def number(self):
        return self.kind in NUMBERS

    def silent(self):
        return self.kind in ("stream", "host", "context", "self", "error")


def parameters(function):
    return [(p[0], Type(p[1], p[2] if len(p) > 2 else "call")) for p in function["parameters"]]


def fields(struct):
    return [(f[0], Type(f[1], f[2] if len(f) > 2 else "call")) for f in struct.get("fields", [])]


class Stubs:
    def __init__(self, path):
        text = pathlib.Path(path).read_text()
        self.hash = hashlib.sha256(text.encode()).hexdigest()
        self.abi = json.loads(text)
        self.structs = {n: s for n, s in self.abi["structs"].items() if "local" not in s}
        self.interfaces = {n: i for n, i in self.abi["interfaces"].items()}
        self.tables = self.abi["tables"]
        self.services = {n: s for n, s in self.abi["services"].items() if "local" not in s}
        self.objects = {name: i for i, name in enumerate(self.abi["objects"])}

    # ---- what a struct needs

    def has_outputs(self, name):
        return any(t.direction in ("out", "inout") or
                   (t.kind in ("struct", "pointers") and self.has_outputs(t.name))
                   for _, t in fields(self.structs[name]))

    def deferring(self, interface):
        """Whether functions of an interface lend memory that is filled until the outer call returns."""
        return any(str(f["returns"]).startswith("deferred") or
                   any(t.direction == "deferred" for _, t in parameters(f))
                   for f in self.interfaces[interface]["functions"])

    def defers(self, function):
        def of(t):
            if t.kind == "interface":
                return t.life == "call" and self.deferring(t.name)
            if t.kind == "struct" and t.direction == "in":
                return any(of(u) for _, u in fields(self.structs[t.name]))
            return False
        return any(of(t) for _, t in parameters(function))

    # ---- expressions

    def expression(self, count, names, prefix):
        """The C++ of a count: names of parameters, or of members of `prefix`."""
        if count.startswith("^"):
            return f"{'o' if names == 'put' else 'i'}.outer"
        if count == "shape":
            return "bytes_of_shape(dtype, dimensions, shape)"
        def name(word):
            if word.isdigit():
                return word
            head, *rest = word.split(".")
            return f"uint64_t({prefix}{head}{''.join('->' + r for r in rest)})"
        indexed = re.fullmatch(r"(\w+)\[(\w+)\]", count)
        if indexed:
            array, index = indexed.groups()
            return f"({prefix}{array} == nullptr ? 0 : uint64_t({prefix}{array}[{prefix}{index}]))"
        return re.sub(r"[A-Za-z_][\w.]*", lambda m: name(m.group(0)), count)

    # ---- one value: lines of C++. `x`: where it is, `n`: its count as C++, `o`/`i`: Sending/Receiving

    def put(self, x, t, n):
        if t.silent() or t.direction in ("pointer", "view", "deferred"):
            return []
        if t.direction == "out":
            if t.kind == "tensor" and t.count is None:
                return [f"put_shape(o.writer(), {x});"]
            if t.kind == "tensor":
                return [f"put_shapes(o, {x}, {n});"]
            return []
        if t.number and t.count is None:
            return [f"o.{PUT[t.kind]}({x});"]
        if t.number:
            return [f"o.blob({x}, {x} == nullptr ? 0 : ({n}) * sizeof({NUMBERS[t.kind]}));"]
        if t.kind in ("dtype", "device"):
            return [f"o.{t.kind}({x});"]
        if t.kind == "string" and t.count is None:
            return [f"o.text({x});"]
        if t.kind == "string":
            return [f"put_texts(o, {x}, {n});"]
        if t.kind == "bytes":
            return [f"o.blob({x}, {x} == nullptr ? 0 : {n});"]
        if t.kind == "tensor" and t.count is None:
            return [f"put_tensor(o.writer(), {x});"]
        if t.kind == "tensor":
            return [f"put_tensors(o, {x}, {n});"]
        if t.kind == "value":
            return [f"put_tensor(o.writer(), &{x});"]
        if t.kind == "struct" and t.count is None:
            return [f"put_struct(o, {x});"]
        if t.kind == "struct":
            return [f"put_structs(o, {x}, {n});"]
        if t.kind == "pointers":
            return [f"put_pointers(o, {x}, {n});"]
        if t.kind == "object":
            return [f"o.their_object({x});"]
        if t.kind == "interface":
            return [f"o.interface(k_{t.name}, {x}, Life::k{t.life.capitalize()});"]
        if t.kind == "table":
            return [f"o.lent_table(k_{t.name}, {x});"]
        raise SystemExit(f"make_stubs: cannot put {t.text}")

    def take(self, x, t, declare, n, checks):
        """Reads what put() wrote into `x`; with `declare`, makes the variable."""
        auto = "auto " if declare else ""
        if t.silent():
            return [f"void* {x} = nullptr;"] if declare and t.kind == "stream" else []
        if t.direction == "out":
            if t.kind == "tensor" and t.count is None:
                return [f"{auto}{x} = take_output(i);"]
            if t.kind == "tensor":
                checks.append((f"{x}_count", n, x))
                return [f"uint64_t {self.flat(x)}_count = 0;", f"{auto}{x} = take_outputs(i, {self.flat(x)}_count);"]
            return []
        if t.number and t.count is None:
            return [f"{auto}{x} = i.{TAKE[t.kind]}();"]
        if t.number or t.kind == "bytes":
            element = NUMBERS.get(t.kind, "char")
            checks.append((f"{x}_count", n, x))
            room = "_in_room" if t.direction == "inout" else ""
            line = f"{auto}{x} = i.elements<{element}>({self.flat(x)}_count);" if not room else \
                f"{auto}{x} = elements_in_room<{element}>(i, {self.flat(x)}_count);"
            return [f"uint64_t {self.flat(x)}_count = 0;", line]
        if t.kind in ("dtype", "device"):
            return [f"{auto}{x} = i.{t.kind}();"]
        if t.kind == "string" and t.count is None:
            return [f"{auto}{x} = i.{'required_' if declare else ''}text();"]
        flat = self.flat(x)
        if t.count is not None:
            checks.append((f"{x}_count", n, x))
            tensors = "take_tensors_in_room(i, " if t.direction == "inout" else "take_tensors(i, "
            call = {"string": "take_texts(i, ", "tensor": tensors,
                    "struct": f"take_structs<{t.name}>(i, ", "pointers": f"take_pointers<{t.name}>(i, "}[t.kind]
            return [f"uint64_t {flat}_count = 0;", f"{auto}{x} = {call}{flat}_count);"]
        if t.kind == "tensor":
            return [f"{auto}{x} = {'take_in_room(i)' if t.direction == 'inout' or t.scratch else 'take_tensor(i.reader(), i.keep())'};"]
        if t.kind == "value":
            return [f"take_value(i, {x});"]
        if t.kind == "struct":
            return [f"{auto}{x} = take_struct<{t.name}>(i);"]
        if t.kind == "interface":
            return [f"{auto}{x} = static_cast<const {t.name}*>(i.interface(k_{t.name}, Life::k{t.life.capitalize()}));"]
        raise SystemExit(f"make_stubs: cannot take {t.text}")

    @staticmethod
    def flat(x):
        return re.sub(r"\W", "_", x)

    def nested_outputs(self, t):
        return t.kind in ("struct", "pointers") and t.direction == "in" and self.has_outputs(t.name)

    # outputs that go back: tensors, arrays, structs with such
    def put_output(self, x, t, n):
        if t.kind == "tensor" and t.direction in ("out", "inout"):
            return [f"put_elements(o, {x}{'' if t.count is None else ', ' + n});"]
        if t.direction in ("out", "inout") and t.count is not None and t.kind not in ("tensor", "elements", "text"):
            return [f"o.blob({x}, ({n}) * sizeof({NUMBERS.get(t.kind, 'char')}));"]
        if self.nested_outputs(t):
            if t.count is None:
                return [f"if ({x} != nullptr) put_outputs(o, *{x});"]
            return [f"for (uint64_t k = 0; {x} != nullptr && k < {n}; ++k) put_outputs(o, *element({x}, k));"]
        return []

    def take_output(self, x, t, n):
        if t.kind == "tensor" and t.direction in ("out", "inout"):
            return [f"take_elements(i, {x}{'' if t.count is None else ', ' + n});"]
        if t.direction in ("out", "inout") and t.count is not None and t.kind not in ("tensor", "elements", "text"):
            return [f"take_array(i, {x}, ({n}) * sizeof({NUMBERS.get(t.kind, 'char')}));"]
        if self.nested_outputs(t):
            if t.count is None:
                return [f"if ({x} != nullptr) take_outputs_of(i, *{x});"]
            return [f"for (uint64_t k = 0; {x} != nullptr && k < {n}; ++k) take_outputs_of(i, *element({x}, k));"]
        return []

    # ---- structs

    def outer(self, t):
        """What members of an array's structs count by, as an expression of the struct around it."""
        if t.kind != "struct" or t.count is None:
            return None
        for _, u in fields(self.structs[t.name]):
            if u.count and u.count.startswith("^"):
                array, member = re.fullmatch(r"\^(\w+)\[0\]\.(\w+)", u.count).groups()
                return f"v.{array} == nullptr ? 0 : static_cast<uint64_t>(v.{array}->{member})"
        return None

    def struct_code(self, name, struct, interface=False):
        own = fields(struct)
        puts, takes, checks, back, forth = [], [], [], [], []
        for field, t in own:
            n = t.count and self.expression(t.count, "put", "v.")
            if self.outer(t):
                puts += [f"o.outer = {self.outer(t)};"]
                takes += [f"i.outer = {self.outer(t)};"]
            if t.kind == "table":
                puts += [f"o.lent_table(k_{t.name}, v.{field});"]
                takes += [f"uint64_t {field}_target = 0;",
                          f"v.{field} = static_cast<const {t.name}*>(i.table(k_{t.name}, {field}_target));"]
                continue
            lender = next((f for f, u in own if u.kind == "table" and u.of == field), None)
            if t.kind == "object" and lender:
                puts += [f"o.lent_object(k_object_{t.name}, v.{field});"]
                takes += [f"v.{field} = static_cast<{t.name}*>(i.lent_object({lender}_target));"]
                continue
            puts += self.put(f"v.{field}", t, n)
            fresh = []
            taken = t.count and self.expression(t.count, "take", "v.")
            nullable = t.nullable
            takes += self.take(f"v.{field}", t, False, taken, fresh)
            if t.kind == "string" and t.count is None and not nullable:
                takes[-1] = f"v.{field} = i.required_text();"
            checks += [(c, f"?{n}", x) if nullable else (c, n, x) for c, n, x in fresh]
            if t.direction == "out" and t.count is not None and t.kind not in ("tensor", "struct"):
                late = [f"v.{field} = static_cast<{NUMBERS.get(t.kind, 'char')}*>("
                        f"i.room({n}, sizeof({NUMBERS.get(t.kind, 'char')})));"]
                puts += [f"o.u64(v.{field} == nullptr ? 0 : 1);"]
                takes += [f"const bool wants_{field} = i.u64() != 0;"]
                checks.append(("late", [f"if (wants_{field}) {{ {late[0]} }}"], None))
                back += [f"o.blob(v.{field}, v.{field} == nullptr ? 0 : ({n}) * sizeof({NUMBERS.get(t.kind, 'char')}));"]
                forth += [f"take_array(i, v.{field}, ({n}) * sizeof({NUMBERS.get(t.kind, 'char')}));"]
                continue
            back += self.put_output(f"v.{field}", t, n)
            forth += self.take_output(f"v.{field}", t, n)
        return puts, takes + self.check_lines(checks), back, forth

    @staticmethod
    def check_lines(checks):
        def line(count, wanted, x):
            wanted = re.sub(r"(uint64_t\([^()]*\))\+1$", r"one_more(\1)", wanted)
            if wanted.startswith("?"):
                return f"if ({x} != nullptr) require_count({Stubs.flat(count)}, {wanted[1:]});"
            return f"require_count({Stubs.flat(count)}, {wanted});"
        counts = [check for check in checks if check[0] != "late"]
        plain = [line(*check) for check in counts if "[" not in check[1]]
        indexed = [line(*check) for check in counts if "[" in check[1]]
        late = [line for c, lines, _ in checks if c == "late" for line in lines]
        return plain + indexed + late

    def write_structs(self, out):
        lines, code = [], []
        for name, struct in self.structs.items():
            puts, takes, back, forth = self.struct_code(name, struct)
            lines += [f"void put(Sending& o, const {name}& v);", f"void take(Receiving& i, {name}& v);"]
            code += [f"void put([[maybe_unused]] Sending& o, [[maybe_unused]] const {name}& v) {{", *["  " + l for l in puts], "}",
                     f"void take([[maybe_unused]] Receiving& i, [[maybe_unused]] {name}& v) {{", *["  " + l for l in takes], "}"]
            if self.has_outputs(name):
                lines += [f"void put_outputs(Sending& o, const {name}& v);", f"void take_outputs_of(Receiving& i, const {name}& v);"]
                code += [f"void put_outputs(Sending& o, const {name}& v) {{", *["  " + l for l in back], "}",
                         f"void take_outputs_of(Receiving& i, const {name}& v) {{", *["  " + l for l in forth], "}"]
        for name, interface in self.interfaces.items():
            if interface.get("bare"):
                continue
            puts, takes, _, _ = self.struct_code(name, interface)
            lines += [f"void put(Sending& o, const {name}& v);", f"void take(Receiving& i, {name}& v);"]
            code += [f"void put([[maybe_unused]] Sending& o, [[maybe_unused]] const {name}& v) {{", *["  " + l for l in puts], "}",
                     f"void take([[maybe_unused]] Receiving& i, [[maybe_unused]] {name}& v) {{", *["  " + l for l in takes], "}"]
        headers = sorted({s["header"] for group in (self.structs, self.interfaces, self.tables, self.services)
                          for s in group.values()})
        externs = [f"extern const TableType k_{n};" for n in [*self.interfaces, *self.tables]]
        objects = [f"inline constexpr int k_object_{n} = {i};" for n, i in self.objects.items()]
        bare = [self.bare_struct(n, i) for n, i in self.interfaces.items() if i.get("bare")]
        out("abi_structs.hpp", ["// Made from abi.json by make_stubs.py.", "#pragma once", "",
                                *[f'#include "quench/abi/{h}"' for h in headers],
                                '#include "core/plugin/wire/crossing.hpp"', '#include "core/plugin/wire/thunk.hpp"', "", "namespace quench::wire {", "",
                                *bare, *objects, *externs, "", *lines, "", "}  // namespace quench::wire"])
        out("abi_structs.cpp", ["// Made from abi.json by make_stubs.py.", '#include "abi_structs.hpp"', "",
                                '#include "core/plugin/wire/struct_values.hpp"', "", "namespace quench::wire {", "", *code, "",
                                "}  // namespace quench::wire"])

    def bare_struct(self, name, interface):
        function = interface["functions"][0]
        place = interface["place"]  # "TABLE::FUNCTION, 1": whose parameter it is
        member, index = place.split(",")
        return (f"// The functions that {member} is given.\nstruct {name} {{\n  uint32_t struct_size;\n  void* context;\n"
                f"  std::tuple_element_t<{index.strip()}, ArgumentsOf<decltype({member})>> {function['name']};\n}};")

    # ---- calling

    def target(self, table, function, kind):
        """C++ of peer and target for the caller's side, and the first object's name."""
        ps = parameters(function)
        if kind == "interface":
            context = next(n for n, t in ps if t.kind in ("context", "self"))
            t = dict(ps)[context]
            expr = f"{context}->context" if t.kind == "self" else context
            return [f"auto* self = static_cast<RemoteInterface*>({expr});",
                    "const std::shared_ptr<Peer> peer = self->peer;", "const uint64_t target = self->target;"]
        if kind == "service":
            return ["const std::shared_ptr<Peer> peer = host_peer();", "const uint64_t target = 0;"]
        first = next((n for n, t in ps if t.kind == "object" and t.direction == "in"), None)
        if first is None:
            return ["const std::shared_ptr<Peer> peer = item->peer();",
                    "const uint64_t target = item->target;"]
        return [f"Remote* self = remote({first});", "const std::shared_ptr<Peer> peer = self->peer();",
                f"const uint64_t target = self->target_of(k_{table});"]

    def call_code(self, table, function, index, kind):
        ps = parameters(function)
        slot = kind == "table" and not any(t.kind == "object" and t.direction == "in" for _, t in ps)
        names = ", ".join((["[[maybe_unused]] RemoteItem* item"] if slot else []) +
                          [f"[[maybe_unused]] auto {n}" for n, _ in ps])
        returns = function["returns"]
        lender = {t.of: n for n, t in ps if t.kind == "table"}
        objects = [n for n, t in ps if t.kind == "object" and t.direction == "in" and n not in lender]
        life = function.get("life", "call")
        if returns == "extension":
            if not objects:
                return [f"static const void* run({names}) {{ return nullptr; }}"]
            return [f"static const void* run({names}) {{",
                    f"  return call_extension({objects[0]}, id, {index});", "}"]
        before = []
        if any(t.kind == "elements" for _, t in ps):
            # A call of its own: after it, what the reply of this one points to would be gone.
            before = ["const uint64_t element_bytes = element_bytes_of(source, index);"]
        body = [*before, *self.target(table, function, kind), f"Call call(peer, target, {index});", "[[maybe_unused]] Sending& o = call.out();"]
        for n, t in ps:
            count = t.count and self.expression(t.count, None, "") if t.count != "elements" else None
            if t.kind == "table":
                body += [f"o.lent_table(k_{t.name}, {n});"]
            elif t.kind == "object" and n in lender:
                body += [f"o.lent_object(k_object_{t.name}, {n});"]
            elif t.kind == "interface" and self.interfaces[t.name].get("bare"):
                f = self.interfaces[t.name]["functions"][0]["name"]
                context = next(m for m, u in ps if u.kind == "context" and u.name == n)
                body += [f"{t.name} {n}_pair{{sizeof({t.name}), const_cast<void*>(static_cast<const void*>({context})), {n}}};",
                         f"o.interface(k_{t.name}, &{n}_pair, Life::kCall);"]
            else:
                body += self.put(n, t, count)
        outs = [(n, t) for n, t in ps if t.direction in ("out", "pointer", "view", "deferred", "inout") or self.nested_outputs(t)]
        remembered = [n for n, t in outs if t.direction != "view"]
        memo = life == "object" and not any(t.direction == "view" for _, t in outs) and returns == "status"
        key = f"key_of(target, {index})"
        owner = "known_of_services()" if kind == "service" else "self->known" if kind == "interface" else \
            f"remote({objects[-1]})->known()" if objects else None
        if memo:
            listed = ", ".join(f"Output{{{n}, sizeof *{n}}}" for n in remembered)
            body += [f"if ({owner}.recall({key}, call.body(), {{{listed}}})) return QUENCH_OK;"]
        if memo:
            body += [f"const std::lock_guard keeping({owner}.keep_mutex());", f"Receiving& i = call.send({owner}.keep());"]
        elif returns == "string" and life == "object":
            body += ["const char* value = nullptr;",
                     f"if ({owner}.recall({key}, call.body(), {{Output{{&value, sizeof value}}}})) return value;",
                     f"const std::lock_guard keeping({owner}.keep_mutex());", f"Receiving& i = call.send({owner}.keep());"]
        elif life in ("next", "object") or any(t.direction == "pointer" or (t.direction == "out" and t.kind == "string")
                                               for _, t in outs):
            body += [f"Receiving& i = call.send({owner}.renew({key}));"]
        else:
            body += ["Receiving& i = call.send();"]
        error = next((n for n, t in ps if t.kind == "error"), "nullptr")
        body += ["static_cast<void>(i);"]
        if returns == "status":
            body += [f"const quench_status status = call.status({error});"] if error != "nullptr" else \
                ["const auto status = static_cast<quench_status>(i.reader().i32());"]
            body += ["if (status == QUENCH_OK) {", *["  " + l for l in self.output_lines(table, outs)]]
            if memo:
                body += [f"  {owner}.remember({key}, call.body(), {{{listed}}});"]
            body += ["}"]
        elif returns in NUMBERS:
            body += [f"const auto value = i.{TAKE[returns]}();"]
            if error != "nullptr":
                body += [f"call.message({error});"]
            body += self.output_lines(table, outs)
        elif returns == "string":
            body += ["value = i.text();", f"{owner}.remember({key}, call.body(), {{Output{{&value, sizeof value}}}});"]
        elif returns.startswith("deferred"):
            body += [f"if (i.u64() == 0) {{ return static_cast<int32_t*>(nullptr); }}",
                     "uint64_t total = 0;", "for (uint64_t k = 0; k < count; ++k) total += counts[k];",
                     "auto* value = static_cast<int32_t*>(lend(self, total * sizeof(int32_t)));"]
        elif returns != "void":
            raise SystemExit(f"make_stubs: cannot return {returns}")
        if self.defers(function):
            body += ["call.take_handed_out();"]
        body += ["call.finish();"]
        result = {"status": "return status;", "void": ""}.get(returns, "return value;")
        if returns == "status":
            wrap, end = f"return status_of({error}, [&]() -> quench_status {{", "});"
        elif returns == "void":
            wrap, end = "attempt([&] {", "});"
        elif returns == "string":
            wrap, end = "return value_of<const char*>(nullptr, [&]() -> const char* {", "});"
        elif returns.startswith("deferred"):
            wrap, end = "return value_of<int32_t*>(nullptr, [&]() -> int32_t* {", "});"
        else:
            told = "" if error == "nullptr" else f"{error}, "
            wrap, end = f"return value_of<{NUMBERS[returns]}>(0, {told}[&]() -> {NUMBERS[returns]} {{", "});"
        ctype = {"status": "quench_status", "void": "void", "string": "const char*"}.get(
            returns, "int32_t*" if returns.startswith("deferred") else NUMBERS.get(returns))
        lines = [f"static {ctype} run({names}) {{", f"  {wrap}", *["    " + l for l in body], f"    {result}", f"  {end}"]
        if function.get("closes"):  # of nothing, nothing
            lines.insert(1, f"  if ({objects[-1]} == nullptr) return;")
            lines += [f"  delete remote({objects[-1]});"]
        if kind == "interface" and function["name"] == "release":
            lines += ["  if (static_cast<RemoteInterface*>(context)->own != nullptr) { delete static_cast<RemoteInterface*>(context); }"]
        return [*lines, "}"]

    def output_lines(self, table, outs):
        lines = []
        for n, t in outs:
            count = t.count and t.count != "elements" and self.expression(t.count, None, "")
            if t.direction == "out" and t.kind == "object":
                lines += [f"*{n} = static_cast<{t.name}*>(i.new_object(k_{table}, target, o.take_lasting()));"]
            elif t.direction == "out" and t.kind == "struct" and t.count is None:
                lines += [f"take_into(i, *{n});"]
            elif t.direction == "out" and t.kind == "string":
                lines += [f"*{n} = i.text();"]
            elif t.direction == "out" and t.kind == "text":
                lines += [f"take_array(i, {n}, {t.count});"]
            elif t.direction == "out" and t.kind == "elements":
                lines += [f"take_array(i, {n}, element_bytes * elements);"]
            elif t.direction == "out" and t.number and t.count is None:
                lines += [f"*{n} = static_cast<std::remove_reference_t<decltype(*{n})>>(i.{TAKE[t.kind]}());"]
            elif t.direction == "pointer" and t.kind == "struct" and t.count is None:
                lines += [f"*{n} = take_struct<{t.name}>(i);",
                          f"if (*{n} == nullptr) refuse_message(\"a description is missing\");"]
            elif t.direction == "pointer" and t.kind == "struct":
                lines += [f"uint64_t {n}_count = 0;", f"*{n} = take_structs<{t.name}>(i, {n}_count);"]
            elif t.direction == "pointer" and t.kind == "interface":
                lines += [f"*{n} = static_cast<const {t.name}*>(i.interface(k_{t.name}, Life::k{t.life.capitalize()}));"]
            elif t.direction == "pointer" and t.kind == "tensor":
                lines += [f"uint64_t {n}_count = 0;", f"*{n} = take_tensors(i, {n}_count);"]
            elif t.direction == "pointer" and t.number:
                lines += [f"uint64_t {n}_count = 0;", f"*{n} = i.elements<{NUMBERS[t.kind]}>({n}_count);"]
            elif t.direction == "pointer" and t.kind in ("string", "bytes"):
                lines += [f"*{n} = i.text();"]
            elif t.direction == "view":
                lines += [f"take_view(i, *{n});"]
            elif t.direction == "deferred":
                lines += [f"lend_view(self, {n}, dtype, dimensions, shape);"]
            else:
                lines += self.take_output(n, t, count)
        for n, t in outs:  # what a pointer and its count say must agree
            if t.direction == "pointer" and t.count is not None and t.kind not in ("string", "bytes"):
                lines += [f"require_count({n}_count, uint64_t(*{t.count}));"]
        return lines

    # ---- serving

    @staticmethod
    def local_output(n, t):
        """The variable that an output of one value points to while its function is served; [] for all else."""
        if t.direction == "pointer":
            kind = {"struct": t.name, "interface": t.name, "tensor": "quench_tensor", "string": "char", "bytes": "char"}
            return [f"const {kind.get(t.kind) or NUMBERS[t.kind]}* {n} = nullptr;"]
        if t.direction in ("view", "deferred"):
            return [f"quench_tensor {n}{{}};"]
        if t.direction != "out" or t.count is not None:
            return []
        if t.kind == "struct":
            return [f"{t.name} {n}{{}};", f"{n}.struct_size = sizeof {n};"]
        if t.number:
            return [f"{NUMBERS[t.kind]} {n} = 0;"]
        return {"object": [f"{t.name}* {n} = nullptr;"], "string": [f"const char* {n} = nullptr;"]}.get(t.kind, [])

    def serve_code(self, table, function, kind):
        ps = parameters(function)
        returns = function["returns"]
        lender = {t.of: n for n, t in ps if t.kind == "table"}
        body, checks = ["[[maybe_unused]] Receiving& i = s.in;", "[[maybe_unused]] Sending& o = s.out;"], []
        arguments, after, outs = [], [], []
        for n, t in ps:
            count = t.count and t.count != "elements" and self.expression(t.count, None, "")
            if t.kind == "host":
                arguments.append("served_host()")
            elif t.kind == "context" and t.name is None:
                arguments.append(f"s.table<{table}>().context")
            elif t.kind == "context":
                arguments.append(f"{t.name} == nullptr ? nullptr : {t.name}->context")
            elif t.kind == "self":
                arguments.append(f"&s.table<{table}>()")
            elif t.kind == "error":
                arguments.append("&error")
            elif t.kind == "stream":
                arguments.append("nullptr")
            elif t.kind == "table":
                body += [f"uint64_t {n}_target = 0;",
                         f"auto {n} = static_cast<const {t.name}*>(i.table(k_{t.name}, {n}_target));"]
                arguments.append(n)
            elif t.kind == "object" and n in lender:
                body += [f"auto {n} = static_cast<{t.name}*>(i.lent_object({lender[n]}_target));"]
                arguments.append(n)
            elif t.kind == "object" and t.direction == "in":
                body += [f"const uint64_t {n}_number = i.u64();",
                         f"auto {n} = static_cast<{t.name}*>(i.own_object(k_object_{t.name}, {n}_number));",
                         f"if ({n} == nullptr) refuse_message(\"an object is NULL\");"]
                arguments.append(n)
            elif self.local_output(n, t):
                body += self.local_output(n, t)
                arguments.append(f"&{n}")
                outs.append((n, t))
            elif t.kind == "interface" and self.interfaces[t.name].get("bare"):
                f = self.interfaces[t.name]["functions"][0]["name"]
                body += self.take(n, t, True, None, checks)
                arguments.append(f"{n} == nullptr ? nullptr : {n}->{f}")
            elif t.direction == "out" and t.kind == "text":
                body += [f"char {n}[{t.count}] = {{}};"]
                arguments.append(n)
                outs.append((n, t))
            elif t.direction == "out" and t.kind == "elements":
                after += [f"const uint64_t {n}_bytes = element_bytes_of(&s.table<{table}>(), index);",
                          f"void* {n} = i.room(elements, {n}_bytes == 0 ? 1 : {n}_bytes);"]
                arguments.append(n)
                outs.append((n, t))
            elif t.direction == "out" and t.count is not None and t.kind != "tensor":
                element = NUMBERS.get(t.kind, "char")
                after += [f"auto {n} = static_cast<{element}*>(i.room({count}, sizeof({element})));"]
                arguments.append(n)
                outs.append((n, t))
            else:
                body += self.take(n, t, True, count, checks)
                if t.kind in ("struct", "interface", "tensor") and t.count is None and not t.nullable:
                    body += [f"if ({n} == nullptr) refuse_message(\"an argument is NULL\");"]
                arguments.append(n)
                if t.direction == "inout" or t.direction == "out" or self.nested_outputs(t):
                    outs.append((n, t))
        body += self.check_lines(checks) + after + ["i.reader().finish();"]
        has_error = any(t.kind == "error" for _, t in ps)
        if has_error:
            body += ["quench_error error{sizeof(quench_error), 0, {}};"]
        of = f"s.table<{table}>()" if kind != "service" else f"served_service<{table}>(\"{self.services[table]['service']}\")"
        where = f"{of}.{function['name']}"
        call = f"{where}({', '.join(arguments)})"
        puts = self.reply_lines(outs)
        if returns == "status" and has_error:
            body += [f"const quench_status status = {call};", "if (s.status(status, error)) {", *["  " + l for l in puts], "}"]
        elif returns == "status":
            body += [f"const quench_status status = {call};", "o.i64(status);", "if (status == QUENCH_OK) {", *["  " + l for l in puts], "}"]
        elif returns == "void":
            body += [f"{call};"]
        elif returns in NUMBERS:
            body += [f"o.{PUT[returns]}({call});"]
            if has_error:
                body += ["s.message(error);"]
            body += puts
        elif returns == "string":
            body += [f"o.text({call});"]
        elif returns == "extension":
            body += [f"serve_extension(s, {where} == nullptr ? nullptr : {call}, id);"]
        elif returns.startswith("deferred"):
            body += ["uint64_t total = 0;", "for (uint64_t k = 0; k < count; ++k) {",
                     "  if (counts[k] > kMemoryBytes - total) refuse_message(\"an output larger than the shared memory\");",
                     "  total += counts[k];", "}",
                     f"int32_t* value = {call};", "o.u64(value == nullptr ? 0 : 1);",
                     "if (value != nullptr) s.peer.exports().hand_out(s.target, {0, 0, {}, value, total * sizeof(int32_t)});"]
        if function.get("arguments") == "object":
            made = next((n for n, t in ps if t.kind == "object" and t.direction == "out"), None)
            number = "o.made()" if made else f"{[n for n, t in ps if t.kind == 'object'][-1]}_number"
            body += [f"s.peer.exports().attach({number}, s.keep);"]
        if function.get("closes"):
            closing = [n for n, t in ps if t.kind == "object" and t.direction == "in"][-1]
            body += [f"s.peer.exports().drop_object({closing}_number);"]
        if kind == "interface" and function["name"] == "release":
            body += ["s.peer.exports().drop_table(s.target);"]
        if self.defers(function):
            body += ["s.put_handed_out();"]
        return [f"void serve_{table}_{function['name']}(Served& s) {{", *["  " + l for l in body], "}"]

    def reply_lines(self, outs):
        lines = []
        for n, t in outs:
            count = t.count and t.count != "elements" and self.expression(t.count, None, "")
            if t.direction == "out" and t.kind == "object":
                lines += [f"o.new_object(k_object_{t.name}, {n});", "if (i.lasting() != nullptr) s.peer.exports().attach(o.made(), i.lasting());"]
            elif t.direction == "out" and t.kind == "struct" and t.count is None:
                lines += [f"put(o, whole(&{n}));"]
            elif t.direction == "out" and t.kind == "string":
                lines += [f"o.text({n});"]
            elif t.direction == "out" and t.kind == "text":
                lines += [f"o.blob({n}, {t.count});"]
            elif t.direction == "out" and t.kind == "elements":
                lines += [f"o.blob({n}, elements * {n}_bytes);"]
            elif t.direction == "out" and t.number and t.count is None:
                lines += [f"o.{PUT[t.kind]}({n});"]
            elif t.direction == "pointer" and t.kind == "struct" and t.count is None:
                lines += [f"put_struct(o, {n});"]
            elif t.direction == "pointer" and t.kind == "struct":
                lines += [f"put_structs(o, {n}, {count});"]
            elif t.direction == "pointer" and t.kind == "interface":
                lines += [f"o.interface(k_{t.name}, {n}, Life::k{t.life.capitalize()});"]
            elif t.direction == "pointer" and t.kind == "tensor":
                lines += [f"put_tensors(o, {n}, {count});"]
            elif t.direction == "pointer" and t.number:
                lines += [f"o.blob({n}, ({count}) * sizeof({NUMBERS[t.kind]}));"]
            elif t.direction == "pointer" and t.kind == "bytes":
                lines += [f"o.blob({n}, {count});"]
            elif t.direction == "pointer":
                lines += [f"o.text({n});"]
            elif t.direction == "view":
                lines += [f"put_tensor(o.writer(), &{n});"]
            elif t.direction == "deferred":
                lines += [f"s.peer.exports().hand_out(s.target, {{0, 0, {n}, nullptr, 0}});"]
            else:
                lines += self.put_output(n, t, count)
        return lines

    # ---- files

    def groups(self):
        for name, interface in self.interfaces.items():
            yield name, interface, "interface"
        for name, table in self.tables.items():
            yield name, table, "table"

    def numbered_services(self):
        """Every service's functions with their numbers, which run through all services."""
        for name, service in self.services.items():
            yield name, [(function["number"], function) for function in service["functions"]]

    def write_calls(self, out):
        code = []
        every = [(name, enumerate(group["functions"]), kind) for name, group, kind in self.groups()]
        for name, functions, kind in [*every, *((name, fs, "service") for name, fs in self.numbered_services())]:
            for index, function in functions:
                if "local" not in function:
                    code += [f"struct Call_{name}_{function['name']} {{",
                             *["  " + l for l in self.call_code(name, function, index, kind)], "};"]
        makes = []
        for name, group, kind in self.groups():
            fs = group["functions"]
            lines = [f"void* make_{name}([[maybe_unused]] uint64_t mask, [[maybe_unused]] RemoteInterface* interface, [[maybe_unused]] RemoteItem* item, [[maybe_unused]] Receiving& in) {{",
                     f"  auto* out = in.keep().array<{name}>(1);", f"  out->struct_size = sizeof({name});"]
            if kind == "interface":  # whose functions are called without looking
                needed = sum(1 << i for i, f in enumerate(fs) if "optional" not in f and "local" not in f)
                lines += [f"  if ((~mask & {needed}) != 0) refuse_message(\"{name} lacks a function\");"]
            if not group.get("bare") and fields(group):
                if kind == "interface":
                    lines += ["  take(in, *out);"]
                else:
                    for field, t in fields(group):
                        lines += ["  " + l for l in self.take(f"out->{field}", t, False, None, [])]
                        lines = [l.replace("i.", "in.") if "= i." in l else l for l in lines]
            if kind == "interface":
                lines += ["  out->context = interface;"]
            for index, function in enumerate(fs):
                if "local" in function:
                    continue
                member = f"decltype({name}::{function['name']})"
                slot = kind == "table" and not any(t.kind == "object" and t.direction == "in" for _, t in parameters(function))
                stub = f"Call_{name}_{function['name']}"
                if slot:
                    lines += [f"  if ((mask >> {index} & 1) != 0 && item != nullptr) {{",
                              f"    out->{function['name']} = in_slot<{member}, {stub}>(slot_of(item));", "  }"]
                else:
                    lines += [f"  if ((mask >> {index} & 1) != 0) {{", f"    out->{function['name']} = &Thunk<{member}, {stub}>::call;", "  }"]
            makes += [*lines, "  return out;", "}"]
        services = []
        for name, service in self.services.items():
            members = ", ".join(f"&Thunk<decltype({name}::{f['name']}), Call_{name}_{f['name']}>::call" if "local" not in f else "nullptr"
                                for f in service["functions"])
            services += [f"  static constexpr {name} table_{name} = {{sizeof({name}), {members}}};",
                         f"  if (std::strcmp(id, \"{service['service']}\") == 0) return &table_{name};"]
        out("abi_calls.cpp", ["// Made from abi.json by make_stubs.py.", '#include "abi_structs.hpp"', "", '#include "core/plugin/wire/call.hpp"',
                              '#include "core/plugin/wire/services.hpp"', '#include "core/plugin/wire/struct_values.hpp"', "", "namespace quench::wire {", "",
                              "namespace {", "", *code, "", "}  // namespace", "", *makes, "",
                              "const void* remote_service(const char* id) {", *services, "  return nullptr;", "}", "", "}  // namespace quench::wire"])

    @staticmethod
    def lendable(function):
        """Whether one that was lent a table may call its function: it is about an object, and leaves it open."""
        return "local" not in function and not function.get("closes") and \
            any(t.kind == "object" and t.direction == "in" for _, t in parameters(function))

    def write_serve(self, out):
        code, tables = [], []
        for name, group, kind in self.groups():
            fs = group["functions"]
            for function in fs:
                if "local" not in function:
                    code += self.serve_code(name, function, kind)
            names = ", ".join(f'"{f["name"]}"' for f in fs)
            serves = ", ".join("nullptr" if "local" in f else f"serve_{name}_{f['name']}" for f in fs)
            mask = " | ".join([f"bit(table, &{name}::{f['name']}, {i})" for i, f in enumerate(fs) if "local" not in f] or ["uint64_t{0}"])
            put = ["put(out, whole(&table));"] if not group.get("bare") and kind == "interface" and fields(group) else \
                [l.replace("o.", "out.", 1) for f, t in fields(group) for l in self.put(f"table.{f}", t, None)] if kind == "table" else []
            code += [f"constexpr const char* names_{name}[] = {{{names or 'nullptr'}}};", f"constexpr void (*serves_{name}[])(Served&) = {{{serves or 'nullptr'}}};",
                     f"uint64_t mask_{name}([[maybe_unused]] const void* at) {{", f"  [[maybe_unused]] const auto& table = *static_cast<const {name}*>(at);", f"  return {mask};", "}",
                     f"void put_{name}([[maybe_unused]] Sending& out, [[maybe_unused]] const void* at) {{", f"  [[maybe_unused]] const auto& table = *static_cast<const {name}*>(at);", *["  " + l for l in put], "}"]
            quote = lambda key: f'"{group[key]}"' if key in group else "nullptr"
            lendable = "~uint64_t{0}" if kind == "interface" else f"uint64_t{{{sum(1 << i for i, f in enumerate(fs) if self.lendable(f))}u}}"
            has_fields = "true" if fields(group) else "false"
            tables += [f"const TableType k_{name} = {{\"{name}\", {quote('kind')}, {quote('extension')}, sizeof({name}), {len(fs)}, names_{name}, mask_{name}, put_{name}, make_{name}, serves_{name}, {lendable}, {has_fields}}};"]
        service_names, service_serves = [], []
        for _, name, function in sorted((number, name, function) for name, functions in self.numbered_services()
                                        for number, function in functions):
            service_names.append(f'"{function["name"]}"')
            service_serves.append("nullptr" if "local" in function else f"serve_{name}_{function['name']}")
            if "local" not in function:
                code += self.serve_code(name, function, "service")
        code += [f"constexpr const char* service_names[] = {{{', '.join(service_names)}}};",
                 f"constexpr void (*service_serves[])(Served&) = {{{', '.join(service_serves)}}};"]
        externs = [f"void* make_{n}(uint64_t, RemoteInterface*, RemoteItem*, Receiving&);" for n, _, _ in self.groups()]
        listed = ", ".join(f"&k_{n}" for n in self.tables)
        out("abi_serve.cpp", ["// Made from abi.json by make_stubs.py.", '#include "abi_structs.hpp"', "", '#include "core/plugin/wire/served.hpp"',
                              '#include "core/plugin/wire/services.hpp"', '#include "core/plugin/wire/struct_values.hpp"', '#include "core/plugin/wire/thunk.hpp"', "", "namespace quench::wire {", "", *externs, "", "namespace {", "", *code, "", "}  // namespace", "", *tables, "",
                              f"const TableType kServices = {{\"services\", nullptr, nullptr, 0, {len(service_names)}, service_names, nullptr, nullptr, nullptr, service_serves, 0, false}};",
                              f"const TableType* const kTables[] = {{{listed}}};", f"const uint16_t kTableCount = {len(self.tables)};",
                              f"const char* const kDescriptionHash = \"{self.hash}\";", "", "}  // namespace quench::wire"])


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)

    def out(name, lines):
        text = "\n".join(lines) + "\n"
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    stubs = Stubs(sys.argv[1])
    stubs.write_structs(out)
    stubs.write_calls(out)
    stubs.write_serve(out)


if __name__ == "__main__":
    main()
