"""plotly.js, which the page carries."""

import gzip
import importlib.util
import os


def packed_plotly(path=None):
    """gzip's bytes: those of the file or, without one, of the package plotly; None if there is neither."""
    if path and os.path.exists(path):
        with open(path, "rb") as file:
            return file.read()
    found = importlib.util.find_spec("plotly")
    for folder in found.submodule_search_locations or () if found else ():
        own = os.path.join(folder, "package_data/plotly.min.js")
        if os.path.exists(own):
            with open(own, "rb") as file:
                return gzip.compress(file.read(), 9, mtime=0)
    return None
