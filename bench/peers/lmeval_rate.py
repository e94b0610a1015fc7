#!/usr/bin/env python3
"""Multiple-choice requests a second: quench beside lm-eval's transformers backend, the same requests, float32.

  lmeval_rate.py --quench build/release/bin/quench --model FOLDER --data FOLDER [--tasks sciq+piqa] [--shots 0]
                 [--limit 50] [--max-length 0] [--batch 1] [--rounds 2] [--threads 2] [--tokenizer FOLDER]

Run it with the python of the environment that `bench/peers/setup FOLDER python3 lmeval` makes. quench reads the data,
makes the prompts, and logs the requests; lm-eval then gets those very requests, so that only its scoring is timed
(its tokenization included), while of quench the whole evaluation is. The two run one after the other, A B A B, each in a
process of its own. Printed for each: wall and processor (user + system) seconds, requests a second of the best run, and
the ratio; above 1 means that quench is faster. The largest difference of a log-likelihood is printed too.
"""
import argparse, json, os, subprocess, sys, tempfile, time


def lmeval_child(options):
    import torch
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    torch.set_num_threads(options.threads)
    lines = [json.loads(line) for line in open(options.child)]
    requests = [Instance(request_type="loglikelihood", doc={}, arguments=(r["context"], r["continuation"]), idx=i)
                for line in lines for i, r in enumerate(line["requests"])]
    expected = [r["ll"] for line in lines for r in line["requests"]]
    lm = HFLM(pretrained=options.model, tokenizer=options.tokenizer or options.model, device="cpu", dtype="float32",
              batch_size=options.batch, max_length=options.max_length or None)
    wall, cpu = time.monotonic(), time.process_time()
    found = lm.loglikelihood(requests, disable_tqdm=True)
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu, "requests": len(requests),
                      "difference": max(abs(a[0] - b) for a, b in zip(found, expected))}))


def quench_run(options, log):
    spec = f"tasks:tasks={options.tasks},data={options.data},shots={options.shots},limit={options.limit}," \
           f"max_length={options.max_length},log={log}"
    command = [options.quench, "eval", options.model, "--metric", spec, "--threads", str(options.threads), "--json"]
    if options.tokenizer:
        command += ["--tokenizer", options.tokenizer]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit("quench failed")
    record = json.loads(text)["data"]["records"][0]
    return {"wall": record["seconds"], "cpu": usage.ru_utime + usage.ru_stime, "requests": record["details"]["requests"]}


def lmeval_run(options, log):
    arguments = [a for a in sys.argv[1:]] + ["--child", log]
    text = subprocess.run([sys.executable, sys.argv[0], *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(text.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("quench", None), ("model", None), ("data", None), ("tasks", "sciq+piqa"), ("tokenizer", ""),
                          ("child", "")):
        parser.add_argument("--" + name, default=default)
    for name, default in (("shots", 0), ("limit", 50), ("max-length", 0), ("batch", 1), ("rounds", 2), ("threads", 2)):
        parser.add_argument("--" + name, type=int, default=default)
    options = parser.parse_args()
    if options.child:
        return lmeval_child(options)
    runs = {"quench": [], "lm-eval": []}
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "requests.jsonl")
        for _ in range(options.rounds):
            runs["quench"].append(quench_run(options, log))
            runs["lm-eval"].append(lmeval_run(options, log))
    best = {name: {key: min(run[key] for run in list_) for key in ("wall", "cpu")} for name, list_ in runs.items()}
    count = runs["quench"][0]["requests"]
    for name, run in best.items():
        print(f"{name:8} wall {run['wall']:8.2f} s  cpu {run['cpu']:8.2f} s  {count / run['wall']:8.1f} requests/s")
    print(f"lm-eval / quench: wall {best['lm-eval']['wall'] / best['quench']['wall']:.2f}, "
          f"cpu {best['lm-eval']['cpu'] / best['quench']['cpu']:.2f}; {count} requests, "
          f"largest difference {max(run['difference'] for run in runs['lm-eval']):.1e}")


main()
