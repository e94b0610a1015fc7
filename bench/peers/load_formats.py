#!/usr/bin/env python3
"""Folders that quench wrote, loaded by the tools that their formats belong to: equal dequantized weights, bit for bit.

  load_formats.py --quench build/release/bin/quench --model FOLDER --ids FILE [--work FOLDER] [FORMAT ...]

Run it with the python of an environment that `bench/peers/setup FOLDER PYTHON TOOL` makes: gptqmodel for gptq, gptq_v2 and awq,
llmcompressor for compressed-tensors, either with `pip install bitsandbytes` for bnb_int8; `pip install tensorboard` for
tensorboard. What an environment lacks is skipped, and said. FOLDER is a checkpoint that transformers opens; FILE holds
calibration ids (a safetensors file, [rows, length]).

For each format: quench quantizes and writes a folder; the tool loads it; every linear's weight as the tool dequantizes it is
compared with a decoding of the files written here, from the formats' descriptions alone. Then a run's values are exported as
TensorBoard event files and read by TensorBoard's own reader.
"""
import argparse, importlib.util, json, os, subprocess, sys, tempfile
import numpy as np

os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # a compiled dequantization takes minutes to build and no less to trust

SETTINGS = {
    "gptq": ["gptq:bits=4,group_size=128", "gptq:bits=3,group_size=128", "gptq:bits=4,group_size=128,desc_act=true"],
    "gptq_v2": ["rtn:bits=4,group_size=128,sym=false", "gptq:bits=8,group_size=128"],
    "awq": ["rtn:bits=4,group_size=128,sym=false", "gptq:bits=4,group_size=128"],
    "compressed-tensors": ["gptq:bits=4,group_size=128", "rtn:bits=4,group_size=128,sym=false", "gptq:format=nvfp4", "gptq:format=mxfp4",
                           "rtn:format=mxfp6_e2m3", "rtn:format=mxfp8_e4m3", "rtn:format=fp8_e4m3,group_size=-1",
                           "rtn:format=fp8_e4m3,group_size=32"],
    "bnb_int8": ["rtn:bits=8,group_size=-1"],
}


def unpack(words, bits, order="stream"):
    """Codes along the last axis of uint32 words."""
    words = words.astype(np.uint64)
    if order == "padded":
        shifts = bits * np.arange(32 // bits, dtype=np.uint64)
        codes = (words[..., None] >> shifts) & np.uint64((1 << bits) - 1)
        return codes.reshape(*words.shape[:-1], -1).astype(np.int64)
    if order == "awq":
        shifts = 4 * np.array([0, 4, 1, 5, 2, 6, 3, 7], dtype=np.uint64)
        return ((words[..., None] >> shifts) & np.uint64(15)).reshape(*words.shape[:-1], -1).astype(np.int64)
    flat = ((words[..., None] >> np.arange(32, dtype=np.uint64)) & np.uint64(1)).reshape(*words.shape[:-1], -1)
    flat = flat.reshape(*flat.shape[:-1], -1, bits)
    return (flat << np.arange(bits, dtype=np.uint64)).sum(-1).astype(np.int64)


def tensors_of(folder):
    """Arrays by name; FP8 as its bytes, since numpy has no such type."""
    types = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I8": "i1", "U8": "u1", "F8_E4M3": "u1", "BF16": "u2"}
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def float_numbers(exponent_bits, mantissa_bits):
    """What the codes of a float stand for; all bits set is NaN in E4M3 alone, and no weight has it."""
    codes = np.arange(1 << (1 + exponent_bits + mantissa_bits))
    exponent, mantissa = codes >> mantissa_bits & ((1 << exponent_bits) - 1), codes & ((1 << mantissa_bits) - 1)
    least = 2 - (1 << (exponent_bits - 1))
    magnitude = np.where(exponent > 0, (1 << mantissa_bits) + mantissa, mantissa) * 2.0 ** (np.maximum(exponent, 1) - 1 + least - mantissa_bits)
    return np.where(codes >> (exponent_bits + mantissa_bits), -magnitude, magnitude).astype(np.float32)


E4M3 = float_numbers(4, 3)


def decoded_float(get, bits, config):
    """A weight in floats of 4 to 8 bits."""
    if bits == 8:
        numbers = E4M3[get("weight")]
    else:
        packed = get("weight_packed")
        bit = (packed[..., None] >> np.arange(8)) & 1
        codes = (bit.reshape(packed.shape[0], -1, bits) << np.arange(bits)).sum(-1)
        numbers = float_numbers(2, bits - 3)[codes]
    scale = get("weight_scale")
    if config["format"].startswith("nvfp4"):
        scale = E4M3[scale] / get("weight_global_scale")
    elif config["format"].startswith("mxfp"):
        scale = (2.0 ** (scale.astype(np.float64) - 127)).astype(np.float32)
    return numbers * np.repeat(scale, numbers.shape[1] // scale.shape[1], 1)


def decoded(folder, form):
    """Module name -> float32 weight [out, in], from the bytes."""
    tensors = tensors_of(folder)
    config = json.load(open(os.path.join(folder, "config.json")))["quantization_config"]
    out = {}
    for name in tensors:
        module, _, part = name.rpartition(".")
        get = lambda p: tensors[f"{module}.{p}"]
        if part == "qweight" and form != "awq":
            bits = config["bits"]
            codes = unpack(get("qweight").view(np.uint32).T, bits)
            zeros = unpack(get("qzeros").view(np.uint32), bits) + (1 if form == "gptq" else 0)
            scales, groups = get("scales").astype(np.float32), get("g_idx")
            out[module] = (scales[groups] * (codes.T - zeros[groups]).astype(np.float32)).T
        elif part == "qweight":
            codes, zeros = unpack(get("qweight").view(np.uint32), 4, "awq"), unpack(get("qzeros").view(np.uint32), 4, "awq")
            scales = get("scales").astype(np.float32)
            groups = np.arange(codes.shape[0]) // (codes.shape[0] // scales.shape[0])
            out[module] = (scales[groups] * (codes - zeros[groups]).astype(np.float32)).T
        elif part == "weight_scale" and config["format"] != "pack-quantized":
            weights = config["config_groups"]["group_0"]["weights"]
            out[module] = decoded_float(get, weights["num_bits"], config)
        elif part == "weight_packed" and config["format"] == "pack-quantized":
            bits = config["config_groups"]["group_0"]["weights"]["num_bits"]
            rows, columns = get("weight_shape")
            codes = unpack(get("weight_packed").view(np.uint32), bits, "padded")[:, :columns]
            scales = get("weight_scale").astype(np.float32)
            groups = np.arange(columns) // (columns // scales.shape[1])
            zeros = np.full((rows, scales.shape[1]), 1 << (bits - 1))
            if f"{module}.weight_zero_point" in tensors:
                zeros = unpack(get("weight_zero_point").view(np.uint32).T, bits, "padded")[:, :rows].T
            out[module] = scales[:, groups] * (codes - zeros[:, groups]).astype(np.float32)
        elif part == "SCB":
            scale = get("SCB")[:, None]
            out[module] = get("weight").astype(np.float32) * scale * np.float32(7.874015718698502e-3)
    return out


def by_gptqmodel(folder):
    import torch
    os.environ.setdefault("GPTQMODEL_CPU_WORKERS", "2")
    from gptqmodel import BACKEND, GPTQModel
    backend = BACKEND.TORCH_AWQ if "awq" in os.path.basename(folder) and hasattr(BACKEND, "TORCH_AWQ") else BACKEND.TORCH
    model = GPTQModel.load(folder, device="cpu", backend=backend, dtype=torch.float16)  # its kernels take halves alone
    for name, module in model.model.named_modules():
        if not hasattr(module, "qweight"):
            continue
        weight = module.dequantize_weight() if hasattr(module, "dequantize_weight") else None
        if weight is None:
            from gptqmodel.quantization.awq.utils.packing_utils import dequantize_gemm
            weight = dequantize_gemm(module.qweight, module.qzeros, module.scales, module.bits, module.group_size)
        yield name, weight.detach().T


def by_compressed_tensors(folder):
    """In bfloat16 where the package unpacks to it, whatever type is asked for."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils.quantization_config import CompressedTensorsConfig
    config = json.load(open(os.path.join(folder, "config.json")))["quantization_config"]
    narrow = config["format"].startswith(("nvfp4", "mxfp"))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16 if narrow else torch.float32,
                                                 quantization_config=CompressedTensorsConfig(run_compressed=False))
    for name, module in model.named_modules():  # a module that was decompressed while loading tells nothing of it
        if isinstance(module, torch.nn.Linear) and name not in config["ignore"]:
            yield name, module.weight.detach()


def by_bitsandbytes(folder):
    import bitsandbytes as bnb, torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, device_map={"": "cpu"})
    for name, module in model.named_modules():
        if isinstance(module, bnb.nn.Linear8bitLt):
            scale = module.state.SCB if getattr(module.weight, "SCB", None) is None else module.weight.SCB
            yield name, bnb.functional.int8_vectorwise_dequant(module.weight.data, scale)


TOOLS = {"gptq": ("gptqmodel", by_gptqmodel), "gptq_v2": ("gptqmodel", by_gptqmodel), "awq": ("gptqmodel", by_gptqmodel),
         "compressed-tensors": ("compressed_tensors", by_compressed_tensors), "bnb_int8": ("bitsandbytes", by_bitsandbytes)}


def compare(folder, form, load):
    import torch
    wanted, seen, different, dtypes = decoded(folder, form), 0, [], set()
    for name, weight in load(folder):
        # A tool that multiplies in a narrower type rounds the product to it.
        mine = torch.from_numpy(np.ascontiguousarray(wanted[name])).to(weight.dtype)
        if weight.shape != mine.shape or not torch.equal(weight, mine):
            different.append((name, float((weight - mine).abs().max()) if weight.shape == mine.shape else weight.shape))
        dtypes.add(str(weight.dtype))
        seen += 1
    if seen != len(wanted) or different:
        return f"{seen} of {len(wanted)} linears seen, different: {different[:3]}"
    return f"{seen} linears as {', '.join(sorted(dtypes))}, equal bit for bit"


def check_formats(options):
    failed = 0
    for form in options.formats or SETTINGS:
        package, load = TOOLS[form]
        if importlib.util.find_spec(package) is None:
            print(f"{form}: SKIPPED, {package} is not in this environment")
            continue
        for number, setting in enumerate(SETTINGS[form]):
            folder = os.path.join(options.work, f"{form}-{number}")
            subprocess.run([options.quench, "quantize", options.model, "--quantizer", setting, "--calibration",
                            f"tokens={options.ids},sequences=8,length=128", "--format", form, "-o", folder],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                verdict = compare(folder, form, load)
            except Exception as error:  # a tool that cannot load a folder is a finding, and the others go on
                verdict = f"FAILED to load: {type(error).__name__}: {error}"
            failed += not verdict.endswith("bit for bit")
            print(f"{form} {setting}: {verdict}", flush=True)
    return failed


def check_tensorboard(options):
    if options.run is None:
        return 0
    if importlib.util.find_spec("tensorboard") is None:
        print("tensorboard: SKIPPED, it is not in this environment")
        return 0
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    folder = os.path.join(options.work, "events")
    subprocess.run([options.quench, "export", options.run, "--to", "tensorboard", "-o", folder], check=True)
    seen = []
    for where, _, files in os.walk(folder):
        if any("tfevents" in name for name in files):
            events = EventAccumulator(where).Reload()
            for tag in events.Tags()["scalars"]:
                seen += [np.float32(event.value) for event in events.Scalars(tag)]
    records = json.loads(subprocess.run([options.quench, "results", options.run, "--json"], check=True,
                                        capture_output=True).stdout)["data"]["records"]
    wanted = [np.float32(record["value"]) for record in records if isinstance(record["value"], (int, float))]
    equal = sorted(seen) == sorted(wanted)
    print(f"tensorboard: {len(seen)} values read, {'equal' if equal else 'DIFFERENT'}")
    return 0 if equal else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quench", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--work")
    parser.add_argument("--run", help="the folder of a run, for the event files")
    parser.add_argument("formats", nargs="*", choices=[*SETTINGS, []])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        options.work = options.work or work
        os.makedirs(options.work, exist_ok=True)
        sys.exit(1 if check_formats(options) + check_tensorboard(options) else 0)


if __name__ == "__main__":
    main()
