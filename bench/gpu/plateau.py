"""One seed of bench/gpu/plateau.yaml: a training with its decays and averages, quantized and measured, as a run folder to merge."""
import json
import re

from machine import Failed, Refused, ROOT

MANIFEST = ROOT / "bench/gpu/plateau.yaml"
# What tries the step in seconds without a GPU.
SMALL = ("train.model.hidden_size=32", "train.model.intermediate_size=64", "train.model.num_hidden_layers=2", "train.model.num_attention_heads=2",
         "train.batch=4", "train.length=32", "train.steps=12", "train.every=4", "train.snapshots=2", "train.lr.warmup=2",
         "train.validation.every=0", "train.validation.sequences=2",
         "train.forks.early.steps=4", "train.forks.early.decay_steps=2", "train.forks.middle.steps=8", "train.forks.middle.decay_steps=2",
         "train.forks.late.steps=12", "train.forks.late.decay_steps=4", "averaging=[{lawa: {window: 2, every: 2}}]",
         "calibration.text.sequences=4", "calibration.text.length=32", "corpora.text.held_out=0.2", "corpora.held_out.held_out=0.2", "metrics=[{validation_loss: {corpus: held_out, block: 32}}]")


def job_of(seed):
    """The point of the sweep that has this seed."""
    seeds = json.loads(re.search(r"^  seed: (\[.*\])$", MANIFEST.read_text(), re.M).group(1))
    if seed not in seeds:
        raise Failed(f"--seed {seed}: wanted one of {seeds} (bench/gpu/plateau.yaml)")
    return seeds.index(seed)


def _little_text(machine):
    """Forty documents of a novel, where JSON is looked for by its name alone."""
    folder = machine.work / "little_text"
    folder.mkdir(exist_ok=True)
    novel = (ROOT / "configs/moby_dick/training.txt").read_bytes()
    for i in range(40):
        (folder / f"{i}.json").write_bytes(novel[i * 1000:(i + 1) * 1000].decode(errors="ignore").encode())
    return folder


def plateau(machine, note):
    seed, run = machine.options.seed, machine.out / "plateau"
    job = job_of(seed)
    text = _little_text(machine) if machine.small else machine.options.text or ROOT / "data/botocore-1.40.0"
    if not text.exists():
        raise Refused(f"{text} is not there: bench/findings/plateau_text fetches it, --text names another folder of *.json")
    home = machine.home("plateau")
    words = [MANIFEST, "--job", job, "--out", run, "--device", machine.device]
    changes = [*(SMALL if machine.small else ()),
               *(f"corpora.{name}.text.path={text}" for name in ("text", "held_out") if machine.small or machine.options.text)]
    for change in changes:
        words += ["--set", change]
    machine.quench("run", *words, home=home, QUENCH_PYTHON="/no/python3")
    records = machine.answer("results", run, home=home)["records"]
    bad = [record for record in records if record["error"] is not None]
    if bad:
        raise Failed(f"{len(bad)} of {len(records)} cells failed: {bad[0]['error']}")
    rates = sorted(json.loads(line)["row"]["tokens_per_second"] for path in run.rglob("*.jsonl") for line in path.read_text().splitlines()
                   if "tokens_per_second" in line)
    note.add(f"seed {seed}: {len(records)} records in {run.name}/, which `quench merge` takes"
             + (f"; {rates[len(rates) // 2]:.0f} tokens/s in the middle of the training's steps" if rates else ""),
             records=len(records), seed=seed, tokens_per_second=rates[len(rates) // 2] if rates else None)
    for record in records:
        at = record["checkpoint"] or record["averaging"]
        if record["metric"] == "validation_loss" and record["quantizer"] is None:
            note.add(**{f"float {record.get('label')} {json.dumps(at)[:200]}": record["value"]})
