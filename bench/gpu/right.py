"""Whether what a GPU computes is right: kernels beside their loops, runs beside the processor's and beside themselves."""
import hashlib
import json
import math
import re
import subprocess
import time

from machine import Failed, Refused, ROOT

# Test programs of kernels, with the cases that ask a GPU.
KERNELS = (("quantizers_kernels_tests", "*: on a GPU*"), ("models_decoder_gpu_test", "*: on a GPU*"), ("optimizers_muon_tests", "*: on a GPU*"),
           ("shared_cuda_tests", "*: on a GPU*"))
# Those that a GPU that is none runs: it draws no random numbers, and pins no memory.
TRIED = (("quantizers_kernels_tests", "kernels: on a GPU*"), *KERNELS[1:3])
CONTRACTS = (("quantizers", "*cuda:0 a run measures*"), ("training", "*cuda:0 a run that trains*"), ("ways", "*cuda:0 a run goes every way*"),
             ("families", "*cuda:0 every family*"))
# Families with a program of their own, and those that share one.
FAMILIES = (*((family, f"models_{family}_test", "*") for family in ("gpt_neox", "mamba")),
            *((family, "models_families_test", f"{family}: *") for family in ("apertus", "llama", "olmoe")))
SKIPPED = 77


def doctor(machine, note):
    about = machine.answer("doctor", home=machine.home("doctor"))
    gpus = about["gpus"]
    note.add(doctor=about)
    smi = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit", "--format=csv,noheader"],
                         capture_output=True, text=True, check=False) if _is_there("nvidia-smi") else None
    note.add(nvidia_smi=smi.stdout.strip() if smi else None)
    if not gpus["devices"]:
        raise Failed(f"no GPU: {gpus['absence']}")
    gpu = gpus["devices"][0]
    note.add(f"{gpu['name']}, {gpu['capability']}, {gpu['memory_bytes'] / 2**30:.0f} GiB; CUDA {gpus['driver_cuda']}; "
             f"{about['processor']['name']}, {about['processor']['threads']} threads")
    missing = (gpus["libtorch"] or {}).get("missing", ["libtorch's part for GPUs"])
    if missing:
        raise Failed(f"missing: {', '.join(missing)}")
    if gpus["kernels"] is None and not machine.small:
        raise Failed("this build has no kernels for GPUs")


def _is_there(program):
    return subprocess.run(["/bin/sh", "-c", f"command -v {program}"], stdout=subprocess.DEVNULL, check=False).returncode == 0


CEILING = """
import json, sys, torch
def seconds(work, rounds):
    for _ in range(3): work()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(rounds): work()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3 / rounds
n, out = 8192, {}
for name, type, tf32 in (("bfloat16", torch.bfloat16, False), ("float32", torch.float32, False), ("tf32", torch.float32, True)):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b = torch.randn(n, n, device="cuda", dtype=type), torch.randn(n, n, device="cuda", dtype=type)
    out[name] = 2 * n ** 3 / seconds(lambda: a @ b, 10)
    del a, b
x = torch.empty(1 << 31, dtype=torch.uint8, device="cuda").random_()
y = torch.empty_like(x)
out["copy"] = 2 * x.numel() / seconds(lambda: y.copy_(x), 10)
print(json.dumps(out))
"""


def ceiling(machine, note):
    """What products and copies of this GPU reach, by PyTorch: what the floors of the tables are made of."""
    if not machine.has_peer("torch"):
        raise Refused(f"{machine.options.python} has no torch")
    done = subprocess.run([machine.options.python, "-c", CEILING], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(done.stderr.strip()[-300:]) if "CUDA" in done.stderr else Failed(done.stderr.strip()[-600:])
    rates = json.loads(done.stdout.splitlines()[-1])
    note.add(", ".join(f"{name} {rates[name] / 1e12:.0f} TFLOP/s" for name in ("bfloat16", "tf32", "float32"))
             + f"; copies {rates['copy'] / 1e12:.2f} TB/s read and written", rates=rates)


def _outcome(text, code):
    """(verdict, assertions) of a test program."""
    counts = re.search(r"All tests passed \((\d+) assertions?|assertions: *(\d+)", text)
    verdict = "passed" if code == 0 else "skipped" if code == SKIPPED else "FAILED"
    return verdict, int(next(filter(None, counts.groups()))) if counts else 0


def _suites(machine, note, suites):
    """Runs test programs side by side: what is right does not depend on the time that it takes."""
    began = time.monotonic()
    logs = {label: machine.out / "logs" / f"{label}.txt" for label, *_ in suites}
    running = {label: machine.suite(program, logs[label], cases, **environment) for label, program, cases, environment in suites}
    bad = []
    while running:
        for label, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[label]
            verdict, assertions = _outcome(logs[label].read_text(errors="replace"), process.returncode)
            note.add(f"{label}: {verdict}, {assertions} assertions, {time.monotonic() - began:.0f} s",
                     **{label: {"verdict": verdict, "assertions": assertions, "seconds": time.monotonic() - began}})
            if verdict != "passed":
                bad.append(f"{label} {verdict}")
        time.sleep(0.1)
    if bad:
        raise Failed(", ".join(bad))


def kernels(machine, note):
    _suites(machine, note, [(program, program, cases, {}) for program, cases in (TRIED if machine.small else KERNELS)])


def contract(machine, note):
    wanted = machine.options.contracts.split(",")
    _suites(machine, note, [(label, "contract_device_tests", cases, {}) for label, cases in CONTRACTS if label in wanted])


def families(machine, note):
    _suites(machine, note, [(*family, {"QUENCH_TEST_DEVICE": "cuda:0"}) for family in FAMILIES])


def bits_manifest(machine, device, precision):
    width, blocks, batch, length, steps = (32, 2, 4, 32, 4) if machine.small else (512, 6, 8, 512, 20)
    return {"name": "bits", "checkpoints": {"model": "train"}, "device": device,
            "train": {"model": {"model_type": "gpt_neox", "hidden_size": width, "intermediate_size": 4 * width, "num_hidden_layers": blocks,
                                "num_attention_heads": width // 16 if machine.small else 8, "vocab_size": 256, "max_position_embeddings": length,
                                "rotary_pct": 0.25, "rotary_emb_base": 10000, "use_parallel_residual": True, "hidden_act": "gelu",
                                "layer_norm_eps": 1e-5, "initializer_range": 0.02, "tie_word_embeddings": False},
                      "corpus": "text", "tokenizer": "bytes", "optimizer": {"adamw": {"betas": [0.9, 0.95], "weight_decay": 0.1}},
                      "lr": {"schedule": "constant", "peak": 1e-3}, "batch": batch, "length": length, "steps": steps, "every": steps,
                      "precision": precision},
            "calibration": {"rows": {"corpus": "text", "sequences": 16, "length": length, "packing": "concat"}},
            "quantizers": [{"rtn": {"bits": 4, "group_size": 32}}, {"gptq": {"bits": 3, "group_size": 32}, "calibration": "rows"},
                           {"awq": {"bits": 4, "group_size": 32}, "calibration": "rows"}],
            "metrics": [{"validation_loss": {"corpus": "held_out", "block": length}}],
            "corpora": {"text": {"text": {"path": str(ROOT / "configs/moby_dick/training.txt")}},
                        "held_out": {"text": {"path": str(ROOT / "configs/moby_dick/validation.txt")}}}}


def _measured(machine, name, device, precision, **environment):
    """{cell: value} of one run in a home of its own, and the digest of the weights that it trained."""
    folder = machine.work / "bits" / name
    folder.mkdir(parents=True, exist_ok=True)
    home = folder / "home"
    (folder / "bits.yaml").write_text(json.dumps(bits_manifest(machine, device, precision)))
    said = machine.run("run", "bits.yaml", "--out", "run", home=home, folder=folder, QUENCH_PYTHON="/no/python3", **environment).stderr
    if environment and "cannot be recorded" in said:
        raise Failed(f"{name}: {said.strip()[-600:]}")
    records = machine.answer("results", "run", home=home, folder=folder)["records"]
    values = {" ".join([record["metric"], "float" if record["quantizer"] is None else record["quantizer"]["id"]]): record["value"]
              for record in records if isinstance(record["value"], (int, float))}
    [weights] = sorted((home / "training").rglob("model*.safetensors"))
    return values, hashlib.sha256(weights.read_bytes()).hexdigest()


def bits(machine, note):
    """One training and three quantizers, twice on the GPU, once with its work recorded and once on the processor: are the first two equal, is the
    third, and how near is the last?"""
    differ = []
    for precision in ("float32",) if machine.small else ("float32", "bfloat16"):
        first, weights = _measured(machine, f"{precision}-first", machine.device, precision)
        second, again = _measured(machine, f"{precision}-second", machine.device, precision)
        if not first or not all(math.isfinite(value) for value in first.values()):
            raise Failed(f"{precision}: values that are not numbers: {first}")
        same = first == second and weights == again
        note.add(f"{precision}: two runs on the GPU {'have the same bits' if same else 'DIFFER'}: {len(first)} values"
                 + ("" if first == second else " not") + " equal, weights" + ("" if weights == again else " not") + " equal",
                 **{precision: {"first": first, "second": second, "weights": [weights, again]}})
        if not same:
            differ.append(f"two runs in {precision}")
        graphs, recorded = _measured(machine, f"{precision}-recorded", machine.device, precision, QUENCH_CUDA_GRAPHS="1")
        alike = first == graphs and weights == recorded
        note.add(f"{precision}: with its work recorded it {'has' if alike else 'has NOT'} the same bits",
                 **{f"{precision} recorded": {"values": graphs, "weights": recorded, "same": alike}})
        if not alike:
            differ.append(f"recorded work in {precision}")
        beside, _ = _measured(machine, f"{precision}-cpu", "cpu", precision)
        off = {cell: abs(first[cell] - value) / abs(value) for cell, value in beside.items() if cell in first and value != 0}
        note.add(f"{precision}: beside the processor, largest relative difference of a loss "
                 f"{max(value for cell, value in off.items() if cell.startswith('validation_loss')):.1e}",
                 **{f"{precision} beside cpu": {"cpu": beside, "relative": off}})
        if set(beside) != set(first):
            raise Failed(f"{precision}: other cells on the processor: {sorted(set(beside) ^ set(first))}")
    if differ:
        raise Failed(f"other bits: {', '.join(differ)}")
