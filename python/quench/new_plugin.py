"""Starts a repository of a plugin from a template of the SDK: what `quench plugins new` starts.

Exit codes: 0 done, 1 it cannot be written, 2 the command line is wrong.
"""

import argparse
import datetime
import os
import re
import sys

# Folders of a search path, and what find_package is asked for.
KINDS = {
    "quantizer": ("quantizers", ""), "quantizer_c": ("quantizers", ""), "model": ("models", ""),
    "decoder": ("models", "decoder"), "averaging": ("averaging", ""), "metric": ("metrics", ""),
    "corpus": ("corpora", ""), "tokenizer": ("tokenizers", ""), "transform": ("transforms", ""),
    "optimizer": ("optimizers", ""), "format": ("formats", ""),
}

CMAKE = """\
# cmake -B build -DCMAKE_PREFIX_PATH=<where quench is installed> && cmake --build build && ctest --test-dir build
cmake_minimum_required(VERSION 3.25)
project({id} LANGUAGES {languages})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_package(quench-sdk REQUIRED{components})
quench_add_plugin({id} KIND {folder} SOURCES {source}{link})

# What every {kind} promises. QUENCH_SAMPLE names a small checkpoint, or a file, that it is tried on.
enable_testing()
find_program(QUENCH quench HINTS "${{QUENCH_SDK_PREFIX}}/bin" REQUIRED)
set(QUENCH_SAMPLE "" CACHE PATH "What the plugin is tried on")
if(QUENCH_SAMPLE)
  set(sample --checkpoint "${{QUENCH_SAMPLE}}")
endif()
add_test(NAME "{id}: keeps what its kind promises" COMMAND "${{QUENCH}}" plugins check "$<TARGET_FILE:{id}>" ${{sample}})
"""

WORKFLOW = """\
name: ci
on: [push, pull_request]
jobs:
  build:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      # A wheel, or the name that an index has it under.
      - run: python3 -m venv env && env/bin/pip install "${{ vars.QUENCH_WHEEL || 'quench-research' }}"
      - run: |
          prefix=$(dirname "$(dirname "$(readlink -f env/bin/quench)")")
          cmake -B build -DCMAKE_PREFIX_PATH="$prefix" -DQUENCH="$PWD/env/bin/quench"
          cmake --build build
          ctest --test-dir build --output-on-failure
"""

README = """\
# {id}

A plugin for quench, of kind {kind}.

    cmake -B build -DCMAKE_PREFIX_PATH=<where quench is installed>
    cmake --build build
    ctest --test-dir build                    what every {kind} promises
    quench plugins show {id} --plugin-path build
    quench plugins install build/{folder}/{id}.so
"""

LICENSE = """\
MIT License

Copyright (c) {year} the authors of {id}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


class Wrong(Exception):
    """A command line that cannot be followed, in one line."""


def class_name(word):
    return "".join(part[:1].upper() + part[1:] for part in word.split("_"))


def template_folder():
    """Of an installation, or of the source tree that this file is in."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder in os.path.join(here, "../template"), os.path.join(os.path.realpath(here), "../sdk/template"):
        if os.path.isdir(folder):
            return os.path.normpath(folder)
    raise Wrong("%s: no templates beside it" % here)


def source_of(kind, plugin):
    """The template's file under the plugin's name: name and text."""
    folder = os.path.join(template_folder(), kind)
    name = next(name for name in sorted(os.listdir(folder)) if name.endswith((".c", ".cpp")))
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("template_" + kind, plugin).replace(class_name("template_" + kind), class_name(plugin))
    return plugin + os.path.splitext(name)[1], text


def repository(kind, plugin):
    """Names and texts of the files."""
    folder, component = KINDS[kind]
    source, text = source_of(kind, plugin)
    words = {
        "id": plugin, "folder": folder, "source": source, "year": datetime.date.today().year,
        "kind": {"quantizer_c": "quantizer", "decoder": "model"}.get(kind, kind),
        "languages": "C" if source.endswith(".c") else "CXX",
        "components": " COMPONENTS " + component if component else "",
        "link": " LINK quench::" + component if component else "",
    }
    return {
        source: text,
        "CMakeLists.txt": CMAKE.format(**words),
        "README.md": README.format(**words),
        "LICENSE": LICENSE.format(**words),
        ".gitignore": "build/\n",
        ".github/workflows/ci.yml": WORKFLOW,
    }


def write_files(folder, files):
    os.makedirs(folder)  # nothing is overwritten
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser(prog="quench plugins new", description=__doc__.splitlines()[0])
    parser.add_argument("kind")
    parser.add_argument("id")
    parser.add_argument("folder", nargs="?")
    options = parser.parse_args()
    folder = options.folder or options.id
    try:
        if options.kind not in KINDS:
            raise Wrong("kind: got %s, wanted one of %s" % (options.kind, ", ".join(KINDS)))
        if not re.fullmatch("[a-z][a-z0-9_]{0,63}", options.id):
            raise Wrong("id: got %s, wanted lower-case letters, digits and '_', a letter first" % options.id)
        write_files(folder, repository(options.kind, options.id))
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 2
    except FileExistsError as there:
        print("%s: already exists; nothing is overwritten" % there.filename, file=sys.stderr)
        return 2
    except OSError as failure:
        if failure.filename is None:  # the output's: start.py tells
            raise
        print("%s: %s" % (failure.filename, failure.strerror), file=sys.stderr)
        return 1
    print("wrote %s; go on with its README.md" % folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
