#!/usr/bin/env python3
"""Makes autoround_reference.json and .safetensors: one linear tuned by the published package's own rounding functions, optimizer
and sampler of learning rates, in float64, with torch's derivatives.

  python3 tests/data/autoround_reference.py tests/data       # auto-round, torch 2.11, safetensors

W [24, 96] and X [200, 96] are float32; the loss is the mean of ((X (What - W)ᵀ)²). Per case `<n>.dequantized` [24, 96],
`<n>.scales` and `<n>.zeros` [24, groups] of the best iteration; in the JSON its parameters, the loss of every iteration and the
best of them. `<n>.slope` [24, 96], `<n>.low` and `<n>.high` [24, groups]: derivatives of the loss at offsets `<n>.offsets` and factors
`<n>.low_factors`, `<n>.high_factors`, drawn at random. The package's scale is float16 and at least 1e-5; both are set aside here. A code at an end of the grid counts as
inside of it: so torch.clamp has it up to 2.11, while 2.15 gives such codes no derivative.
"""
import json
import sys

import auto_round
import torch
from auto_round.algorithms.quantization.sign_round.sign_sgd import SignSGD
from auto_round.data_type.int import quant_tensor_asym, quant_tensor_sym_gptq
from safetensors.torch import save_file

torch.manual_seed(7)
W32 = (torch.randn(24, 96) * 0.05 * torch.exp(0.5 * torch.randn(24, 1))).contiguous()
W32[3, :32] = W32[3, :32].abs()  # groups of one sign
W32[4, 32:64] = -W32[4, 32:64].abs()
X32 = ((torch.randn(200, 32) @ torch.randn(32, 96) + torch.randn(200, 96)) * torch.exp(0.7 * torch.randn(96)) / 6).contiguous()
W, X = W32.double(), X32.double()

CASES = [
    {"bits": 4, "group_size": 32, "sym": True},
    {"bits": 4, "group_size": 32, "sym": False},
    {"bits": 3, "group_size": 48, "sym": True},
    {"bits": 3, "group_size": -1, "sym": False},
    {"bits": 2, "group_size": 40, "sym": False, "iterations": 40},
    {"bits": 2, "group_size": 32, "sym": True, "lr": 0.02, "minmax_lr": 0.03},
    {"bits": 3, "group_size": 32, "sym": False, "minmax": False},
]


def rounded(case, offsets, low, high):
    size = case["group_size"] if case["group_size"] > 0 else 96
    padded = torch.nn.functional.pad(W, (0, -96 % size)).reshape(-1, size)
    function = quant_tensor_sym_gptq if case["sym"] else quant_tensor_asym
    value, scale, zero = function(W, bits=case["bits"], group_size=case["group_size"], v=offsets, min_scale=low, max_scale=high,
                                  scale_dtype=torch.float64, tensor_min=padded.amin(1).clamp(max=0), tensor_max=padded.amax(1).clamp(min=0),
                                  q_scale_thresh=1e-300)
    return value, scale.reshape(24, -1), (zero * torch.ones_like(scale)).reshape(24, -1)


def loss_of(value):
    return torch.nn.functional.mse_loss(X @ value.T, X @ W.T)


def leaves(case, draw=False):
    size = case["group_size"] if case["group_size"] > 0 else 96
    groups = -(-96 // size)
    offsets, factors = torch.zeros(24 * groups, size, dtype=torch.float64), torch.ones(2, 24 * groups, dtype=torch.float64)
    if draw:
        offsets, factors = torch.rand_like(offsets) - 0.5, 1 - 0.5 * torch.rand_like(factors)
    return [tensor.clone().requires_grad_() for tensor in (offsets, factors[0], factors[1])]


def flat(case, offsets):
    return offsets.reshape(24, -1)[:, :96].contiguous()


def tuned(case):
    iterations = case.get("iterations", 20)
    rate = case.get("lr", 1 / iterations)
    offsets, low, high = leaves(case)
    groups = [{"params": [offsets], "lr": torch.tensor(rate, dtype=torch.float64)}]
    if case.get("minmax", True):
        groups.append({"params": [low, high], "lr": torch.tensor(case.get("minmax_lr", rate), dtype=torch.float64)})
    optimizer = SignSGD(groups, lr=torch.tensor(rate, dtype=torch.float64), weight_decay=0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=iterations)
    losses, best = [], None
    for _ in range(iterations):
        low.data.clamp_(0, 1)
        high.data.clamp_(0, 1)
        made = rounded(case, offsets, low, high)
        loss = loss_of(made[0])
        if not losses or loss.item() < min(losses):
            best = (len(losses), [tensor.detach().clone().contiguous() for tensor in made])
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return losses, best


tensors, described = {"W": W32, "X": X32}, []
for number, case in enumerate(CASES):
    losses, (iteration, (value, scales, zeros)) = tuned(case)
    offsets, low, high = leaves(case, draw=True)
    loss_of(rounded(case, offsets, low, high)[0]).backward()
    tensors |= {f"{number}.dequantized": value, f"{number}.scales": scales, f"{number}.zeros": zeros,
                f"{number}.offsets": flat(case, offsets.detach()), f"{number}.slope": flat(case, offsets.grad),
                f"{number}.low_factors": low.detach().reshape(24, -1).contiguous(), f"{number}.low": low.grad.reshape(24, -1).contiguous(),
                f"{number}.high_factors": high.detach().reshape(24, -1).contiguous(), f"{number}.high": high.grad.reshape(24, -1).contiguous()}
    parameters = {"objective": "linear", "iterations": 20} | case
    described.append({"parameters": parameters, "losses": losses, "iteration": iteration})
    print(parameters, losses[0], losses[iteration], iteration)
save_file(tensors, f"{sys.argv[1]}/autoround_reference.safetensors",
          {"auto-round": auto_round.__version__, "torch": torch.__version__})
with open(f"{sys.argv[1]}/autoround_reference.json", "w") as file:
    json.dump(described, file, indent=1)
    file.write("\n")
