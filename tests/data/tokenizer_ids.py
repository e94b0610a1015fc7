#!/usr/bin/env python3
"""Makes tokenizer_ids.json: small tokenizer.json files, texts, and the ids that the library `tokenizers` gives them.

  python3 tests/data/tokenizer_ids.py tests/data      # made with tokenizers 0.23.3

Each case is about one place where another engine, or another order of the same steps, gives other ids: the classes of regular
expressions, letters whose case does not count, and where a text begins once a normalizer has rewritten it.
"""
import json, pathlib, sys
from tokenizers import Tokenizer, __version__

MARK = "\u2581"
LETTERS = ["<unk>", MARK, "a", "b", "c", "A", "x", "\u00e9", "e", "\u0301", " ", "_", "1", "2", "\n", "\ufb01", "f", "i", MARK + "a", "ab", MARK * 2]
MERGES = [f"{MARK} a", "a b", f"{MARK} {MARK}"]
# One character for each general category, some more where engines are known to differ; all are of Unicode 13 or older.
CHARACTERS = ("a A \u01c5 \u02b0 \u05d0 \u0301 \u0345 \u0903 \u0488 \u20dd 1 \u0663 \u2160 \u09f4 \u00b2 \u00bd _ \u203f \uff3f - ( ) \u00ab \u00bb ! + $ ^ \u00a9 \u24b6 "
              "\U0001f130 \u200c \u200d \u00ad \ue000 \u4e2d \u3007 \uac00 \u00aa \u017f \u212a \u00df \u1e9e \u0130 \u0131 \u00b5 \u03c2 \ufb01 \u0149").split()
SPACES = list("\t\n\v\f\r \x1c\x1f\x85\xa0\u1680\u180e\u2000\u2028\u2029\u202f\u205f\u3000\u200b\ufeff")


def file(normalizer=None, pre=None, added=(), vocab=LETTERS, merges=MERGES, **model):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added), "normalizer": normalizer, "pre_tokenizer": pre,
            "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": {c: i for i, c in enumerate(vocab)},
                      "merges": list(merges), **model}}


def removed(regex):  # an id for each character that is not matched
    return file(pre={"type": "Split", "pattern": {"Regex": regex}, "behavior": "Removed", "invert": False}, vocab=["<unk>"], merges=[])


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def token(content, **flags):
    return {"id": LETTERS.index(content) if content in LETTERS else len(LETTERS), "content": content, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": True, "special": False, **flags}


def sequence(kind, *parts):
    return {"type": "Sequence", kind: list(parts)}


cases = []


def case(name, made, texts):
    tokenizer = Tokenizer.from_str(json.dumps(made))
    cases.append({"name": name, "file": made, "texts": texts, "ids": [tokenizer.encode(text).ids for text in texts]})


for regex in [r"\w", r"\W", r"[\w']", r"[^\w]", r"[^\s\w]", r"\d", r"\D", r"\p{L}", r"\p{N}", r"\p{M}", r"[^\r\n\p{L}\p{N}]", r"\p{Lu}", r"\p{S}",
              r"\p{P}", r"(?i:a)", r"(?i:[a-z])", r"(?i:[^a-z])", r"(?i:\p{Lu})", r"(?i:s|k|i)", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"(?i:\w)"]:
    case(f"class {regex}", removed(regex), CHARACTERS)
for regex in [r"\s", r"\S", r"\v", r"[\v]", r"\f", r"[^\S\r\n]", r".", r"$", r"^a"]:
    case(f"space {regex}", removed(regex), SPACES + ["a\nb", "a\r\nb", "\na", "a\n", "a\u2028a"])
for regex in [r"\ba", r"a\b", r"a\B", r"\Ba", r"\b\w+\b", r"\w+", r"(?<=\w)\W+", r"\w{2}|\b1", r"'\w+|\b's"]:
    isolated = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    case(f"words {regex}", file(pre=isolated), ["ab", "a\u0301b", "\u0301a", "a_b", "a\u203fa", "a 1", "a1b", "a\u00b2a", "a\u200da", "a\u24b6a", "'ab's", "a-a", ""])

texts = ["a", "  a", "aa", "ab", " 12a", "e\u0301a", "\u00e9a", "\ufb01a", "[T]a", "a[T]a", " [T] a", "\u0301a", " " + MARK, "", "\na"]
normalizers = {
    "none": None,
    "strip": replace({"Regex": "^ +"}, ""),
    "drop a": replace({"String": "a"}, ""),
    "drop the first a": replace({"Regex": "^a"}, ""),
    "widen a": replace({"String": "a"}, "xx"),
    "put b in front": replace({"Regex": "^"}, "b"),
    "strip, put b in front": sequence("normalizers", replace({"Regex": "^ "}, ""), replace({"Regex": "^"}, "b")),
    "strip, prepend": sequence("normalizers", replace({"Regex": "^ "}, ""), {"type": "Prepend", "prepend": "x"}),
    "prepend": {"type": "Prepend", "prepend": "b"},
    "prepend, mark": sequence("normalizers", {"type": "Prepend", "prepend": MARK}, replace({"String": " "}, MARK)),
    "NFC": {"type": "NFC"}, "NFD": {"type": "NFD"}, "NFKC": {"type": "NFKC"}, "NFKD": {"type": "NFKD"},
    "NFD, drop marks": sequence("normalizers", {"type": "NFD"}, replace({"String": "\u0301"}, "")),
}
first = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "first", "split": True}
pieces = {
    "first": first,
    "digits, first": sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, first),
    "spaces removed, first": sequence("pretokenizers", {"type": "Split", "pattern": {"Regex": "^ +"}, "behavior": "Removed", "invert": False}, first),
    "letters, first": sequence("pretokenizers", {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}, first),
    "first, first": sequence("pretokenizers", first, first),
}
added = {"": [token("[T]")], ", letters": [token("a")]}
for form, normalizer in normalizers.items():
    for cut, pre in pieces.items():
        for tokens, listed in added.items():
            if tokens and (cut != "first" or form.startswith("drop")):
                continue  # of a dropped token nothing is left
            case(f"place {form}; {cut}{tokens}", file(normalizer, pre, listed), texts)

# Texts and files that many cases share are named once.
shared = {}
for one in cases:
    for key in ("texts", "file"):
        text = json.dumps(one[key], ensure_ascii=True)
        one[key] = shared.setdefault(text, len(shared))
path = pathlib.Path(sys.argv[1]) / "tokenizer_ids.json"
lines = ",\n".join(f"  {text}" for text in shared)
rows = ",\n".join("  " + json.dumps(one, separators=(",", ":")) for one in cases)
path.write_text(f'{{"tokenizers": "{__version__}",\n "shared": [\n{lines}\n ],\n "cases": [\n{rows}\n ]}}\n')
print(f"{path}: {len(cases)} cases, {sum(len(one['ids']) for one in cases)} texts")
