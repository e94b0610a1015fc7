"""The libraries that an analysis needs: one line says what is missing and how to get it."""

import importlib.util
import sys

DEBIAN = {"numpy": "python3-numpy", "scipy": "python3-scipy", "pandas": "python3-pandas", "matplotlib": "python3-matplotlib"}


def need(*names):
    """Raises ImportError unless this Python has all of these."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        debian = [DEBIAN[name] for name in missing if name in DEBIAN]
        raise ImportError("%s has no %s; get it with `python3 -m pip install %s`%s" % (
            sys.executable or "this Python", " and no ".join(missing), " ".join(missing),
            ", for Debian's own Python `apt install %s`" % " ".join(debian) if debian else ""))
