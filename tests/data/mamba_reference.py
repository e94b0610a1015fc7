#!/usr/bin/env python3
"""Makes mamba_reference.safetensors and mamba_reference.json: two small Mamba models with random weights, and what
Hugging Face transformers computes with them (MambaForCausalLM, slow_forward on the processor), in float64 without the
float32 steps that the library itself takes, and in float32 as it is.

  python3 tests/data/mamba_reference.py tests/data       # torch 2.11.0, transformers 4.57.6, safetensors

Weights are multiples of 2^-10 of few digits, exact in float16 and drawn by numpy's PCG64, so the bytes are the same
everywhere. Written per model: its weights, ids [2, 24], logits float64 [2, 24, V], nll float64 [2, 23] of the next ids,
`block.i` the residual stream after block i, `inputs.i.LINEAR` what each linear of block i reads [48, K] float32, and
`padded` the logits of row 1's first 16 ids with 8 pads behind, which an attention mask hides. The JSON holds the
configs, the norms of each parameter's gradient of the mean nll, and how far float32 is from float64.
"""
import json, sys
import numpy as np
import torch
from safetensors.torch import save_file
from transformers import MambaConfig, MambaForCausalLM, __version__
from transformers.models.mamba import modeling_mamba

MODELS = {
    # as published: tied, no biases but the convolution's and the steps'
    "plain": dict(hidden_size=32, state_size=8, time_step_rank="auto", conv_kernel=4, expand=2),
    # what the config can also say
    "variant": dict(hidden_size=24, state_size=5, time_step_rank=3, conv_kernel=3, expand=3, use_bias=True, use_conv_bias=False,
                    tie_word_embeddings=False, layer_norm_epsilon=1e-3),
}
LINEARS = ("in_proj", "x_proj", "dt_proj", "out_proj")


def draw(name, shape, rng):
    center, spread = 0.0, 0.3
    if name.endswith("norm.weight") or name.endswith("norm_f.weight") or name.endswith(".D"):
        center, spread = 1.0, 0.5
    elif name.endswith("A_log"):
        center, spread = 0.5, 1.0
    elif name.endswith("dt_proj.bias"):
        center, spread = -0.75, 1.25
    elif "conv1d" in name:
        spread = 0.6
    elif name.endswith("embeddings.weight"):
        spread = 0.8
    return torch.from_numpy(center + np.rint(rng.uniform(-spread, spread, shape) * 1024) / 1024)


def make(settings):
    config = MambaConfig(vocab_size=40, num_hidden_layers=2, **settings)
    model = MambaForCausalLM(config).double().eval()
    rng = np.random.Generator(np.random.PCG64(12))
    with torch.no_grad():
        for name, value in sorted(model.named_parameters()):
            value.copy_(draw(name, value.shape, rng))
    return config, model, torch.from_numpy(rng.integers(0, 40, (2, 24)))


def forward(model, ids, mask=None):
    """Logits, and the mean loss of the next ids with its gradients."""
    model.zero_grad()
    logits = model(ids, attention_mask=mask, use_cache=False).logits
    nll = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    nll.mean().backward()
    return logits.detach(), nll.detach().view(ids.shape[0], -1)


def watched(model, ids):
    """Logits and losses, the residual stream after each block, and what each linear reads."""
    outputs, inputs, hooks = [], {}, []
    for i, layer in enumerate(model.backbone.layers):
        hooks.append(layer.register_forward_hook(lambda _, __, out: outputs.append(out.detach().clone())))
        for name in LINEARS:
            hooks.append(getattr(layer.mixer, name).register_forward_hook(
                lambda _, given, __, key=f"{i}.{name}": inputs.__setitem__(key, given[0].detach().flatten(0, 1).clone())))
    logits, nll = forward(model, ids)
    for hook in hooks:
        hook.remove()
    return logits, nll, outputs, inputs


def wide_norm(self, hidden_states):
    """MambaRMSNorm without its conversion to float32."""
    variance = hidden_states.pow(2).mean(-1, keepdim=True)
    return self.weight * hidden_states * torch.rsqrt(variance + self.variance_epsilon)


class Wide:
    """Leaves out the float32 steps of the library: MambaRMSNorm, A_log.float(), B.float(), the sum of the residual."""

    def __enter__(self):
        self.kept = torch.Tensor.float, modeling_mamba.MambaRMSNorm.forward
        torch.Tensor.float = lambda tensor: tensor
        modeling_mamba.MambaRMSNorm.forward = wide_norm

    def __exit__(self, *_):
        torch.Tensor.float, modeling_mamba.MambaRMSNorm.forward = self.kept


def main(folder):
    tensors, notes = {}, {"transformers": __version__, "torch": torch.__version__.split("+")[0]}
    for name, settings in MODELS.items():
        config, model, ids = make(settings)
        for layer in model.backbone.layers:
            layer.residual_in_fp32 = False  # float64 all the way
        padded = torch.cat([ids[1:, :16], torch.zeros((1, 8), dtype=ids.dtype)], 1)
        mask = (torch.arange(24) < 16).long()[None]
        with Wide():
            hidden = forward(model, padded, mask)[0]
            logits, nll, outputs, inputs = watched(model, ids)
        norms = {key: float(value.grad.norm()) for key, value in model.named_parameters()}
        for key, value in model.named_parameters():
            tensors[f"{name}/{key}"] = value.detach().half().contiguous()
            assert torch.equal(tensors[f"{name}/{key}"].double(), value), "float16 rounds " + key
        single = forward(model.float(), ids)
        tensors[f"{name}/ids"] = ids.int()
        tensors[f"{name}/padded_ids"] = padded.int()
        tensors[f"{name}/logits"] = logits.contiguous()
        tensors[f"{name}/padded"] = hidden.contiguous()
        tensors[f"{name}/nll"] = nll.contiguous()
        for i, output in enumerate(outputs):
            tensors[f"{name}/block.{i}"] = output.contiguous()
        for key, value in inputs.items():
            tensors[f"{name}/inputs.{key}"] = value.float().contiguous()
        kept = {k: v for k, v in config.to_dict().items() if k not in ("transformers_version", "_attn_implementation")}
        notes[name] = {"config": kept, "gradient_norms": norms, "float32_distance": float((single[0].double() - logits).abs().max())}
    save_file(tensors, f"{folder}/mamba_reference.safetensors")
    with open(f"{folder}/mamba_reference.json", "w") as out:
        json.dump(notes, out, indent=1, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
