"""A plugin file: what it says of itself, and its functions and classes once one is needed."""

import importlib.util
import json
import os
import sys
import threading
from importlib.machinery import PathFinder

from .describe import read_items
from .requirements import missing, remedy
from .status import INVALID_ARGUMENT, Error


class _NotItself:
    """Finds the library that a plugin file is named after, and never the file: transformers.py imports transformers."""

    def __init__(self, path):
        self._folder, name = os.path.split(path)
        self._name = os.path.splitext(name)[0]

    def find_spec(self, name, path=None, target=None):
        if path is not None or name != self._name:
            return None
        found = PathFinder.find_spec(name, [place for place in sys.path if os.path.abspath(place) != self._folder])
        if found is None:
            raise ModuleNotFoundError("No module named %r in this interpreter, %s" % (name, sys.executable), name=name)
        return found


def _with_remedy(failure):
    """The message of a ModuleNotFoundError with the interpreter and what to type."""
    package = (failure.name or "").partition(".")[0]
    if not package or not missing([package]):  # it is there, and lacks a part
        return failure.msg
    said = failure.msg if sys.executable in failure.msg else "%s in %s" % (failure.msg, sys.executable)
    return "%s: %s, or name an interpreter that has it with QUENCH_PYTHON" % (said, remedy([package]))


class Plugin:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.items = read_items(self.path)
        self._module, self._turn = None, threading.Lock()
        self.loading = False

    def load(self):
        """Runs the file, once. Raises what it raises; the next call tries again."""
        with self._turn:
            if self._module is None:
                folder = os.path.dirname(self.path)
                if folder not in sys.path:
                    sys.path.append(folder)
                sys.meta_path.insert(sys.meta_path.index(PathFinder), _NotItself(self.path))
                name = "quench_plugin_" + os.path.splitext(os.path.basename(self.path))[0]
                spec = importlib.util.spec_from_file_location(name, self.path)
                module = importlib.util.module_from_spec(spec)
                sys.modules[name] = module
                self.loading = True  # what is read now serves all items of the file
                try:
                    spec.loader.exec_module(module)
                except BaseException as failure:
                    del sys.modules[name]
                    if isinstance(failure, ModuleNotFoundError):
                        failure.msg = _with_remedy(failure)
                    raise
                finally:
                    self.loading = False
                self._module = module
            return self._module

    def marked(self, item):
        """The function or class of an item."""
        found = getattr(self.load(), item.name, None)
        if not callable(found):
            raise Error(INVALID_ARGUMENT, "%s: %s is not there once the file has run" % (self.path, item.name))
        return found


class Settings:
    """An item with the parameters of one instance."""

    def __init__(self, plugin, item, parameters_json):
        given = json.loads(parameters_json)
        self.item, self.marked = item, plugin.marked(item)
        self.parameters = {name: given[name] for name in item.parameters if name in given}

    def made(self):
        """A new object of the class, whose parameters are set before __init__ runs."""
        made = self.marked.__new__(self.marked)
        for name, value in self.parameters.items():
            setattr(made, name, value)
        made.__init__()
        return made

    def call(self, **roles):
        """The function, with what it asks for: its parameters, and of `roles`, which count first, what it names."""
        taken = {name: value for name, value in {**self.parameters, **roles}.items() if name in self.item.arguments}
        return self.marked(**taken)


def takes(function, name):
    """Whether a method has a parameter of this name."""
    code = getattr(function, "__code__", None)
    return code is not None and name in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
