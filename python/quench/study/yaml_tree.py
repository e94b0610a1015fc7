"""A YAML document as a tree whose nodes know their place in the file, and that stays what was typed: numbers and truth
values are read only where JSON spells them so, as in manifests.

PyYAML's events are read and not its objects, which have no places and take the last of two equal keys.
"""

import json
import math
import re

import yaml

from ..texts import printable

MOST_BYTES = 16 << 20
MOST_NODES = 1 << 20
DEEPEST = 64
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Wrong(Exception):
    """What is wrong with a file: a line for each problem."""


class Node:
    """A value: null, "scalar", "list" with items or "mapping" with members [(key, its node, value)]."""

    def __init__(self, kind, mark, text="", quoted=False):
        self.kind, self.text, self.quoted = kind, text, quoted
        self.line, self.column = mark.line + 1, mark.column + 1
        self.items, self.members = [], []

    def find(self, key):
        """The member's value, or None."""
        return next((value for name, _, value in self.members if name == key), None)

    def value(self):
        """As JSON has it: a plain scalar is a number or a truth value only in JSON's spelling, else text."""
        if self.kind == "list":
            return [item.value() for item in self.items]
        if self.kind == "mapping":
            return {key: value.value() for key, _, value in self.members}
        if self.kind is None or self.quoted:
            return None if self.kind is None else self.text
        if self.text in ("true", "false"):
            return self.text == "true"
        found = _NUMBER.fullmatch(self.text)
        if not found:
            return self.text
        number = json.loads(self.text)
        fits = math.isfinite(number) if found[2] or found[3] else -2**63 <= number < 2**63
        return number if fits else self.text  # text rather than rounded silently

    def described(self):
        """For messages: "a list", "the number 3", 'the text "x"'."""
        if self.kind != "scalar":
            return {None: "nothing", "list": "a list", "mapping": "a mapping"}[self.kind]
        value = self.value()
        if isinstance(value, str):
            return 'the text "%s"' % printable(self.text, 60)
        return "the %s %s" % ("word" if isinstance(value, bool) else "number", self.text)


def _text(data, name):
    """The bytes as text, without what can hide text from a reader."""
    if len(data) > MOST_BYTES:
        raise Wrong("%s: %d bytes, wanted at most %d" % (name, len(data), MOST_BYTES))
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise Wrong("%s:1:1: starts with a byte order mark; wanted plain UTF-8" % name)
    odd = re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", data)
    at = odd.start() if odd else len(data)
    try:
        text = data.decode()
    except UnicodeDecodeError as failure:
        text, at = None, min(at, failure.start)
    if at == len(data):
        return text
    before = data[:at]
    raise Wrong("%s:%d:%d: %s 0x%02x; wanted UTF-8 text" % (
        name, 1 + before.count(b"\n"), at - before.rfind(b"\n"),
        "control character" if data[at] < 0x20 else "byte", data[at]))


class _Builder:
    """Makes the tree of the events and refuses what manifests do not have either."""

    def __init__(self, name):
        self.name, self.root, self.count = name, None, 0
        self.open = []  # nodes, each with the node of the key whose value comes next

    def refuse(self, mark, why):
        raise Wrong("%s:%d:%d: %s" % (self.name, mark.line + 1, mark.column + 1, why))

    def take(self, event):
        mark = event.start_mark
        if isinstance(event, yaml.DocumentStartEvent) and self.root:
            raise Wrong("%s: more than one document (---)" % self.name)
        if isinstance(event, yaml.AliasEvent):
            self.refuse(mark, "aliases (*name) are not supported here; write the value out")
        if isinstance(event, yaml.NodeEvent):
            if event.anchor:
                self.refuse(mark, "anchors (&name) are not supported here; write the value out")
            if event.tag not in (None, "!"):
                self.refuse(mark, "the tag %s is not supported here" % printable(event.tag))
        if isinstance(event, yaml.ScalarEvent):
            quoted = event.style is not None
            null = not quoted and event.value in ("~", "null", "")
            self.add(Node(None if null else "scalar", mark, event.value, quoted), mark)
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            if len(self.open) >= DEEPEST:
                self.refuse(mark, "nested deeper than %d levels" % DEEPEST)
            node = Node("list" if isinstance(event, yaml.SequenceStartEvent) else "mapping", mark)
            self.add(node, mark)
            self.open.append([node, None])
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            self.open.pop()

    def add(self, node, mark):
        self.count += 1
        if self.count > MOST_NODES:
            self.refuse(mark, "more than %d values" % MOST_NODES)
        if not self.open:
            self.root = node
            return
        parent, key = self.open[-1]
        if parent.kind == "list":
            parent.items.append(node)
        elif key is None:
            self.check_key(parent, node, mark)
            self.open[-1][1] = node
        else:
            parent.members.append((key.text, key, node))
            self.open[-1][1] = None

    def check_key(self, parent, node, mark):
        if node.kind != "scalar":
            self.refuse(mark, "a key must be a word or a number (or a bracket is not closed)")
        if node.text == "<<" and not node.quoted:
            self.refuse(mark, "merge keys (<<) are not supported here")
        first = next((key.line for name, key, _ in parent.members if name == node.text), None)
        if first:
            self.refuse(mark, "key `%s` is given twice, first in line %d" % (printable(node.text), first))


def parse(data, name):
    """The root of a document, of its bytes. `name`: the file in messages. Raises Wrong."""
    builder = _Builder(name)
    try:
        for event in yaml.parse(_text(data, name), Loader=yaml.SafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        builder.refuse(mark, failure.problem or failure.context)
    except yaml.YAMLError as failure:
        raise Wrong("%s: %s" % (name, " ".join(str(failure).split())))
    if builder.root is None:
        raise Wrong("%s: empty; wanted a mapping" % name)
    return builder.root


def double_quoted(text):
    """A scalar on one line that is read as this text. Raises Wrong for names of files that are no UTF-8."""
    if any(0xD800 <= ord(char) < 0xE000 for char in text):
        raise Wrong("%s: is not UTF-8, so that no manifest can name it" % printable(text))
    return '"%s"' % re.sub(r'["\\\x00-\x1f\x7f]',
                           lambda found: "\\" + found[0] if found[0] in '"\\' else "\\x%02x" % ord(found[0]), text)


def scalar(text):
    """The text as it is where it can only be read as this text, also inside [] and {}; else quoted."""
    rest = text[5:] if text.startswith("hf://") else text
    plain = re.fullmatch(r"[A-Za-z/][A-Za-z0-9_./+-]*", rest) and text not in ("true", "false", "null")
    return text if plain else double_quoted(text)
