#!/usr/bin/env python3
"""Writes the reference page of the plugin interface from its C headers: their comments, and what describe_abi.py reads of them.

    make_reference.py sdk/include/quench/abi docs/abi-reference.md           writes the page
    make_reference.py --check sdk/include/quench/abi docs/abi-reference.md   says whether it is that of the headers
"""
import pathlib
import re

from describe_abi import Abi, make

INTRODUCTION = """# The plugin interface, function by function

Made from the headers in `sdk/include/quench/abi` by `sdk/make_reference.py`: change them, not this page. Each function has what it
takes and gives, in the words of [worker.md](worker.md#3-values), then what its header says. What holds of all of them:

- The caller owns all arguments, and the callee may look at them until it returns. *life*: longer, as long as the object (object) or
  the process (kept), until the next call of the function (next), or until the receiver calls `release` (owned). → is written by
  the callee into memory of the caller's, ⇄ read and written. `?` may be NULL.
- A function that returns *status* fails with a message in the `quench_error` of its caller. Nothing is thrown across the border.
- One call at a time of an instance, from any thread, unless the text says *[thread-safe]*.
- An *optional* function may be NULL; those of one group are there together or not at all. One that is *not called from another
  process* stays in the process of the plugin.

"""
COMMENT = re.compile(r"/\*(?!:)(.*?)\*/", re.S)
ARROWS = (("out pointer ", "→ pointer to "), ("out deferred ", "→ until the outer call returns: "), ("out ", "→ "), ("inout ", "⇄ "))


def escaped(text):
    """What Markdown would take for its own, outside of code."""
    return "\n".join(line if line.startswith("    ") else
                     re.sub(r"`[^`]*`|[*<]", lambda one: one[0] if one[0][0] == "`" else "\\" + one[0], line)
                     for line in text.split("\n"))


class Comments:
    """The comments of a header, found by what stands before and after them."""

    def __init__(self, text):
        self.text = text
        self.all = [(one.start(), one.end(), escaped(self.plain(one[1]))) for one in COMMENT.finditer(text)]

    @staticmethod
    def plain(comment):
        """Paragraphs of one line each; what is indented after an empty line stays as it is."""
        out = [""]
        for line in (re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().split("\n")):
            if line.startswith("  ") and (not out[-1] or out[-1].startswith("    ")):
                out.append("    " + line.removeprefix("  "))
            elif not line or out[-1].startswith("    "):
                out += ["", line] if line else ["", ""]
            else:
                out[-1] = (out[-1] + " " + line.strip()).strip()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")

    def before(self, position):
        """The comment that ends right before a declaration, whatever notes lie between."""
        start = position
        while True:
            head = re.sub(r"/\*:(?:(?!\*/).)*\*/\s*$", "", self.text[:start].rstrip(), flags=re.S).rstrip()
            if len(head) == start:
                break
            start = len(head)
        found = next((one for one in self.all if one[1] == start), None)
        if found is None or found[2].startswith("----") or self.text[:found[0]].rpartition("\n")[2].strip():
            return ""
        return found[2]

    def after(self, position):
        """The comment that begins on the line on which a declaration ends."""
        found = re.match(r"(?:/\*:(?:(?!\*/).)*\*/|[ \t;,])*(/\*(?!:))", self.text[position:], re.S)
        return next((one[2] for one in self.all if found and one[0] == position + found.start(1)), "")


def words(type_text):
    for prefix, arrow in ARROWS:
        if type_text.startswith(prefix):
            return arrow, type_text[len(prefix):]
    return "", type_text


def value(one):
    name, text, *life = one
    arrow, kind = words(text)
    kind = re.sub(r"^(object|struct|interface|table|pointers struct) (?:struct )?", "", kind)
    return f"{arrow}{name}: {kind}{f' (life {life[0]})' if life else ''}"


def signature(function):
    shown = [value(one) for one in function["parameters"] if one[1] not in ("error", "self", "host", "context")]
    marks = []
    if "optional" in function:
        marks.append("optional" if function["optional"] is True else f"optional, group {function['optional']}")
    if "since" in function:
        marks.append(f"since {function['since']}")
    if "life" in function:
        marks.append(f"life {function['life']}")
    if function.get("arguments") == "object":
        marks.append("keeps its arguments as long as its object")
    if function.get("closes"):
        marks.append(f"closes its {'last ' if len(shown) > 1 else ''}object")
    if "local" in function:
        marks.append("not called from another process: " + function["local"])
    returned = "" if function["returns"] == "void" else f" → {function['returns']}"
    return f"**{function['name']}**({', '.join(shown)}){returned}{''.join(f' · *{mark}*' for mark in marks)}"


def bullet(head, comment):
    return "- " + head + (": " + re.sub(r"\n(?=.)", "\n  ", comment) if comment else "")


def c_type(field):
    return " ".join(field.words).replace(" *", "*")


class Reference:
    def __init__(self, folder):
        self.folder, self.abi = pathlib.Path(folder), Abi(folder)
        self.description = self.abi.description()

    def described(self, name):
        return next((self.description[group][name] for group in ("structs", "interfaces", "tables", "services", "entry")
                     if name in self.description[group]), None)

    def function(self, struct, member):
        if "local" in (self.described(struct.name) or {}):  # of the host's process alone; still called like any other
            return self.abi.function(struct, member)
        return next(one for one in self.described(struct.name)["functions"] if one["name"] == member.name)

    def struct(self, comments, struct):
        described = self.described(struct.name) or {}
        title = described.get("service") or described.get("extension") or struct.identifier
        out = [f"### {struct.name}" + (f", `{title}`" if title else ""), ""]
        about = comments.before(comments.text.rfind("typedef" if f"typedef struct {struct.name}" in comments.text else "struct",
                                                    0, struct.end))
        if about:
            out += [about, ""]
        if "local" in described:
            out += [f"*Answered in the plugin's own process: {described['local']}.*" if title else f"*{described['local'].capitalize()}.*", ""]
        fields = [one for one in struct.fields if one.name not in ("context", "flags")]
        plain = "local" in described or not described  # in memory of one process: as C has it
        values = [f"{c_type(field)} {field.name}" for field in fields] if plain else \
            [value(one) for one in self.abi.values(fields, struct.name)]
        for one, field in zip(values, fields):
            out.append(bullet(f"`{one}`", comments.before(field.start) or comments.after(field.end)))
        for member in struct.functions:
            out.append(bullet(signature(self.function(struct, member)), comments.before(member.start)))
        return [*out, ""]

    def numbers(self, comments, header):
        out = []
        for name, number in header.constants.items():
            line = re.search(rf"^#define {name}\b[^/\n]*", comments.text, re.M)
            out.append(bullet(f"`{name}` = {number}", comments.after(line.end()) or comments.before(line.start())))
        return [*out, ""]

    def text(self):
        out = [INTRODUCTION.rstrip(), ""]
        order = ("status.h", "tensor.h", "source.h", "parameter.h", "module.h", "host.h")
        for header in sorted(self.abi.headers, key=lambda one: (one.name not in order, order.index(one.name) if one.name in order
                                                                else not one.name.startswith("kind/"), one.name)):
            comments = Comments((self.folder / header.name).read_text())
            out += [f"## {header.name}", "", comments.all[0][2], ""]
            out += self.numbers(comments, header)
            for struct in header.structs:
                out += self.struct(comments, struct)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


def main():
    make(__doc__, lambda folder: Reference(folder).text())


if __name__ == "__main__":
    main()
