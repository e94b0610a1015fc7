"""What a plugin file says of itself, read from its text: nothing in the file runs and nothing it imports is needed.

    python3 -m quench.describe FILE

prints {"module": ..., "items": [...], "surroundings": ...} as JSON. What a decorator is given must be literal, so that it
can be read.
"""

import ast
import json
import os
import platform
import re
import sys

from . import abi
from . import parameters as kinds
from .status import INVALID_ARGUMENT, Error
from .surroundings import surroundings

PLUGIN_KINDS = ("quantizer", "metric", "averaging", "model")
WORDS = {"id": str, "version": str, "reference": str, "example": str, "presets": dict, "reads": list}
# Further words of a kind, each a bit of the host's.
FLAG_NAMES = {
    "quantizer": {"needs_rows": "NEEDS_ROWS", "uses_rows": "USES_ROWS", "needs_float_stream": "NEEDS_FLOAT_STREAM",
                  "needs_sequential": "NEEDS_SEQUENTIAL", "needs_block_rows": "NEEDS_BLOCK_ROWS",
                  "needs_float_rows": "NEEDS_FLOAT_ROWS", "quantizes_head": "QUANTIZES_HEAD",
                  "quantizes_embedding": "QUANTIZES_EMBEDDING"},
    "metric": {"needs_float": "METRIC_NEEDS_FLOAT", "needs_trajectory": "METRIC_NEEDS_TRAJECTORY"},
    "averaging": {"any_order": "AVERAGING_ANY_ORDER"},
    "model": {},
}
FLAGS = {kind: {word: abi.constant(name) for word, name in names.items()}
         for kind, names in FLAG_NAMES.items()}
KIND_WORDS = {"quantizer": {}, "metric": {"unit": str, "direction": int}, "averaging": {},
              "model": {"model_types": list, "ignored": list}}
# What a function may take besides its parameters.
ROLES = {"quantizer": ("weight", "linear", "gram", "rows"), "averaging": ("members",),
         "metric": ("model", "tokens", "sink", "tokenizer", "weights")}
REQUIRED_ROLES = {"quantizer": "weight", "averaging": "members", "metric": "model"}
# What a class must have.
METHODS = {"quantizer": ("quantize",), "metric": ("evaluate",), "averaging": ("accumulate", "finish"),
           "model": ("open", "parameters", "blocks", "embed", "stage", "logits")}


class Item:
    """One plugin of a file."""

    def __init__(self, kind, name, line, is_class):
        self.kind, self.name, self.line, self.is_class = kind, name, line, is_class
        self.id = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        self.version, self.summary, self.reference, self.example = "0.0.0", "", "", ""
        self.parameters, self.presets, self.words = {}, {}, {}
        self.reads = []  # files, as the text names them
        self.flags = set()
        self.arguments = ()  # of the function
        self.methods = set()  # of the class

    @property
    def needs(self):
        bits = sum(FLAGS[self.kind][flag] for flag in self.flags)
        if self.kind == "metric" and "tokenizer" in self.arguments:
            bits |= abi.constant("METRIC_NEEDS_TOKENIZER")
        return bits

    @property
    def optional_functions(self):
        """Of its kind's table: a function of rows shares their Gram matrix with other settings, and the sums of a function
        that weights members are known."""
        if self.kind == "quantizer" and not self.is_class and {"gram", "rows"} & set(self.arguments):
            return {"gram_get", "gram_set", "output_error", "accepts"}
        if self.kind == "averaging" and not self.is_class:
            return {"sums_size", "sums_get", "sums_set"}
        return {"needs"} if self.kind == "metric" else set()

    @property
    def functions(self):
        """The functions of its kind's table that a worker serves."""
        offered = self.optional_functions
        return [function.name for function in abi.load().table_of_kind[self.kind].functions
                if not function.local and (not function.optional or function.name in offered)]

    def described(self):
        parameters = [parameter.described(name) for name, parameter in self.parameters.items()]
        out = {"kind": self.kind, "id": self.id, "version": self.version, "summary": self.summary,
               "reference": self.reference, "example": self.example, "parameters": parameters, "presets": self.presets,
               "model_types": list(self.words.get("model_types", [])), "functions": self.functions,
               "instance": None}
        known = "needs" not in self.methods and all("default" in parameter for parameter in parameters)
        if self.kind == "quantizer" and known:
            out["instance"] = {"needs": self.needs, "functions": sorted(self.optional_functions)}
        return out


class _Reader:
    def __init__(self, path, text):
        self.path = path
        try:
            self.tree = ast.parse(text, path)
        except SyntaxError as failure:
            raise Error(INVALID_ARGUMENT, "%s:%s: %s" % (path, failure.lineno, failure.msg)) from None
        self.modules, self.names, self.classes = set(), {}, {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                self.modules.update(alias.asname or alias.name for alias in node.names if alias.name == "quench")
            elif isinstance(node, ast.ImportFrom) and node.module == "quench" and node.level == 0:
                self.names.update({alias.asname or alias.name: alias.name for alias in node.names})
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = node

    def fail(self, node, what):
        raise Error(INVALID_ARGUMENT, "%s:%d: %s" % (self.path, node.lineno, what))

    def of_quench(self, node):
        """The name that an expression has in this package, or None."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.modules:
            return node.attr
        return self.names.get(node.id) if isinstance(node, ast.Name) else None

    def literal(self, node, what):
        """A value, or a parameter made of literals."""
        called = self.of_quench(node.func) if isinstance(node, ast.Call) else None
        if called is None:
            if self.of_quench(node) in ("LOWER_IS_BETTER", "NO_DIRECTION", "HIGHER_IS_BETTER"):
                return abi.constant(self.of_quench(node))
            try:
                return ast.literal_eval(node)
            except (ValueError, TypeError, SyntaxError):
                self.fail(node, "%s is not literal: it must be readable without running the file" % what)
        if called not in kinds.KINDS:
            self.fail(node, "%s: quench.%s is no kind of parameter; there are %s"
                      % (what, called, ", ".join(kinds.KINDS)))
        if any(keyword.arg is None for keyword in node.keywords):
            self.fail(node, "%s is not literal: it must be readable without running the file" % what)
        try:
            return kinds.KINDS[called](*[self.literal(argument, what) for argument in node.args],
                                       **{keyword.arg: self.literal(keyword.value, what) for keyword in node.keywords})
        except (TypeError, ValueError) as failure:
            self.fail(node, "%s: %s" % (what, failure))

    def items(self):
        found = []
        for node in self.tree.body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            for decorator in node.decorator_list:
                kind = self.of_quench(decorator.func if isinstance(decorator, ast.Call) else decorator)
                if kind in PLUGIN_KINDS:
                    found.append(self.item(kind, node, decorator))
        return found

    def item(self, kind, node, decorator):
        if isinstance(node, ast.AsyncFunctionDef) or (kind == "model" and not isinstance(node, ast.ClassDef)):
            self.fail(node, "a %s is %s" % (kind, "a class" if kind == "model" else "a function or a class"))
        item = Item(kind, node.name, node.lineno, isinstance(node, ast.ClassDef))
        item.version = self.version()
        doc = ast.get_docstring(node) or ""
        item.summary = doc.strip().split("\n")[0].strip()
        if item.is_class:
            self.read_class(item, node)
        if isinstance(decorator, ast.Call):
            if decorator.args:
                self.fail(decorator, "parameters are given by name: bits=4")
            for keyword in decorator.keywords:
                if keyword.arg is None:
                    self.fail(decorator, "** is not literal: it must be readable without running the file")
                self.take(item, keyword.arg, self.literal(keyword.value, keyword.arg), keyword.value)
        if not item.is_class:
            self.read_function(item, node)
        elif not set(METHODS[kind]) <= item.methods:
            missing = [name for name in METHODS[kind] if name not in item.methods]
            self.fail(node, "%s: a class that is a %s has a method `%s`" % (node.name, kind, missing[0]))
        if item.presets and "preset" not in item.parameters:
            item.parameters["preset"] = kinds.Choice("none", *item.presets, meaning="whose defaults to use")
        self.add_meanings(item, doc)
        return item

    def version(self):
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and any(
                    isinstance(target, ast.Name) and target.id == "__version__" for target in node.targets):
                value = self.literal(node.value, "__version__")
                if isinstance(value, str):
                    return value
        return "0.0.0"

    def take(self, item, name, value, node):
        """One argument of the decorator, or attribute of the class."""
        expected = WORDS.get(name) or KIND_WORDS[item.kind].get(name)
        if name in FLAGS[item.kind]:
            if not isinstance(value, bool):
                self.fail(node, "%s: got %r, wanted True or False" % (name, value))
            (item.flags.add if value else item.flags.discard)(name)
        elif expected is not None:
            if expected is list and isinstance(value, tuple):
                value = list(value)
            if not isinstance(value, expected):
                self.fail(node, "%s: got %r, wanted %s" % (name, value, expected.__name__))
            if name == "reads" and not all(isinstance(one, str) and one for one in value):
                self.fail(node, "reads: got %r, wanted names of files" % (value,))
            if name in KIND_WORDS[item.kind]:
                item.words[name] = value
            else:
                setattr(item, name, value)
        else:
            try:
                item.parameters[name] = kinds.parameter_of(value)
            except ValueError as failure:
                self.fail(node, "%s: %s" % (name, failure))

    def read_class(self, item, node):
        for base in node.bases:  # of the same file; the class itself counts last
            if isinstance(base, ast.Name) and base.id in self.classes and self.classes[base.id] is not node:
                self.read_class(item, self.classes[base.id])
        for member in node.body:
            if isinstance(member, ast.FunctionDef):
                item.methods.add(member.name)
                if member.name == "evaluate":
                    item.arguments = tuple(argument.arg for argument in member.args.args[1:])
                continue
            targets = member.targets if isinstance(member, ast.Assign) else \
                [member.target] if isinstance(member, ast.AnnAssign) and member.value is not None else []
            for target in targets:
                if not isinstance(target, ast.Name):
                    continue
                name = target.id
                is_word = name in WORDS or name in KIND_WORDS[item.kind] or name in FLAGS[item.kind]
                is_parameter = isinstance(member.value, ast.Call) and self.of_quench(member.value.func) in kinds.KINDS
                if is_word or is_parameter:
                    self.take(item, name, self.literal(member.value, name), member.value)

    def read_function(self, item, node):
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
            self.fail(node, "%s: a plugin's function names all it takes" % node.name)
        names = [argument.arg for argument in arguments.args + arguments.kwonlyargs]
        item.arguments = tuple(names)
        known = set(ROLES[item.kind]) | set(item.parameters)
        for name in names:
            if name not in known:
                self.fail(node, "%s: `%s` is neither a parameter of the decorator nor one of %s"
                          % (node.name, name, ", ".join(ROLES[item.kind])))
        wanted = REQUIRED_ROLES[item.kind]
        if wanted not in names:
            self.fail(node, "%s: the function of a %s takes `%s`" % (node.name, item.kind, wanted))
        for name, parameter in item.parameters.items():
            if name in ROLES[item.kind] and not isinstance(parameter, kinds.Corpus):
                self.fail(node, "%s: `%s` is what the function is handed, and no name for a parameter" % (node.name, name))
            handed = isinstance(parameter, kinds.Corpus) and "tokens" in names
            if name not in names and name != "preset" and not handed:
                self.fail(node, "%s: the parameter `%s` is not taken by the function" % (node.name, name))
        if {"gram", "rows"} & set(names) and item.kind == "quantizer":
            item.flags.add("needs_rows")
        corpora = [name for name, parameter in item.parameters.items() if isinstance(parameter, kinds.Corpus)]
        if "tokens" in names and "tokens" not in item.parameters and len(corpora) != 1:
            self.fail(node, "%s: `tokens` are those of the one corpus that is a parameter; there are %d"
                      % (node.name, len(corpora)))

    @staticmethod
    def add_meanings(item, doc):
        """A line `name: meaning` of the docstring describes a parameter."""
        for line in doc.split("\n"):
            match = re.match(r"\s*(\w+): (.+)", line)
            parameter = item.parameters.get(match[1]) if match else None
            if parameter is not None and not parameter.meaning:
                parameter.meaning = match[2].strip()


def read_items(path):
    """The items of a file. Raises quench.Error, which names file and line, and OSError."""
    with open(path, "rb") as file:
        text = file.read()
    items = _Reader(path, text).items()
    if not items:
        raise Error(INVALID_ARGUMENT, "%s: no plugin: no function or class is marked by %s"
                    % (path, ", ".join("@quench." + kind for kind in PLUGIN_KINDS)))
    seen = {}
    for item in items:
        before = seen.setdefault((item.kind, item.id), item)
        if before is not item:
            raise Error(INVALID_ARGUMENT, "%s:%d: %s %s is there already, in line %d"
                        % (path, item.line, item.kind, item.id, before.line))
    return items


def declared_files(path, items):
    """The files that the items say they read, which their names lead to from the folder of the plugin's file."""
    folder = os.path.dirname(os.path.abspath(path))
    return sorted({os.path.normpath(os.path.join(folder, name)) for item in items for name in item.reads})


def describe(path, items=None):
    """All that the host keeps of a file, as JSON."""
    items = read_items(path) if items is None else items
    module = {"id": "python." + os.path.splitext(os.path.basename(path))[0], "version": items[0].version,
              "build": "Python " + platform.python_version()}
    return {"module": module, "items": [item.described() for item in items]}


def main():
    arguments = sys.argv[1:]
    try:
        if len(arguments) != 1:
            sys.exit("usage: python3 -m quench.describe FILE")
        items = read_items(arguments[0])
        answer = {**describe(arguments[0], items),
                  "surroundings": surroundings(arguments[0], declared_files(arguments[0], items))}
        print(json.dumps(answer, sort_keys=True))
    except (Error, OSError) as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
