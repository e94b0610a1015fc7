"""Makes the models of this folder and what SentencePiece says of them.

    pip install sentencepiece==0.2.3 && python make_models.py

Each MODEL.model is small and has what the others lack; MODEL.golden.jsonl holds {"text", "ids"} lines. The rules of
characters are our own few, so that a model has kilobytes; every.txt below is what it is trained on."""

import json
import os
import pathlib
import random

import sentencepiece as spm

FOLDER = pathlib.Path(__file__).resolve().parent
RANDOM = random.Random(0)

# From, to: code points. Longest rule first at each place; an empty right side deletes.
RULES = [
    ("ﬁ", "fi"), ("ﬃ", "ffi"), ("Ａ", "A"), ("Ｂ", "B"), ("\u3000", " "), ("\u00a0", " "), ("\t", " "), ("\n", " "),
    ("e\u0301", "é"), ("e\u0301\u0323", "ẹ́"), ("E\u0301", "É"), ("\u0001", ""), ("\u200b", ""), ("㍍", "メートル"),
    ("…", "..."), ("½", "1 2"), ("\u2009", " "),
]

WORDS = ("the of and to in a is that it was for on are with as at be this have from or by one had not but what all were "
         "when we there can an your which their said if do will each about how up out them then she many some so these "
         "would other into has more her two like him see time could no make than first been its who now people my made "
         "over did down only way find use may water long little very after words called just where most know").split()
ODD = ["fi", "ffi", "café", "naïve", "Zürich", "日本語", "メートル", "12", "345", "6.78", "x=y", "a_b", "...", "A", "B", "É"]


def corpus():
    for _ in range(1500):
        count = RANDOM.randint(1, 12)
        yield " ".join(RANDOM.choice(WORDS if RANDOM.random() < 0.85 else ODD) for _ in range(count))


MODELS = {
    "unigram": dict(model_type="unigram", vocab_size=220, user_defined_symbols=["<tool>", "ab", "abc", "▁▁"],
                    control_symbols=["<sep>"]),
    "unigram_bytes": dict(model_type="unigram", vocab_size=450, byte_fallback=True, split_digits=True,
                          add_dummy_prefix=False, remove_extra_whitespaces=False, character_coverage=0.98),
    "bpe": dict(model_type="bpe", vocab_size=240, user_defined_symbols=["<tool>", "the", "them"], bos_id=-1),
    "bpe_suffix": dict(model_type="bpe", vocab_size=230, treat_whitespace_as_suffix=True, bos_piece="<go>",
                       character_coverage=0.98),
}

PLAIN = ["", " ", "  ", "   ", "a", " a", "a ", " a b ", "the water", "The  water\tis\nlong", "them then the", "abcab ab",
         "<tool>the<tool>", "<s> and </s> <unk> <sep> <go>", "<0x41><0x00>", "▁", "▁▁", "▁a▁", "a▁ ▁b", "e\u0301",
         "e\u0301\u0323x", "E\u0301tat", "ﬁnd oﬃce", "ＡＢ", "\u3000x\u3000", "½ …", "㍍㍍", "\u0001", "a\u0001b",
         " \u0001 ", "日本語 メートル", "Ω≈ç√", "🙂🙃 🙂", "\u0000", "a\u0000b", "x" * 300, "a" * 1000, "the " * 200,
         "\u200b \u200b", "e\u0301" * 50, "ẹ́", "1234567890", "a_b x=y 6.78", "\ufffd", "\U0010ffff"]


def texts():
    yield from PLAIN
    alphabet = "  ▁abcehtw.,12éEA\u0301\u0323\u3000\u00a0\tﬁ日🙂\u0001<>s"
    for _ in range(120):
        yield "".join(RANDOM.choice(alphabet) for _ in range(RANDOM.randint(1, 40)))
    for _ in range(60):
        yield " ".join(RANDOM.choice(WORDS + ODD) for _ in range(RANDOM.randint(1, 30)))


def main():
    os.chdir(FOLDER)  # the models remember the names they are given
    rules = pathlib.Path("rules.tsv")
    rules.write_text("".join(
        f"{' '.join(f'{ord(c):X}' for c in left)}\t{' '.join(f'{ord(c):X}' for c in right)}\n" for left, right in RULES))
    pathlib.Path("every.txt").write_text("\n".join(corpus()))
    for name, options in MODELS.items():
        spm.SentencePieceTrainer.train(input="every.txt", model_prefix=name, num_threads=1,
                                       normalization_rule_tsv=str(rules), minloglevel=2, hard_vocab_limit=False,
                                       **options)
        pathlib.Path(f"{name}.vocab").unlink()
        encoder = spm.SentencePieceProcessor(model_file=f"{name}.model")
        with open(f"{name}.golden.jsonl", "w") as out:
            for text in dict.fromkeys(texts()):
                out.write(json.dumps({"text": text, "ids": encoder.encode(text)}) + "\n")
    rules.unlink()
    pathlib.Path("every.txt").unlink()


main()
