"""Starts a module of this package as the program does: python .../quench/start.py trackers RUN --to tensorboard

`python -m` would look for modules in the working folder first, and what lies there must not be run. Exit codes are the
module's; 1 also if output was lost, 130 after Ctrl-C.
"""

import sys

# Instead of this folder, whose modules have names of their own: the one that holds the package.
sys.path[0] = sys.path[0].rpartition("/")[0]

import os  # noqa: E402, the line above comes first
import runpy  # noqa: E402


def one_line(failure):
    """An exception that nothing here foresaw, with the place that raised it."""
    frame = failure.__traceback__
    while frame.tb_next:
        frame = frame.tb_next
    return "internal error: %s:%d: %s: %s" % (frame.tb_frame.f_code.co_filename, frame.tb_lineno,
                                              type(failure).__name__, " ".join(str(failure).split())[:1000])


def run(module):
    """The module's exit code."""
    try:
        runpy.run_module("quench." + module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
            return 1
        return ended.code or 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # a reader that has seen enough
        return 0
    except Exception as failure:
        if not output_is_lost():  # else main() tells
            print(one_line(failure), file=sys.stderr)
        return 1
    return 0


def output_is_lost():
    """What kept the output from arriving, or None."""
    try:
        sys.stdout.flush()
    except OSError as failure:
        return failure
    return None


def main():
    del sys.argv[0]
    for stream in sys.stdout, sys.stderr:  # whatever the locale is; names of files may be no UTF-8
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    code = run(sys.argv[0])
    lost = output_is_lost()
    if lost:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left goes there when Python ends
        if not isinstance(lost, BrokenPipeError):
            print("standard output: write failed: %s" % lost.strerror, file=sys.stderr)
            code = code or 1
    return code


if __name__ == "__main__":
    sys.exit(main())
