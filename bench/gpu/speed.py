"""How fast: passes of GPTQ by shape, training by precision beside PyTorch, and where the time of a process goes on the GPU."""
import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

from machine import Failed, Refused, gpu_table

# Datasheets count a bfloat16 product at 990 TFLOP/s; an H200 reached 770 to 800 on random data. `ceiling` measures the GPU at hand.
PRODUCTS, TF32, COPIES = 780e12, 390e12, 4.3e12
FACTORS, COLUMNS = 25e12, 40e12
SHOWN = 12  # kernels of a profile, in the table


def rates(machine):
    """Of the step `ceiling`, or what an H200 had."""
    return {"bfloat16": PRODUCTS, "tf32": TF32, "float32": 50e12, "copy": COPIES, **(_before(machine, "ceiling", "rates") or {})}


def _arguments(machine, once=False):
    return SimpleNamespace(quench=str(machine.program), device=machine.device, once=once,
                           torch=machine.options.python if machine.has_peer("torch", "transformers") else None)


def _prepared(machine, table, name):
    """Shape, checkpoint, ids and the text that is scored; what is random is written here."""
    rows, length = (4, 32) if machine.small else (1024, 512)
    shape, folder = table.Shape(name, None), machine.work / "shapes"
    folder.mkdir(exist_ok=True)
    model, ids, score = folder / name, folder / f"{name}.ids.safetensors", folder / f"{name}.score.safetensors"
    table.write_checkpoint(shape, str(model))
    table.write_ids(ids, rows, length, shape.vocabulary)
    table.write_ids(score, 1, 64, shape.vocabulary)
    return shape, str(model), str(ids), str(score), rows * length, length


def passes(name, once):
    """The step that measures a shape."""

    def measure(machine, note):
        table = gpu_table()
        os.environ.update(machine.environment(machine.home("shapes")))
        shape, model, ids, score, tokens, length = _prepared(machine, table, name)
        got = table.ours(_arguments(machine, once), model, ids, score)
        floor = shape.floor(tokens, length, rates(machine)["bfloat16"])
        planned = _planned(machine, model, ids, score)
        note.add(f"first pass {got['first']:.2f} s" + ("" if once else f", pass {got['seconds']:.2f} s") + f", floor {floor:.3g} s "
                 f"({floor / got['seconds']:.0%} of it), goal {shape.goal or 'none'}; peak {(got['bytes'] or 0) / 1e9:.2f} GB of the GPU, "
                 f"said {got['said'] if got['said'] is not None else float('nan'):.2f} GB beside the model"
                 + (f", plan {planned / 1e9:.2f} GB" if planned else ""),
                 **got, floor=floor, share=floor / got["seconds"], parameters=shape.parameters(), planned=planned)
        note.add("parts: " + ", ".join(f"{part} {seconds:.2f}" for part, seconds in sorted(got["parts"].items()) if part != "all"))

    return measure


def _planned(machine, model, ids, score):
    """Bytes on the GPU that `quench plan` predicts for the pass, with the whole model there; None if it fails. In a home of its own: where the
    pass is remembered, it costs nothing."""
    folder = Path(model).parent
    manifest = {"name": "plan", "checkpoints": {"model": model}, "device": machine.device, "dtype": "bfloat16",
                "calibration": {"rows": {"corpus": "ids", "packing": "none"}},
                "quantizers": [{"gptq": {"bits": 4, "group_size": 128}, "calibration": "rows"}],
                "metrics": [{"validation_loss": {"corpus": "score", "block": 64}}],
                "corpora": {"ids": {"tokens": {"path": ids}}, "score": {"tokens": {"path": score}}}}
    (folder / "plan.yaml").write_text(json.dumps(manifest))
    try:
        said = machine.answer("plan", "plan.yaml", "--out", "plan", home=machine.home("plan"), folder=folder)
    except Failed:
        return None
    return said["total"]["device_peak_memory_bytes"]


def training_floor(shape, batch, length, rate, copies):
    """Seconds that a step cannot be under: its products, and the bytes that AdamW moves (weights, gradient and two moments, 28 a parameter),
    and the gradient's norm and its clearing reads and writes (8)."""
    linears, _ = shape.linears()
    products = shape.layers * sum(rows * columns for rows, columns in linears) + shape.vocabulary * shape.width
    tokens = batch * length
    operations = 6 * tokens * products + 3 * tokens * shape.layers * 2 * length * shape.width
    parameters = products + shape.vocabulary * shape.width
    return operations / rate, parameters * 36 / copies


def trainings(precision):
    """The step that trains the 160M shape in this precision, and PyTorch beside it."""

    def measure(machine, note):
        table = gpu_table()
        os.environ.update(machine.environment(machine.home("training")))
        expect_precision(machine, precision)
        arguments, folder = _arguments(machine), machine.work / "training"
        folder.mkdir(exist_ok=True)
        found = rates(machine)
        products, bytes_moved = training_floor(table.Shape("160m", None), 4, 512, found[precision], found["copy"])
        floor = 2048 / (products + bytes_moved)
        note.add(f"floor {floor:.0f} tokens/s: products {1e3 * products:.2f} ms at {found[precision] / 1e12:.0f} TFLOP/s, optimizer "
                 f"{1e3 * bytes_moved:.2f} ms", floor=floor)
        theirs = None
        if arguments.torch is None:
            note.add(f"PyTorch: {machine.options.python} has no torch with transformers")
        else:
            theirs = table.peer_training(arguments, precision, machine.small)
            note.add(f"PyTorch {theirs:.0f} tokens/s", theirs=theirs)
        mine = table.our_training(arguments, str(folder), precision, machine.small)
        note.add(f"quench {mine:.0f} tokens/s, {mine / floor:.1%} of the floor" + (f", {mine / theirs:.2f} of PyTorch's rate" if theirs else ""),
                 ours=mine, ratio=mine / theirs if theirs else None)

    return measure


def recorded(pass_step):
    """The step that repeats the smallest pass and training in bfloat16 with their work recorded (QUENCH_CUDA_GRAPHS=1)."""

    def measure(machine, note):
        table = gpu_table()
        os.environ.update(machine.environment(machine.home("recorded"), QUENCH_CUDA_GRAPHS="1"))
        arguments, folder = _arguments(machine), machine.work / "recorded"
        folder.mkdir(exist_ok=True)
        told = _before(machine, "training.bfloat16", "ours")
        rate = table.our_training(arguments, str(folder), "bfloat16", machine.small)
        note.add(f"training in bfloat16: {rate:.0f} tokens/s" + (f", {rate / told:.2f} of the rate without" if told else ""),
                 training=rate, training_ratio=rate / told if told else None)
        _, model, ids, score, _, _ = _prepared(machine, table, pass_step.removeprefix("table."))
        seconds, before = table.ours(arguments, model, ids, score)["seconds"], _before(machine, pass_step, "seconds")
        note.add(f"{pass_step}: pass {seconds:.2f} s" + (f", {seconds / before:.2f} of the time without" if before else ""),
                 seconds=seconds, pass_ratio=seconds / before if before else None)

    return measure


def _before(machine, step, name):
    """What an earlier step measured; None if it did not."""
    path = machine.out / "results" / f"{step}.json"
    return json.loads(path.read_text()).get("result", {}).get(name) if path.exists() else None


def expect_precision(machine, precision):
    schema = json.loads(machine.quench("schema", home=machine.home("training")))
    if precision not in schema["properties"]["train"]["properties"]["precision"]["enum"]:
        raise Refused(f"this build does not train in {precision}")


# ---- where the time goes

def _library():
    """kernel_times.so as the archive has it, or as a test built it."""
    named = os.environ.get("QUENCH_KERNEL_TIMES_LIBRARY")
    path = Path(named) if named else Path(__file__).parent / "kernel_times.so"
    if not path.exists():
        raise Refused(f"{path} is not there: pack builds it where CUPTI's headers are")
    return path


def _cupti(machine):
    """The CUPTI that lies beside the libtorch of the plugins; else the name alone."""
    if "QUENCH_CUPTI" in os.environ:
        return os.environ["QUENCH_CUPTI"]
    torch = (machine.tree / "lib/quench/deps/torch").resolve()
    found = sorted([*torch.parent.glob("nvidia/*/lib/libcupti.so.1*"), *torch.glob("lib/libcupti.so.1*"),
                    *Path("/usr/local/cuda").glob("**/libcupti.so.1?")])
    return str(found[0]) if found else "libcupti.so.13"


def _profiled(machine, name, work):
    """What `work` gives, run with the library in the driver; and the sums of the process that had the most on the GPU."""
    folder = machine.out / "kernels" / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("kernels-*.json"):
        old.unlink()
    os.environ.update(CUDA_INJECTION64_PATH=str(_library()), QUENCH_KERNEL_TIMES=str(folder), QUENCH_CUPTI=_cupti(machine))
    try:
        got = work()
    finally:
        del os.environ["CUDA_INJECTION64_PATH"]
    found = [json.loads(path.read_text()) for path in folder.glob("kernels-*.json")]
    if not found:
        raise Failed("no process wrote the times of its kernels: the driver did not load kernel_times.so")
    return got, max(found, key=lambda each: each["busy_ns"])


def short_names(names):
    """Names of kernels as people read them: demangled where c++filt is there, without arguments."""
    try:
        done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=False)
        names = done.stdout.splitlines() if done.returncode == 0 else names
    except OSError:
        pass
    return [name.replace("void ", "", 1).partition("(")[0][:100] for name in names]


def profile(machine, note, name, work):
    got, times = _profiled(machine, name, work)
    if times["problem"]:
        raise Failed(times["problem"])
    rows = sorted(times["rows"], key=lambda row: -row["ns"])
    total = sum(row["ns"] for row in rows)
    if total == 0:
        raise Failed("no kernel was recorded")
    note.add(f"{name}: {total / 1e9:.3f} s of kernels and copies in a span of {times['span_ns'] / 1e9:.3f} s, busy {times['busy_ns'] / 1e9:.3f} s"
             + (f"; {times['lost']} records were lost" if times["lost"] else ""), times=times, measured=got)
    for row, short in zip(rows[:SHOWN], short_names([row["name"] for row in rows[:SHOWN]])):
        note.add(f"{row['ns'] / total:6.1%} {row['ns'] / 1e6:9.2f} ms {row['count']:>7} x {row['ns'] / row['count'] / 1e3:8.1f} us  {short}")


def _slowest(machine, names, of, otherwise):
    """The step of these whose result is the smallest share of what it is held to."""
    found = {}
    for name in names:
        path = machine.out / "results" / f"{name}.json"
        value = json.loads(path.read_text())["result"].get(of) if path.exists() else None
        if value:
            found[name] = value
    return min(found, key=found.get) if found else otherwise


def profile_pass(machine, note):
    """The shape whose pass has the smallest share of its floor."""
    shapes = ["table.tiny"] if machine.small else ["table.160m", "table.1b"]
    name = _slowest(machine, shapes, "share", shapes[0]).partition(".")[2]
    table = gpu_table()
    os.environ.update(machine.environment(machine.home("profile")))
    _, model, ids, score, _, _ = _prepared(machine, table, name)
    profile(machine, note, f"pass-{name}", lambda: table.ours(_arguments(machine, True), model, ids, score)["seconds"])


def profile_training(machine, note):
    """The precision whose rate has the smallest ratio to PyTorch's."""
    name = _slowest(machine, ["training.float32", "training.tf32", "training.bfloat16"], "ratio", "training.float32").partition(".")[2]
    table = gpu_table()
    os.environ.update(machine.environment(machine.home("profile")))
    folder = machine.work / "training"
    folder.mkdir(exist_ok=True)
    profile(machine, note, f"training-{name}", lambda: table.our_training(_arguments(machine), str(folder), name, machine.small))
