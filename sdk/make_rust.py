#!/usr/bin/env python3
"""Writes the plugin interface for Rust: every struct, number and name of the headers, without std.

    make_rust.py sdk/include/quench/abi sdk/rust/src/lib.rs           writes it
    make_rust.py --check sdk/include/quench/abi sdk/rust/src/lib.rs   says whether it is that of the headers
"""
import re

from describe_abi import make
from freeze_abi import Layout, constants

TYPES = {"int8_t": "i8", "uint8_t": "u8", "int16_t": "i16", "uint16_t": "u16", "int32_t": "i32", "uint32_t": "u32", "int64_t": "i64",
         "uint64_t": "u64", "double": "f64", "float": "f32", "char": "c_char", "void": "c_void"}
KEYWORDS = ("type", "in", "box", "ref", "move", "match", "loop", "where", "use")
HEAD = """// Made from quench/abi by sdk/make_rust.py: docs/abi-reference.md says what each function does.
#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_void, CStr};
use core::mem::{offset_of, size_of};
"""


def name_of(word):
    return "r#" + word if word in KEYWORDS else word


def type_of(words):
    """The type that a declaration's words spell: const char * const * is *const *const c_char."""
    words = [word for word in words if word != "struct"]
    at = next(index for index, word in enumerate(words) if word not in ("const", "*"))
    out, constant = TYPES.get(words[at], words[at]), "const" in words[:at]
    for index, word in enumerate(words[at + 1:], at + 1):
        if word == "*":
            out = f"*{'const' if constant else 'mut'} {out}"
            constant = index + 1 < len(words) and words[index + 1] == "const"
    return out


def function_type(returned, parameters):
    takes = ", ".join(function_type(one.words, one.parameters) if one.parameters is not None else
                      "*mut c_char" if "is out text[65]" in one.notes else type_of(one.words) for one in parameters)
    gives = "" if returned == ["void"] else f" -> {type_of(returned)}"
    return f'Option<unsafe extern "C" fn({takes}){gives}>'


def member_type(member):
    if member.parameters is not None:
        return function_type(member.words, member.parameters)
    array = next((note for note in member.notes if note.startswith("is out text[")), None)
    return f"[c_char; {array[len('is out text['):-1]}]" if array else type_of(member.words)


def constant_line(name, value):
    if value.startswith('"'):
        return f"pub const {name}: &CStr = c{value};"
    number = re.fullmatch(r"\(?(-?\d+)(u?)(?: << (\d+))?\)?", value)
    if number is None:
        raise SystemExit(f"{name}: no such number: {value}")
    unsigned = "u32" if number[2] else "i32"
    return f"pub const {name}: {unsigned} = {int(number[1]) << int(number[3] or 0)};"


def text_of(folder):
    layout = Layout(folder)
    major, minor = (layout.abi.constants[f"QUENCH_ABI_{word}"] for word in ("MAJOR", "MINOR"))
    out = [HEAD, "pub type quench_status = i32;", f"pub const QUENCH_ABI_MAJOR: u32 = {major};",
           f"pub const QUENCH_ABI_MINOR: u32 = {minor};"]
    out += [constant_line(name, value) for name, value in constants(folder).items()]
    out += [f"\n#[repr(C)]\npub struct {name} {{\n    _private: [u8; 0],\n}}" for name in layout.abi.objects]
    for name in layout.abi.structs:
        size, _, members = layout.struct(name)
        out += ["", "#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {name} {{"]
        out += [f"    pub {name_of(member.name)}: {member_type(member)}," for _, _, member in members]
        out += ["}", f"const _: () = assert!(size_of::<{name}>() == {size});"]
        out += [f"const _: () = assert!(offset_of!({name}, {name_of(member.name)}) == {at});" for at, _, member in members]
    return "\n".join(out) + "\n"


def main():
    make(__doc__, text_of)


if __name__ == "__main__":
    main()
