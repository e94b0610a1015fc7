#!/usr/bin/env python3
"""GPTQ's solver of one layer (factor and columns, no Gram matrix): quench's beside GPTQModel's.

  gptq_solver.py --quench build/release/bench/quantizers_gptq [--out 2048] [--in 2048] [--rounds 3]

Run it with the python of the environment that `bench/peers/setup FOLDER PYTHON gptqmodel` makes. Both sides: float32
weights, 4 bits, groups of 128, columns as they stand, one thread, processor time, the least of the rounds.
"""
import argparse, json, re, subprocess, time


def peer_seconds(out, width, rounds):
    import torch
    from gptqmodel import QuantizeConfig
    from gptqmodel.quantization.gptq import GPTQ
    torch.set_num_threads(1)
    random = torch.Generator().manual_seed(1)
    rows = max(4096, 2 * width)
    inputs = torch.randn(rows, 64, generator=random) @ torch.randn(64, width, generator=random) / 8
    inputs += 0.3 * torch.randn(rows, width, generator=random)
    weight = 0.02 * torch.randn(out, width, generator=random)
    config = QuantizeConfig(bits=4, group_size=128, sym=True, damp_percent=0.01, desc_act=False, act_group_aware=False,
                            offload_to_disk=False)
    found = []
    for _ in range(rounds):
        layer = torch.nn.Linear(width, out, bias=False)
        layer.weight.data = weight.clone()
        layer.target_device = torch.device("cpu")
        task = GPTQ(layer, config)
        task.quantizer.configure(perchannel=True)
        task.expected_nsamples = rows
        task.fwd_inputs_buffered = False
        with torch.inference_mode():
            for i, part in enumerate(inputs.split(2048)):
                task.add_batch(part[None], layer(part[:1]), batch_index=i)
            task.finalize_hessian(target_device=torch.device("cpu"))
            began = time.process_time()
            task.quantize()
            found.append(time.process_time() - began)
    return min(found)


def own_seconds(program, out, width, rounds):
    text = subprocess.run([program, str(width), str(out), "4096", str(rounds)], check=True, capture_output=True, text=True).stdout
    return float(re.search(r"factor \+ columns\s+([0-9.]+) s", text)[1]), float(re.search(r"([0-9.]+) times the", text)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quench", required=True)
    parser.add_argument("--out", type=int, default=2048)
    parser.add_argument("--in", dest="width", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    own, floor = own_seconds(arguments.quench, arguments.out, arguments.width, arguments.rounds)
    peer = peer_seconds(arguments.out, arguments.width, arguments.rounds)
    print(json.dumps({"shape": [arguments.out, arguments.width], "quench_s": own, "times_its_operations": floor,
                      "gptqmodel_s": round(peer, 3), "ratio": round(peer / own, 1)}))


main()
