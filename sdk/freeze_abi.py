#!/usr/bin/env python3
"""Writes what a version of the plugin interface promises, and refuses headers that break it.

    freeze_abi.py sdk/include/quench/abi sdk/abi-1.0.txt           writes it, once, when the version is released
    freeze_abi.py --check sdk/include/quench/abi sdk/abi-1.0.txt   says what the headers no longer keep

The file has every struct with its size and the offset, size and type of each member, for 64-bit machines of the usual layout
(a test has a compiler confirm it), and every constant. A struct that `grows` may get members behind its end; one that is
`fixed` may not, because it stands in arrays, in other structs or behind a name of its own (docs/abi.md).
"""
import pathlib
import re
import sys

from describe_abi import NUMBERS, Abi, arguments_of

HEAD = "# What plugin ABI {} promises: docs/abi.md. Made by sdk/freeze_abi.py from the headers, and not changed since.\n"
WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8}
# Read by whoever gets them, in memory of whoever made them: all sides agree on every byte.
VIEWS = ("quench_device", "quench_dtype", "quench_tensor", "quench_error", "quench_parameter")


def spelled(words):
    return re.sub(r" \*", "*", " ".join(word for word in words if word != "struct"))


class Layout:
    """Where a compiler puts the members of each struct."""

    def __init__(self, folder):
        self.abi = Abi(folder)
        self.description = self.abi.description()
        self.known = {}

    def size_and_alignment(self, member):
        text = next((note for note in member.notes if note.startswith("is out text[")), None)
        if member.parameters is not None or member.stars:
            return 8, 8
        if member.base in NUMBERS:
            width = WIDTHS.get(NUMBERS[member.base].lstrip("iuf"))
            return width, width
        if text and member.base == "char":
            return int(text[len("is out text["):-1]), 1
        return self.struct(member.base)[:2]

    def struct(self, name):
        """(size, alignment, [(offset, size, member)])"""
        if name not in self.known:
            at, widest, members = 0, 1, []
            for member in self.abi.structs[name].members:
                size, alignment = self.size_and_alignment(member)
                at = (at + alignment - 1) // alignment * alignment
                members.append((at, size, member))
                at, widest = at + size, max(widest, alignment)
            self.known[name] = ((at + widest - 1) // widest * widest, widest, members)
        return self.known[name]

    def fixed(self):
        """Structs that may never have more members."""
        out = {*VIEWS}
        plain = {struct.name for struct in self.abi.structs.values() if not struct.functions}
        for struct in self.abi.structs.values():
            if struct.identifier and not self.abi.is_service(struct):
                out.add(struct.name)  # of an extension: more of it is an extension of another name
            declarations = [*struct.members, *(one for member in struct.functions for one in member.parameters)]
            for one, after in zip(declarations, [*declarations[1:], None]):
                if one.base not in plain or one.parameters is not None:
                    continue
                counted = any(note.startswith("[") for note in one.notes) and one.words.count("const") < 2
                if counted or one.stars == 2 and one.words.count("const") == 1 or (one in struct.members and one.stars == 0):
                    out.add(one.base)
        return out


def member_text(member):
    if member.parameters is None:
        array = next((note[len("is out text"):] for note in member.notes if note.startswith("is out text[")), "")
        return f"{spelled(member.words)} {member.name}{array}"
    takes = ", ".join(f"{spelled(one.words)} (*)" + f"({', '.join(spelled(inner.words) for inner in one.parameters)})"
                      if one.parameters is not None else spelled(one.words) + ("[65]" if "is out text[65]" in one.notes else "")
                      for one in member.parameters)
    return f"{spelled(member.words)} (*{member.name})({takes or 'void'})"


def constants(folder):
    """Numbers and names of the headers' defines."""
    out = {}
    for path in sorted(pathlib.Path(folder).rglob("*.h")):
        for name, value in re.findall(r"^#define (QUENCH_\w+) +([^\n]*)", path.read_text(), re.M):
            value = re.sub(r"\s*/\*.*", "", value).strip()
            if value and not name.endswith("_H") and name not in ("QUENCH_ABI_MAJOR", "QUENCH_ABI_MINOR", "QUENCH_NOEXCEPT"):
                out[name] = value
    return out


def promised(folder):
    """The lines of the file."""
    layout = Layout(folder)
    fixed = layout.fixed()
    lines = []
    for name in sorted(layout.abi.structs):
        size, _, members = layout.struct(name)
        lines.append(f"struct {name} {size} {'fixed' if name in fixed else 'grows'}")
        lines += [f"  {at} {bytes_} {member_text(member)}" for at, bytes_, member in members]
    return lines + [f"constant {name} {value}" for name, value in constants(folder).items()]


def read(lines):
    """({name: (size, word, [member lines])}, {constant: value})"""
    structs, values, members = {}, {}, []
    for line in lines:
        if line.startswith("struct "):
            _, name, size, word = line.split()
            members = []
            structs[name] = (int(size), word, members)
        elif line.startswith("  "):
            members.append(line.strip())
        elif line.startswith("constant "):
            _, name, value = line.split(" ", 2)
            values[name] = value
    return structs, values


def broken(then, now):
    """What the lines `now` no longer keep of those of `then`, one line each."""
    structs, values = read(then)
    new_structs, new_values = read(now)
    for name, (size, word, members) in structs.items():
        if name not in new_structs:
            yield f"{name}: is gone"
            continue
        _, new_word, found = new_structs[name]
        for index, member in enumerate(members):
            if index >= len(found) or found[index] != member:
                yield f"{name}: member {index} is `{found[index] if index < len(found) else 'gone'}`, wanted `{member}`"
                break
        else:
            added = found[len(members):]
            if added and word == "fixed":
                yield f"{name}: is fixed, and has a member more: `{added[0]}`"
            elif added and int(added[0].split()[0]) < size:
                yield f"{name}: `{added[0]}` lies in padding that earlier plugins count as theirs; it begins at {size} or later"
        if word == "grows" and new_word == "fixed":
            yield f"{name}: was promised to grow, and now stands in an array or another struct"
    for name, value in values.items():
        if new_values.get(name) != value:
            yield f"{name}: is {new_values.get(name, 'gone')}, wanted {value}"


def main():
    check, folder, path = arguments_of(__doc__)
    now = promised(folder)
    if not check:
        version = Abi(folder).description()["abi"]
        pathlib.Path(path).write_text(HEAD.format(version) + "\n".join(now) + "\n")
        return
    faults = list(broken(pathlib.Path(path).read_text().splitlines(), now))
    if faults:
        sys.exit("\n".join(f"{path}: {fault}" for fault in faults))


if __name__ == "__main__":
    main()
