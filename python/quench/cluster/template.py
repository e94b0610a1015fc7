"""Scripts from templates: text with placeholders such as {{cpus}}.

A line with a placeholder that has no value is left out, a line with a list is repeated for each of its values.
"""

import itertools
import re

from ..status import INVALID_ARGUMENT
from ..texts import nearest, printable
from . import Wrong

PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")


def fill(text, values, file):
    """The text with its placeholders replaced. `values`: by name a text, a number, a list of them, or None."""
    lines = []
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        choices = []
        for name in PLACEHOLDER.findall(line):
            if name not in values:
                near = nearest(name, values)
                raise Wrong(INVALID_ARGUMENT, "%s:%d: got the placeholder {{%s}}, wanted one of %s%s" % (
                    file, number, printable(name, 40), ", ".join(sorted(values)),
                    "; did you mean {{%s}}?" % near if near else ""))
            value = values[name]
            choices.append([] if value is None else value if isinstance(value, list) else [value])
        for chosen in itertools.product(*choices):
            left = iter(chosen)
            lines.append(PLACEHOLDER.sub(lambda _: str(next(left)), line) + "\n")
    return "".join(lines)
