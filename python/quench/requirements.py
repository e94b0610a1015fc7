"""What this interpreter lacks of the packages that a verb imports, and how to get them.

    python -m quench.requirements yaml pyarrow

Exit code 0: it has them all. 1: two lines, what it lacks and what to do.
"""

import importlib.util
import os
import sys
import sysconfig

OLDEST = (3, 9)
# What is imported: its name on PyPI, and Debian's package where there is one.
SOURCES = {
    "matplotlib": ("matplotlib", "python3-matplotlib"),
    "mlflow": ("mlflow-skinny", None),
    "numpy": ("numpy", "python3-numpy"),
    "pandas": ("pandas", "python3-pandas"),
    "plotly": ("plotly", None),
    "pyarrow": ("pyarrow", None),
    "scipy": ("scipy", "python3-scipy"),
    "tensorboard": ("tensorboard", None),
    "trackio": ("trackio", None),
    "wandb": ("wandb", None),
    "yaml": ("PyYAML", "python3-yaml"),
}


def missing(names):
    """Those that cannot be imported here. Nothing is imported for it."""
    return [name for name in names if importlib.util.find_spec(name) is None]


def is_externally_managed():
    """Whether pip refuses to install here, as for the Python of Debian 12 (PEP 668)."""
    return sys.prefix == sys.base_prefix and os.path.exists(
        os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))


def remedy(names):
    """What to type to get packages for this interpreter."""
    wheels = " ".join(SOURCES.get(name, (name, None))[0] for name in names)
    if not is_externally_managed():
        return "install it there (%s -m pip install %s)" % (sys.executable, wheels)
    packages = [SOURCES.get(name, (name, None))[1] for name in names]
    if all(packages):
        return "install it there (sudo apt-get install %s)" % " ".join(packages)
    return "install it into an environment (%s -m venv ENV && ENV/bin/python3 -m pip install %s)" % (
        sys.executable, wheels)


def lack(names):
    """("has no module wandb", what to do), or None."""
    if sys.version_info < OLDEST:
        return "is Python %d.%d, wanted %d.%d or newer" % (sys.version_info[:2] + OLDEST), "install a newer one"
    absent = missing(names)
    if not absent:
        return None
    return "has no module%s %s" % ("s" if len(absent) > 1 else "", ", ".join(absent)), remedy(absent)


def need(*names):
    """Raises ImportError, one line, unless this interpreter has them all."""
    found = lack(names)
    if found:
        raise ImportError("%s %s; %s" % (sys.executable, *found))


if __name__ == "__main__":
    found = lack(sys.argv[1:])
    if found:
        print("\n".join(found))
        sys.exit(1)
