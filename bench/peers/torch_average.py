#!/usr/bin/env python3
"""The mean of checkpoints as a short PyTorch loop takes it: torch_average.py OUT.safetensors IN.safetensors...

Loads one checkpoint after the other, adds in float32, divides, saves. Prints seconds and peak resident memory; to be run
with the python of the environment that bench/peers/setup makes, on the files that bench/average_checkpoints makes.
"""
import resource
import sys
import time

from safetensors.torch import load_file, save_file

start, cpu = time.perf_counter(), time.process_time()
out, *members = sys.argv[1:]
total = load_file(members[0])
for member in members[1:]:
    for name, tensor in load_file(member).items():
        total[name] += tensor
for tensor in total.values():
    tensor /= len(members)
save_file(total, out)
print(f"{len(members)} members: {time.perf_counter() - start:.2f} s, {time.process_time() - cpu:.2f} s of processor, "
      f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
