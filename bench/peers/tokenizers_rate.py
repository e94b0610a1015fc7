#!/usr/bin/env python3
"""Text to ids on one thread: quench beside the Python package `tokenizers`, or for a tokenizer.model beside
`sentencepiece`; same tokenizer, same text.

  tokenizers_rate.py --bench build/release/bench/text_tokenizer TOKENIZER.{json,model} TEXT [--rounds 3]

Run it with the python of the environment that bench/peers/setup makes. The programs alternate, each in a process of its
own; the rates are per processor second: of a process' first encoding, and of its best of three.
"""
import argparse, os, re, subprocess, sys, time


def peer_name(tokenizer):
    return "sentencepiece" if tokenizer.endswith(".model") else "tokenizers"


def peer_encoder(tokenizer):
    if peer_name(tokenizer) == "sentencepiece":
        from sentencepiece import SentencePieceProcessor
        return SentencePieceProcessor(model_file=tokenizer).encode
    from tokenizers import Tokenizer
    loaded = Tokenizer.from_file(tokenizer)
    return lambda content: loaded.encode(content, add_special_tokens=False).ids


def peer_child(tokenizer, text):
    encode = peer_encoder(tokenizer)
    content = open(text, encoding="utf-8", newline="").read()
    size, took = len(content.encode()), []
    for _ in range(3):
        began = time.process_time()
        ids = encode(content)
        took.append(time.process_time() - began)
    print(f"{size} bytes, {len(ids)} ids; first {1e-6 * size / took[0]:.2f} MB/s, best of 3 {1e-6 * size / min(took):.2f} MB/s")


def rates(command):
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    count = re.search(r"(\d+) ids", out).group(1)
    return count, float(re.search(r"first ([\d.]+) MB/s", out).group(1)), float(re.search(r"best of \d+ ([\d.]+) MB/s", out).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench")
    parser.add_argument("tokenizer")
    parser.add_argument("text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return peer_child(arguments.tokenizer, arguments.text)
    if not arguments.bench:
        parser.error("--bench: where is text_tokenizer?")
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        ours.append(rates([arguments.bench, arguments.tokenizer, arguments.text]))
        theirs.append(rates([sys.executable, __file__, "--child", arguments.tokenizer, arguments.text]))
    if ours[0][0] != theirs[0][0]:
        sys.exit(f"{ours[0][0]} ids here, {theirs[0][0]} there: not the same tokenizer")
    peer = peer_name(arguments.tokenizer)
    for what, column in (("first", 1), ("best", 2)):
        a, b = max(run[column] for run in ours), max(run[column] for run in theirs)
        print(f"{what:<6} quench {a:7.2f} MB/s  {peer} {b:7.2f} MB/s  quench / {peer} {a / b:.1f}")


if __name__ == "__main__":
    main()
