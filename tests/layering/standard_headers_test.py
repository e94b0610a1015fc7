"""Every source includes the standard headers that it names, itself or by a header of the project.

usage: standard_headers_test.py SOURCE

Units of eight sources and precompiled headers hide from the usual build what a source forgot; clang and the presets without them
do not compile it then. What a header of another library brings is not followed: sources with such headers pass for all, but for the
few of TRUSTED, whose own standard headers are known.
"""
import functools
import re
import sys
from pathlib import Path

NAMES = {  # header: what is named of it
    "algorithm": r"(all_of|any_of|clamp|copy|count_if|equal_range|fill|find|find_if|lower_bound|max|max_element|min|min_element|none_of"
                 r"|ranges::|remove_if|reverse|sort|stable_sort|transform|unique|upper_bound)\b",
    "array": r"array\b", "atomic": r"atomic", "bit": r"(bit_cast|bit_ceil|bit_width|countr_zero|has_single_bit|popcount)\b",
    "charconv": r"(from_chars|to_chars)\b", "chrono": r"chrono::", "cmath": r"(ceil|exp|fabs|floor|isfinite|isnan|log|log2|lround|pow|sqrt|tanh)\b",
    "condition_variable": r"condition_variable", "deque": r"deque\b",
    "exception": r"(current_exception|exception|exception_ptr|terminate|uncaught_exceptions)\b", "filesystem": r"filesystem\b",
    "fstream": r"[io]?fstream\b", "functional": r"function\b", "iterator": r"(advance|back_inserter|distance|make_move_iterator|next|prev)\b",
    "limits": r"numeric_limits\b", "map": r"(multi)?map\b", "memory": r"(make_shared|make_unique|shared_ptr|unique_ptr|weak_ptr)\b",
    "mutex": r"(call_once|lock_guard|mutex|once_flag|scoped_lock|unique_lock)\b", "numeric": r"(accumulate|gcd|inner_product|iota)\b",
    "optional": r"(nullopt|optional)\b", "random": r"mt19937", "regex": r"regex", "set": r"(multi)?set\b", "span": r"span\b",
    "sstream": r"[io]?stringstream\b", "stdexcept": r"(invalid_argument|logic_error|out_of_range|runtime_error)\b",
    "string": r"(string|to_string)\b", "string_view": r"string_view\b", "system_error": r"(errc|error_code|generic_category|system_error)\b",
    "thread": r"(this_thread|thread)\b", "tuple": r"(tie|tuple)\b", "unordered_map": r"unordered_map\b", "unordered_set": r"unordered_set\b",
    "variant": r"(get_if|holds_alternative|variant|visit)\b", "vector": r"vector\b",
}
NAMED = {header: re.compile(r"\bstd::" + names) for header, names in NAMES.items()}
BRINGS = {  # by the standard, or by each of its libraries
    "charconv": {"system_error"}, "filesystem": {"chrono", "string", "string_view", "system_error"}, "fstream": {"string"}, "functional": {"memory"}, "mutex": {"chrono"},
    "regex": {"map", "string", "vector"}, "sstream": {"string", "string_view"}, "stdexcept": {"exception", "string"}, "string": {"string_view"},
    "system_error": {"stdexcept", "string"}, "thread": {"chrono"},
}
TRUSTED = {
    "nlohmann/json.hpp": {"algorithm", "array", "cmath", "exception", "filesystem", "functional", "iterator", "limits", "map", "memory",
                          "numeric", "stdexcept", "string", "string_view", "tuple", "vector"},
    "fmt/format.h": {"algorithm", "cmath", "exception", "limits", "memory", "stdexcept", "string", "string_view", "system_error"},
    "catch2/catch.hpp": {"algorithm", "cmath", "exception", "functional", "iterator", "limits", "map", "memory", "mutex", "random", "set",
                         "string", "vector"},
}
FOLDERS = ["core", "cli", "run", "train", "promises", "plugins", "sdk", "tests", "bench"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)', re.MULTILINE)
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def headers_of(text, place, roots, seen):
    """The headers without a dot that the text includes, with what they bring; None where another library's header may bring any."""
    found = set()
    for bracket, name in INCLUDE.findall(text):
        if bracket == "<":
            if name not in TRUSTED and ("/" in name and not name.startswith("sys/") or name.endswith(".hpp")):
                return None
            found |= {name} | BRINGS.get(name, set()) | TRUSTED.get(name, set())
            continue
        path = next((folder / name for folder in (*roots, place) if (folder / name).is_file()), None)
        if path is not None and path not in seen:
            seen.add(path)
            below = headers_of(source(path), path.parent, roots, seen)
            if below is None:
                return None
            found |= below
    return found


@functools.cache
def source(path):
    return path.read_text("utf-8")


def missing(path, roots):
    headers = headers_of(source(path), path.parent, roots, {path})
    code = NO_CODE.sub("", source(path))
    return [] if headers is None else [header for header, names in NAMED.items() if header not in headers and names.search(code)]


def main():
    root = Path(sys.argv[1])
    roots = (root, root / "plugins", root / "sdk/include")
    sources = sorted(path for folder in FOLDERS for ending in ("cpp", "hpp") for path in (root / folder).rglob("*." + ending))
    faults = [f"{path.relative_to(root)}: names what <{header}> has, and does not include it"
              for path in sources for header in missing(path, roots)]
    if faults or len(sources) < 500:
        sys.exit("\n".join([f"FAILED: {len(sources)} sources, {len(faults)} faults", *faults]))
    print(f"{len(sources)} sources include the standard headers that they name")


if __name__ == "__main__":
    main()
