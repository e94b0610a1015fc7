"""Speaks with clusters for the program: JSON on the standard input, JSON on the standard output.

`submit`: from what is left of a run to {"text", "warnings", "data", "error"}; `watch`: from the run's folder to {"text", "jobs",
"active"}. What goes wrong stands in the answer; the exit code is 0.
"""

import json
import sys

from ..status import FAILED_PRECONDITION, Error
from . import Wrong
from .submit import submit
from .watch import watch


class Answer:
    def __init__(self):
        self.text, self.warnings, self.data, self.error = "", [], None, None


def submitted(request):
    answer = Answer()
    try:
        submit(request, answer)
    except Error as failure:
        answer.error = {"status": failure.status, "message": str(failure), "usage": isinstance(failure, Wrong)}
    except OSError as failure:
        # A template that cannot be read is the user's to change, as every file that an option names.
        usage = str(failure.filename) == request["template"]
        answer.error = {"status": FAILED_PRECONDITION, "message": "%s: %s" % (failure.filename, failure.strerror), "usage": usage}
    return vars(answer)


def main():
    request = json.load(sys.stdin.buffer)
    json.dump(submitted(request) if sys.argv[1] == "submit" else watch(request["folder"]), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
