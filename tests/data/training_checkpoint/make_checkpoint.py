"""Makes a checkpoint as a training loop saves it, and the same weights as a folder that anybody can open.

    python make_checkpoint.py

step10.pth is what torch.save writes of {"state_dict", "optimizer", "step", ...} for a compiled model inside
DistributedDataParallel whose head is tied to its embedding; it has neither config nor tokenizer. plain/ has the same
weights under their own names. Needs no torch: the pickle names torch's functions and nothing more."""

import io
import json
import pathlib
import pickle
import random
import struct
import sys
import types
import zipfile
from collections import OrderedDict

FOLDER = pathlib.Path(__file__).resolve().parent
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 256, "hidden_size": 8,
          "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
          "hidden_act": "silu", "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
          "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False, "torch_dtype": "float32"}


class FloatStorage:
    def __init__(self, values):
        self.data = struct.pack(f"<{len(values)}f", *values)


class Tensor:
    def __init__(self, shape, storage=None, draw=None):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        self.shape, self.storage = shape, storage or FloatStorage([draw() for _ in range(count)])

    def __reduce__(self):
        stride = (self.shape[1], 1) if len(self.shape) > 1 else (1,)
        return torch_utils._rebuild_tensor_v2, (self.storage, 0, self.shape, stride, False, OrderedDict())


def _rebuild_tensor_v2(*_):
    raise NotImplementedError


# Stand-ins that pickle writes down by name.
torch, torch_utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
FloatStorage.__module__, _rebuild_tensor_v2.__module__ = "torch", "torch._utils"
torch.FloatStorage, torch_utils._rebuild_tensor_v2 = FloatStorage, _rebuild_tensor_v2
sys.modules.update({"torch": torch, "torch._utils": torch_utils})


class Pickler(pickle.Pickler):
    def __init__(self, out):
        super().__init__(out, protocol=2)
        self.storages = []

    def persistent_id(self, value):
        if not isinstance(value, FloatStorage):
            return None
        if value not in self.storages:
            self.storages.append(value)
        return ("storage", FloatStorage, str(self.storages.index(value)), "cpu", len(value.data) // 4)


def weights():
    rng = random.Random(0)
    width, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    out = OrderedDict()

    def add(name, *shape, around=0.0):
        out[name] = Tensor(shape, draw=lambda: around + rng.gauss(0, 0.4))

    add("model.embed_tokens.weight", CONFIG["vocab_size"], width)
    for layer in range(CONFIG["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        for name in "qkvo":
            add(f"{prefix}self_attn.{name}_proj.weight", width, width)
        add(prefix + "mlp.gate_proj.weight", inner, width)
        add(prefix + "mlp.up_proj.weight", inner, width)
        add(prefix + "mlp.down_proj.weight", width, inner)
        add(prefix + "input_layernorm.weight", width, around=1.0)
        add(prefix + "post_attention_layernorm.weight", width, around=1.0)
    add("model.norm.weight", width, around=1.0)
    return out


def write_torch(path, value):
    data = io.BytesIO()
    pickler = Pickler(data)
    pickler.dump(value)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        def put(name, content):
            archive.writestr(zipfile.ZipInfo(f"step10/{name}", (1980, 1, 1, 0, 0, 0)), content)

        put("data.pkl", data.getvalue())
        put("byteorder", b"little")
        for i, storage in enumerate(pickler.storages):
            put(f"data/{i}", storage.data)
        put("version", b"3\n")


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        end = len(data) + len(tensor.storage.data)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), end]}
        data += tensor.storage.data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    state = weights()
    (FOLDER / "plain").mkdir(exist_ok=True)
    (FOLDER / "plain" / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    write_safetensors(FOLDER / "plain" / "model.safetensors", state)
    moments = random.Random(1)
    optimizer = {"state": {i: {"step": 10, "exp_avg": Tensor(tensor.shape, draw=moments.random),
                               "exp_avg_sq": Tensor(tensor.shape, draw=moments.random)}
                           for i, tensor in enumerate(state.values())},
                 "param_groups": [{"lr": 3e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1,
                                   "params": list(range(len(state)))}]}
    state["lm_head.weight"] = Tensor(state["model.embed_tokens.weight"].shape,
                                     state["model.embed_tokens.weight"].storage)
    wrapped = OrderedDict(("module._orig_mod." + name, tensor) for name, tensor in state.items())
    write_torch(FOLDER / "step10.pth",
                {"state_dict": wrapped, "optimizer": optimizer, "scheduler": {"last_epoch": 10, "base_lrs": [3e-3]},
                 "step": 10, "micro_step": 80, "scaler": None})


main()
