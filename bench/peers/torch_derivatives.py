"""Gradient and product with the Hessian as a user would take them in PyTorch.

torch_derivatives.py [SHAPE = small] [rows = 8] [tokens a row = 64] [threads = 2] [rounds = 5]

SHAPE as in bench_gpt_neox_derivatives. The model is transformers' GPT-NeoX with drawn weights in
eval mode. The gradient is that of a plain training loop (loss of the library, backward into .grad);
the product is a double backward through a graph that is kept, and PyHessian's, which takes the
gradient's graph once as well (where the package is there). Seconds are of the processor on one
thread, else of the clock.
"""

import sys
import time

import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

SHAPES = {"small": (4, 96, 6, 384, 512), "bytes": (3, 96, 6, 384, 256),
          "pythia_160m": (12, 768, 12, 3072, 50304)}


def main():
    name, rows, length, threads, rounds = (sys.argv[1:] + ["small", "8", "64", "2", "5"][len(sys.argv) - 1:])[:5]
    rows, length, rounds = int(rows), int(length), int(rounds)
    torch.set_num_threads(int(threads))
    blocks, width, heads, inner, vocabulary = SHAPES[name]
    config = GPTNeoXConfig(num_hidden_layers=blocks, hidden_size=width, num_attention_heads=heads,
                           intermediate_size=inner, vocab_size=vocabulary, max_position_embeddings=2048)
    clock = time.process_time if threads == "1" else time.perf_counter
    ids = (torch.arange(rows * length) * 7919 % vocabulary).view(rows, length)

    def best(body, repeat=rounds):
        times = []
        for _ in range(repeat):
            start = clock()
            body()
            times.append(clock() - start)
        return min(times)

    for attention in ("sdpa", "eager"):
        config._attn_implementation = attention
        model = GPTNeoXForCausalLM(config).eval()
        parameters = list(model.parameters())

        def step():
            model.zero_grad()
            model(ids, labels=ids, use_cache=False).loss.backward()

        print(f"gradient, {attention}: {best(step):.4f} s, {rows * length / best(step):.0f} tokens/s")
    loss = model(ids, labels=ids, use_cache=False).loss
    gradient = torch.autograd.grad(loss, parameters, create_graph=True)
    direction = [torch.ones_like(p) for p in parameters]

    def product():
        torch.autograd.grad(gradient, parameters, grad_outputs=direction, retain_graph=True)

    print(f"double backward, graph kept: {best(product):.4f} s")
    try:
        from pyhessian import hessian
    except ImportError:
        return

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, batch):
            return self.model(batch, use_cache=False).logits[:, :-1].reshape(-1, vocabulary)

    computer = hessian(Logits(), torch.nn.CrossEntropyLoss(), data=(ids, ids[:, 1:].reshape(-1)), cuda=False)
    # It may stop after fewer products than it was asked for: its test of convergence passes whenever a mean is negative.
    made = []
    start = clock()
    while sum(made) < 4 * rounds:
        made.append(len(computer.trace(maxIter=4, tol=0)))
    print(f"PyHessian: {(clock() - start) / sum(made):.4f} s a product, mean of {sum(made)}")


main()
