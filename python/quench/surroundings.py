"""What a plugin file computes with besides its own text: interpreter, distributions, and files that lie beside it.

Imports are found in the text and looked up, not made: nothing of a plugin runs.
"""

import ast
import hashlib
import importlib.util
import os
import platform
import sys
import sysconfig
from importlib import metadata

PACKAGE = os.path.dirname(os.path.abspath(__file__))
# Of this package, what makes numbers of numbers.
COMPUTING = ("arrays.py", "philox.py", os.path.join("kinds", "averaging.py"), os.path.join("kinds", "metric.py"),
             os.path.join("kinds", "model.py"), os.path.join("kinds", "quantizer.py"))
# And what makes the description.
DESCRIBING = ("describe.py", "parameters.py", "surroundings.py")


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def imported(text):
    """The top-level modules that a text imports anywhere, without those of its own package."""
    names = set()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # importing it reports the error
        return names
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


def _is_of_interpreter(origin):
    """Whether a module comes with Python itself."""
    if origin in (None, "built-in", "frozen"):
        return origin is not None
    folders = {os.path.realpath(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib")}
    origin = os.path.realpath(origin)
    return any(origin.startswith(folder + os.sep) for folder in folders) and not any(
        part in ("site-packages", "dist-packages") for part in origin.split(os.sep))


def _distribution(module):
    """The distribution that a top-level module belongs to, or None."""
    try:
        return metadata.distribution(module)
    except metadata.PackageNotFoundError:
        pass
    for found in metadata.distributions():
        listed = (found.read_text("top_level.txt") or "").split()
        if module in listed or any(file.parts[0] in (module, module + ".py") for file in found.files or ()):
            return found
    return None


def _record_of(distribution):
    """The file that another version of a distribution would not leave as it is, or None."""
    place = getattr(distribution, "_path", None)
    for path in (os.path.join(str(place), name) for name in ("METADATA", "PKG-INFO")) if place else ():
        if os.path.isfile(path):
            return path
    return str(place) if place and os.path.isfile(str(place)) else None


def _beside(path, module):
    """The files of a module that lies in the folder of the plugin at `path`, which is not its own library."""
    folder = os.path.dirname(path)
    single = os.path.join(folder, module + ".py")
    if os.path.isfile(single):
        return [] if single == path else [single]
    package = os.path.join(folder, module)
    if not os.path.isfile(os.path.join(package, "__init__.py")):
        return []
    return sorted(os.path.join(place, name) for place, _, names in os.walk(package) for name in names
                  if name.endswith(".py"))


def surroundings(path, declared=()):
    """Of a plugin file, what the host adds to content keys, and `watched`: {path: what it is} of the files, there or not,
    whose change makes this answer an old one. `declared`: files that it says it reads."""
    path = os.path.abspath(path)
    folder = os.path.dirname(path)
    distributions, beside = {}, {}
    watched = {sys.executable: "Python " + platform.python_version()}
    places = [place for place in sys.path if os.path.basename(place) in ("site-packages", "dist-packages")]
    with open(path, "rb") as file:
        pending = imported(file.read()) | {"numpy"}  # what is handed over is numpy's
    seen = {"quench"}
    while pending - seen:
        module = min(pending - seen)
        seen.add(module)
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            files = _beside(path, module)
            for file in files:
                beside[os.path.relpath(file, folder)] = sha256(file)
                watched[file] = module
                with open(file, "rb") as text:
                    pending |= imported(text.read())
            if not files:  # it may be installed later, in one of these
                watched.update({os.path.join(place, module, "__init__.py"): module for place in places})
        elif not _is_of_interpreter(spec.origin):
            found = _distribution(module)
            distributions[found.metadata["Name"] if found else module] = found.version if found else "unknown"
            record = _record_of(found) if found else spec.origin
            if record:
                watched[record] = module
    for file in declared:
        beside[os.path.relpath(file, folder)] = sha256(file) if os.path.isfile(file) else "absent"
        watched[file] = "reads"
    package = hashlib.sha256("".join(sha256(os.path.join(PACKAGE, name)) for name in COMPUTING).encode()).hexdigest()
    watched.update({os.path.join(PACKAGE, name): "quench" for name in COMPUTING + DESCRIBING})
    return {"interpreter": {"version": platform.python_version(), "executable": sys.executable},
            "distributions": distributions, "beside": beside, "package": package, "watched": watched}
