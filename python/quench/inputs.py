"""What a plugin reads besides what it is handed: files and environment variables, of which the host is told as they are read.

An audit hook sees every file that Python opens, and every module and library that it loads; a place in front of os.environ
the names that the plugin's own code asks for. What the interpreter itself brings (its prefix and its site-packages) is in
the keys by versions; what C code opens by itself is not seen.
"""

import os
import site
import sys
import sysconfig
import threading
from importlib.util import source_from_cache

from .abi import constant

PACKAGE = os.path.dirname(os.path.abspath(__file__))
OF_THE_SYSTEM = ("/proc", "/sys", "/dev")
OF_THE_PROCESS = ("TMPDIR", "XDG_CACHE_HOME")  # its scratch folder
VARIABLE, OF_MODULE = constant("INPUT_VARIABLE"), constant("INPUT_OF_MODULE")
WRITES = os.O_WRONLY | os.O_RDWR


def brought_folders():
    """Folders of the interpreter and of what is installed for it, and what is no file of anybody's."""
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, site.getusersitepackages(),
              *site.getsitepackages(), *sysconfig.get_paths().values(), PACKAGE]
    scratch = [os.environ[name] for name in OF_THE_PROCESS if name in os.environ]
    return {os.path.realpath(place) for place in places + scratch} - {"/"} | set(OF_THE_SYSTEM)


def lies_in(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class Watch:
    """The audit hook. `note(flags, name)` tells the host; `plugin.loading` says that the file runs for the first time."""

    def __init__(self, plugin, note):
        self._plugin, self._note = plugin, note
        self._brought = brought_folders()
        self._own = os.path.dirname(os.path.realpath(plugin.path))
        self._here = threading.local()

    def is_own(self, path):
        """Whether a real path lies outside of what was brought: the innermost folder decides."""
        brought = max((len(folder) for folder in self._brought if lies_in(path, folder)), default=0)
        return brought == 0 or (lies_in(path, self._own) and len(self._own) > brought)

    def tell(self, flags, name):
        if getattr(self._here, "telling", False):
            return
        self._here.telling = True
        try:
            self._note(flags | (OF_MODULE if self._plugin.loading else 0), name)
        finally:
            self._here.telling = False

    def file(self, name):
        if not isinstance(name, (str, bytes)):
            return  # a descriptor
        name = os.fsdecode(name)
        if name.endswith(".pyc"):
            try:
                name = source_from_cache(name)
            except ValueError:
                pass
        path = os.path.realpath(name)
        if self.is_own(path):
            self.tell(0, path)

    def __call__(self, event, arguments):
        if getattr(self._here, "telling", False):
            return
        if event == "open":
            name, _, flags = arguments
            if not isinstance(flags, int) or flags & WRITES != os.O_WRONLY and not flags & os.O_TRUNC:
                self.file(name)
        elif event == "import" and arguments[1] is not None:
            self.file(arguments[1])
        elif event in ("ctypes.dlopen", "sqlite3.connect") and "/" in str(arguments[0]):
            self.file(arguments[0])

    def variable(self, name):
        """Notes a variable that the plugin's own code asks for, not a library's."""
        frame = sys._getframe(2)
        while frame is not None and frame.f_globals.get("__name__") in ("os", "_collections_abc"):
            frame = frame.f_back
        if frame is not None and name not in OF_THE_PROCESS and \
                self.is_own(os.path.realpath(frame.f_code.co_filename)):
            self.tell(VARIABLE, os.fsdecode(name))


def watch(plugin, note):
    """From here on. It cannot be undone."""
    hook = Watch(plugin, note)

    class Watched(type(os.environ)):
        def __getitem__(self, key):
            hook.variable(key)
            return super().__getitem__(key)

    os.environ.__class__ = Watched
    sys.addaudithook(hook)
    return hook
