#!/usr/bin/env python3
"""The loss that transformers gives a checkpoint written by quench, in nats per token.

  checkpoint_loss.py CHECKPOINT IDS.safetensors     ids int32 [steps, sequences, length + 1]; the first step's

Prints one JSON object. tests/data/training/trained/loss.json is its output for the checkpoint beside it.
"""
import json
import sys

import torch
import transformers
from safetensors.torch import load_file


def main():
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
    ids = load_file(sys.argv[2])["ids"][0].to(torch.int64)
    with torch.no_grad():
        logits = model(ids[:, :-1]).logits.double()
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    print(json.dumps({"loss": loss.item(), "transformers": transformers.__version__}))


if __name__ == "__main__":
    main()
