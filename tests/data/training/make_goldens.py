#!/usr/bin/env python3
"""Fifty steps of torch.optim.AdamW on a small GPT-NeoX model of transformers, for tests of quench's own loop.

  make_goldens.py [FOLDER]        (default: the folder of this script)

Writes initial/ (config.json, model.safetensors), ids.safetensors (`ids` int32 [50, 8, 33]) and adamw.json: the
settings, and the loss of each step's batch before its update, in nats per token. Likewise sam.json (the gradient at
θ + ρ·g/‖g‖) and qat.json (the gradient at hidden matrices rounded to nearest, whose losses these are). Made with torch
2.11.0 and transformers 4.57.6 on the CPU, one thread.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

STEPS, BATCH, LENGTH, VOCABULARY = 50, 8, 32, 64
PEAK, WARMUP, DECAY_STEPS = 1e-2, 5, 15
BETAS, EPSILON, WEIGHT_DECAY, CLIP = (0.9, 0.95), 1e-8, 0.1, 1.0
RHO = 0.1
BITS, GROUP = 4, 16


def rate(step):
    """Warm up, stay, decay linearly; the k-th of D decaying steps lies at k/(D + 1)."""
    if step <= WARMUP:
        return PEAK * step / WARMUP
    into = step - (STEPS - DECAY_STEPS)
    return PEAK if into <= 0 else PEAK * (1 - into / (DECAY_STEPS + 1))


def text():
    """Ids that can be learned: each follows from the one before, with some noise."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.zeros(STEPS, BATCH, LENGTH + 1, dtype=torch.int64)
    ids[..., 0] = torch.randint(VOCABULARY, (STEPS, BATCH), generator=generator)
    for i in range(1, LENGTH + 1):
        noise = torch.randint(VOCABULARY, (STEPS, BATCH), generator=generator)
        keep = torch.rand(STEPS, BATCH, generator=generator) < 0.8
        ids[..., i] = torch.where(keep, (ids[..., i - 1] * 5 + 3) % VOCABULARY, noise)
    return ids


def loss_of(model, ids):
    logits = model(ids[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), ids[:, 1:].reshape(-1))


def plain(model, ids):
    loss = loss_of(model, ids)
    loss.backward()
    return loss.item()


@torch.no_grad()
def evaluate_at(model, weights, ids):
    """The gradient at other weights, in the gradients of the model, whose own weights stay; and the loss there."""
    own = [p.clone() for p in model.parameters()]
    for p, w in zip(model.parameters(), weights):
        p.copy_(w)
    model.zero_grad()
    with torch.enable_grad():
        loss = plain(model, ids)
    for p, w in zip(model.parameters(), own):
        p.copy_(w)
    return loss


def sam(model, ids):
    """Foret et al. 2021, algorithm 1 with p = 2."""
    loss = plain(model, ids)
    norm = torch.sqrt(sum((p.grad.double() ** 2).sum() for p in model.parameters()))
    evaluate_at(model, [p.detach() + RHO / norm.item() * p.grad for p in model.parameters()], ids)
    return loss


def rounded(weight):
    """To nearest on a grid of 2^BITS values from the least to the largest of GROUP columns of a row, in float64.

    Not the symmetric grid, where the negative extreme lies exactly between two codes and the last bit decides."""
    rows, columns = weight.shape
    groups = weight.double().reshape(rows, columns // GROUP, GROUP)
    low, high = groups.amin(-1, keepdim=True).clamp(max=0), groups.amax(-1, keepdim=True).clamp(min=0)
    scale = (high - low) / (2 ** BITS - 1)
    zero = torch.round(-low / scale)
    codes = torch.clamp(torch.round(groups / scale) + zero, 0, 2 ** BITS - 1)
    return (scale * (codes - zero)).reshape(rows, columns).float()


def qat(model, ids):
    """Bengio et al. 2013: the gradient at the rounded weights is that of the weights."""
    weights = [rounded(p.detach()) if p.dim() == 2 and ".layers." in name else p.detach()
               for name, p in model.named_parameters()]
    return evaluate_at(model, weights, ids)


def train(model, ids, gradient):
    """The losses of the steps, and at the end that of the first batch."""
    decaying = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decaying, "weight_decay": WEIGHT_DECAY},
                                   {"params": others, "weight_decay": 0.0}], betas=BETAS, eps=EPSILON)
    losses = []
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.zero_grad()
        losses.append(gradient(model, ids[step - 1]))
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    with torch.no_grad():
        return losses, loss_of(model, ids[0]).item()


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPTNeoXForCausalLM(GPTNeoXConfig(
        hidden_size=16, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, vocab_size=VOCABULARY,
        max_position_embeddings=LENGTH, rotary_pct=0.25, use_parallel_residual=True, hidden_act="gelu",
        layer_norm_eps=1e-5, tie_word_embeddings=False, attn_implementation="eager"))
    (folder / "initial").mkdir(parents=True, exist_ok=True)
    initial = {name: value.clone() for name, value in model.state_dict().items()}
    save_file(initial, folder / "initial" / "model.safetensors", {"format": "pt"})
    (folder / "initial" / "config.json").write_text(model.config.to_json_string())
    ids = text()
    save_file({"ids": ids.to(torch.int32)}, folder / "ids.safetensors")

    for name, gradient, own in (("adamw", plain, {}), ("sam", sam, {"rho": RHO}),
                                ("qat", qat, {"bits": BITS, "group_size": GROUP, "sym": False})):
        model.load_state_dict(initial)
        losses, final = train(model, ids, gradient)
        golden = {"torch": torch.__version__, "peak": PEAK, "warmup": WARMUP, "decay_steps": DECAY_STEPS,
                  "betas": BETAS, "epsilon": EPSILON, "weight_decay": WEIGHT_DECAY, "clip": CLIP, **own,
                  "losses": losses, "final_loss": final}
        (folder / f"{name}.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
