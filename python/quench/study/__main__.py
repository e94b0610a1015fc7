"""Writes the manifest that a file of the study's code amounts to: what `quench import` starts, and every verb that is
given such a file in place of a manifest.

Exit codes: 0 done, 1 it cannot be written, 2 the file or the command line is wrong.
"""

import argparse
import json
import os
import sys

from . import Wrong, read_study_file, study_manifest


def write_new_file(path, text):
    """Writes a file that is not there yet. Raises Wrong and OSError."""
    try:
        file = open(path, "x", encoding="utf-8")
    except FileExistsError:
        raise Wrong("%s: already exists; name another file with -o" % path)
    try:
        with file:
            file.write(text)
    except OSError:
        os.remove(path)
        raise


def main():
    parser = argparse.ArgumentParser(prog="quench import", description=__doc__.splitlines()[0])
    parser.add_argument("file", metavar="FILE", help="YAML file of the study's code")
    parser.add_argument("-o", "--out", metavar="FILE", help="file to write (default: print it)")
    parser.add_argument("--jobs", action="store_true", help="print JSON: the manifest and what each job measures")
    options = parser.parse_args()
    try:
        file = read_study_file(options.file)
        text = study_manifest(file, os.path.basename(options.file))
        if options.jobs:
            jobs = [file.job(number)._asdict() for number in range(file.jobs)]
            json.dump({"manifest": text, "jobs": jobs}, sys.stdout)
        elif options.out:
            write_new_file(options.out, text)
            print("wrote %s, %d jobs; look at it with: quench plan %s" % (options.out, file.jobs, options.out))
        else:
            sys.stdout.write(text)
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 2
    except OSError as failure:
        if failure.filename is None:  # the output's: start.py tells
            raise
        why = "not a regular file" if isinstance(failure, IsADirectoryError) else "cannot be opened: " + failure.strerror
        print("%s: %s" % (failure.filename, why), file=sys.stderr)
        return 2 if failure.filename == options.file else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
