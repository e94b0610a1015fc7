"""The sandbox of a plugin's process: what the host asks for, by the library that comes with it."""
import ctypes
import os
import sys

from .status import FAILED_PRECONDITION, Error

ROOM = 1000  # bytes of what the library says


def _paths(names):
    encoded = [name.encode() for name in names]
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)


def own_places():
    """Where this interpreter has its modules, before a plugin can have changed that."""
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path}
    return sorted(place for place in places if os.path.isabs(place) and place != "/" and os.path.exists(place))


def confine(box):
    """Confines this process for good, and says what is in force: "landlock 7, seccomp".

    `box` is `hello.sandbox`: `library`, `readable`, `writable`; the interpreter's own places are readable, too. None leaves the
    process as it is. Raises Error where the kernel refuses what it offers.
    """
    if box is None:
        return "off"
    function = ctypes.CDLL(box["library"]).quench_confine_interpreter
    text = ctypes.create_string_buffer(ROOM)
    failed = function(_paths(box["readable"] + own_places()), _paths(box["writable"]), text, ctypes.c_size_t(ROOM))
    said = text.value.decode(errors="replace")
    if failed:
        raise Error(FAILED_PRECONDITION, said)
    return said
