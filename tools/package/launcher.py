"""quench, installed by a wheel. The program is not Python: this finds it and becomes it.

    cmake -DCMAKE_PREFIX_PATH="$(python3 -c 'import quench_research; print(quench_research.cmake_prefix_path)')"

builds plugins against the headers that came with it.
"""
import os
import sys

cmake_prefix_path = os.path.dirname(os.path.abspath(__file__))


def main():
    program = os.path.join(cmake_prefix_path, "bin", "quench")
    os.environ.setdefault("QUENCH_PYTHON", sys.executable)  # plugins in Python: numpy is in this environment
    os.execv(program, ["quench", *sys.argv[1:]])
