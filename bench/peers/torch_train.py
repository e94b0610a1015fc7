#!/usr/bin/env python3
"""A plain PyTorch training loop at the shapes of bench/train/train_steps: tokens a second.

  torch_train.py [quickstart | pythia-160m] [STEPS] [THREADS] [float32 | tf32 | bfloat16] [cpu | cuda]

The model is transformers' GPTNeoXForCausalLM with scaled-dot-product attention; the loop is forward, cross entropy,
backward, clip_grad_norm_, and fused AdamW.
"""
import sys
import time

import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

SHAPES = {"quickstart": (3, 96, 4, 256, 32, 128), "pythia-160m": (12, 768, 12, 50304, 4, 512)}


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "quickstart"
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    torch.set_num_threads(int(sys.argv[3]) if len(sys.argv) > 3 else 2)
    precision = sys.argv[4] if len(sys.argv) > 4 else "float32"
    if precision not in ("float32", "tf32", "bfloat16"):
        sys.exit(f"torch_train.py: precision {precision}: wanted float32, tf32 or bfloat16")
    bfloat16 = precision == "bfloat16"
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    device = torch.device(sys.argv[5] if len(sys.argv) > 5 else "cpu")
    done = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    layers, width, heads, vocabulary, batch, length = SHAPES[name]
    torch.manual_seed(0)
    model = GPTNeoXForCausalLM(GPTNeoXConfig(
        hidden_size=width, intermediate_size=4 * width, num_hidden_layers=layers, num_attention_heads=heads,
        vocab_size=vocabulary, max_position_embeddings=2048, rotary_pct=0.25, attn_implementation="sdpa")).to(device)
    model.train()
    decaying = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decaying, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  lr=1e-3, betas=(0.9, 0.95), fused=True)
    times = []
    cpu = []
    for step in range(steps):
        ids = torch.randint(vocabulary, (batch, length + 1)).to(device)
        done()
        start, start_cpu = time.perf_counter(), time.process_time()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
            logits = model(ids[:, :-1]).logits
            loss = torch.nn.functional.cross_entropy(logits.reshape(-1, vocabulary).float(), ids[:, 1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        done()
        if step >= 3:
            times.append(time.perf_counter() - start)
            cpu.append(time.process_time() - start_cpu)
    times.sort()
    cpu.sort()
    median = times[len(times) // 2]
    print(f"{name}: {sum(p.numel() for p in model.parameters())} parameters, torch {torch.__version__}")
    print(f"step: median {1e3 * median:.1f} ms, best {1e3 * times[0]:.1f} ms; "
          f"cpu median {1e3 * cpu[len(cpu) // 2]:.1f} ms, best {1e3 * cpu[0]:.1f} ms")
    print(f"tokens/s: median {batch * length / median:.0f}, best {batch * length / times[0]:.0f}")


if __name__ == "__main__":
    main()
