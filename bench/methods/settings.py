"""The rows of the table: every method with the settings that people use it with.

A setting is one entry of `quantizers` in a manifest. Weights share a scale by 32 columns, since the small models have rows of 32 to 256
columns. Where a model decides a number (the size of a head), the entry is made for the model.
"""
import dataclasses

GROUP = 32
HEAD = "head"  # in place of a number: the size of the model's heads


@dataclasses.dataclass(frozen=True)
class Setting:
    key: str  # its name in data files and on the page
    part: str  # the part of the table that it stands in
    method: str  # id of the plugin
    params: dict
    transform: dict | None = None
    packages: tuple = ()  # that have the method; bench/peers/methods has a script for each
    source: str = ""  # of its equations

    def entry(self, head):
        """Its entry of a manifest for a model with heads of this size."""
        def filled(params):
            return {name: head if value == HEAD else value for name, value in params.items()}

        out = {self.method: filled(self.params), "calibration": "rows", "label": self.key}
        if self.transform is not None:
            out["transform"] = {id_: filled(params) for id_, params in self.transform.items()}
        return out


GPTQ = "Frantar et al. 2022, arXiv 2210.17323, algorithm 1"
AWQ = "Lin et al. 2023, arXiv 2306.00978, equations 4 and 5"
SIGNROUND = "Cheng et al. 2023, arXiv 2309.05516, equations 3 and 5"
HQQ = "Badri and Shaji 2023, equations 4 to 6"
QLORA = "Dettmers et al. 2023, arXiv 2305.14314, section 3"
LLM_INT8 = "Dettmers et al. 2022, arXiv 2208.07339, section 3"
SMOOTH = "Xiao et al. 2023, arXiv 2211.10438, equation 4"
QUAROT = "Ashkboos et al. 2024, arXiv 2404.00456, section 4"
KIVI = "Liu et al. 2024, arXiv 2402.02750, section 3"
MX = "OCP Microscaling Formats v1.0, section 6.3"
OFP8 = "OCP OFP8 v1.0"
NVFP4 = "NVIDIA, Introducing NVFP4, 2025"
TERNARY = "Ma et al. 2024, arXiv 2402.17764 (absmean)"
BINARY = "Rastegari et al. 2016, arXiv 1603.05279, equation 6"
GRID = "docs/quantizers.md"
INPUTS = "docs/quantizers.md, inputs of linears"

LLMC, AUTO, TORCHAO, BNB, HQQP = "llmcompressor", "auto_round", "torchao", "bitsandbytes", "hqq"
ROTATION = {"rotation": {"head_size": HEAD}}


def _settings():
    def grid(bits, **more):
        return {"bits": bits, "group_size": GROUP, **more}

    def row_grid(bits, **more):
        return {"bits": bits, "group_size": -1, **more}

    weights = "Weights on integer grids"
    for bits in (8, 4, 3):
        yield Setting(f"rtn {bits}", weights, "rtn", grid(bits), packages=(LLMC,), source=GRID)
    for bits in (4, 3):
        yield Setting(f"gptq {bits}", weights, "gptq", grid(bits), packages=(LLMC,), source=GPTQ)
    yield Setting("gptq 3 desc_act", weights, "gptq", grid(3, desc_act=True, static_groups=True), packages=(LLMC,), source=GPTQ)
    for bits in (4, 3):
        yield Setting(f"awq {bits}", weights, "awq", grid(bits, preset="llm_compressor"), packages=(LLMC,), source=AWQ)
    for bits in (4, 2):
        yield Setting(f"autoround {bits}", weights, "autoround", grid(bits, sym=False, batch_tokens=1024), packages=(AUTO,), source=SIGNROUND)
    for bits in (4, 3):
        yield Setting(f"hqq {bits}", weights, "hqq", grid(bits), packages=(HQQP,), source=HQQ)
    yield Setting("int8 weights", weights, "int8", {"activations": False}, packages=(BNB,), source=LLM_INT8)
    yield Setting("noise 4", weights, "noise", grid(4), source=GRID + "; a control, not a method")

    tables = "Weights in other formats"
    yield Setting("nf4", tables, "nf4", {}, packages=(BNB,), source=QLORA)
    yield Setting("nf4 double", tables, "nf4", {"double_quantization": True}, packages=(BNB,), source=QLORA)
    yield Setting("fp4", tables, "fp4", {}, packages=(BNB,), source="bitsandbytes, its table of sixteen values")
    yield Setting("rtn fp8_e4m3", tables, "rtn", {"format": "fp8_e4m3", "group_size": -1}, packages=(LLMC,), source=OFP8)
    yield Setting("rtn mxfp4", tables, "rtn", {"format": "mxfp4"}, packages=(TORCHAO,), source=MX)
    yield Setting("gptq mxfp4", tables, "gptq", {"format": "mxfp4"}, source=f"{GPTQ}; {MX}")
    yield Setting("rtn nvfp4", tables, "rtn", {"format": "nvfp4"}, packages=(TORCHAO,), source=NVFP4)
    yield Setting("gptq nvfp4", tables, "gptq", {"format": "nvfp4"}, source=f"{GPTQ}; {NVFP4}")
    for name, source in (("ternary", TERNARY), ("binary", BINARY)):
        yield Setting(f"rtn {name}", tables, "rtn", {"format": name, "group_size": -1}, source=source)
        yield Setting(f"gptq {name}", tables, "gptq", {"format": name, "group_size": -1}, source=f"{GPTQ}; {source}")

    inputs = "Inputs of linears, weights in float"
    for name in ("int8", "int4", "fp8_e4m3"):
        yield Setting(f"inputs {name}", inputs, "activations", {"activations": name}, packages=(LLMC,), source=INPUTS)
    for name, source in (("mxfp4", MX), ("nvfp4", NVFP4)):
        yield Setting(f"inputs {name}", inputs, "activations", {"activations": name}, packages=(TORCHAO,), source=source)

    both = "Weights and inputs"
    yield Setting("int8 threshold 6", both, "int8", {}, packages=(BNB,), source=LLM_INT8)
    yield Setting("int8 threshold 0", both, "int8", {"threshold": 0}, packages=(BNB,), source=LLM_INT8)
    yield Setting("rtn W8A8", both, "rtn", row_grid(8, activations="int8"), packages=(LLMC,), source=INPUTS)
    yield Setting("rtn W8A8 smoothquant", both, "rtn", row_grid(8, activations="int8"), {"smoothquant": {}}, (LLMC,), SMOOTH)
    yield Setting("gptq W8A8", both, "gptq", row_grid(8, activations="int8"), packages=(LLMC,), source=f"{GPTQ}; {INPUTS}")
    yield Setting("rtn W4A8", both, "rtn", grid(4, activations="int8"), packages=(LLMC,), source=INPUTS)
    yield Setting("gptq W4A8", both, "gptq", grid(4, activations="int8"), packages=(LLMC,), source=f"{GPTQ}; {INPUTS}")
    yield Setting("awq W4A8", both, "awq", grid(4, preset="llm_compressor", inputs="sequential", activations="int8"), source=f"{AWQ}; {INPUTS}")
    yield Setting("rtn W4A4", both, "rtn", grid(4, activations="int4"), packages=(LLMC,), source=INPUTS)
    yield Setting("rtn W4A4 smoothquant", both, "rtn", grid(4, activations="int4"), {"smoothquant": {}}, (LLMC,), SMOOTH)
    yield Setting("gptq W4A4", both, "gptq", grid(4, activations="int4"), packages=(LLMC,), source=f"{GPTQ}; {INPUTS}")
    yield Setting("rtn W8A8 fp8_e4m3", both, "rtn", {"format": "fp8_e4m3", "group_size": -1, "activations": "fp8_e4m3"},
                  packages=(LLMC,), source=OFP8)
    yield Setting("rtn W4A4 mxfp4", both, "rtn", {"format": "mxfp4", "activations": "mxfp4"}, packages=(TORCHAO,), source=MX)
    yield Setting("rtn W4A4 nvfp4", both, "rtn", {"format": "nvfp4", "activations": "nvfp4"}, packages=(TORCHAO,), source=NVFP4)

    turned = "Rotations"
    yield Setting("gptq 3 rotation", turned, "gptq", grid(3), ROTATION, source=QUAROT)
    yield Setting("gptq 3 rotate all", turned, "gptq", grid(3, rotate="all"), source=QUAROT)
    yield Setting("inputs int4 rotate all", turned, "activations", {"activations": "int4", "rotate": "all"}, source=QUAROT)
    yield Setting("rtn W4A4 rotate all", turned, "rtn", grid(4, activations="int4", rotate="all"), source=QUAROT)
    yield Setting("gptq W4A4 rotate all", turned, "gptq", grid(4, activations="int4", rotate="all"), source=QUAROT)
    yield Setting("gptq W4A4 rotation, rotate inner", turned, "gptq", grid(4, activations="int4", rotate="inner"), ROTATION, source=QUAROT)
    yield Setting("control: rotate all", turned, "activations", {"activations": "float", "rotate": "all"},
                  source=QUAROT + "; rotates and rounds nothing")

    def cache(name, **more):
        return {"activations": "float", "cache": name, "cache_group_size": HEAD, **more}

    kept = "Keys and values"
    for name in ("int8", "int4", "int2", "fp8_e4m3"):
        yield Setting(f"cache {name}", kept, "activations", cache(name), source="docs/cache.md")
    yield Setting("cache int2, keys by channel", kept, "activations", cache("int2", cache_keys="channel"), source=KIVI)
    yield Setting("cache int4, rotated", kept, "activations", cache("int4", cache_range="with_zero", cache_rotate="both"), source=QUAROT)
    yield Setting("gptq W4A4 KV4, QuaRot", kept, "gptq",
                  grid(4, activations="int4", rotate="inner", cache="int4", cache_range="with_zero", cache_group_size=HEAD, cache_clip=0.95,
                       cache_rotate="both"), ROTATION, source=QUAROT)


ALL = tuple(_settings())
BY_KEY = {setting.key: setting for setting in ALL}
assert len(BY_KEY) == len(ALL), "two settings have one name"
