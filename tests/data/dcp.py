"""Writes tests/data/dcp: what torch.distributed.checkpoint saves in one and in four processes, and what is in it.

    python3 tests/data/dcp.py            # torch 2.15.0, numpy, safetensors; two minutes
    python3 tests/data/dcp.py watched    # that folder alone

`one`: a trainer's state, {"model": ..., "optimizer": ..., "step": ...}. `four`: the model's state dict by itself, of a torch.compile,
whose tensors are sharded over four processes of gloo by rows and by columns that do not divide evenly, over a 2 x 2 mesh in both
dimensions, over one of them and copied over the other, and copied. `one.safetensors` and `four.safetensors` are what was saved,
written by safetensors from the whole tensors. `watched`: two checkpoints of the model of tests/support/made_gpt_neox.py.
"""

import os
import pathlib
import shutil
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as multiprocessing
from safetensors.torch import save_file
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

HERE = pathlib.Path(__file__).resolve().parent / "dcp"


def numbers(name, shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(map(ord, name)))
    return torch.randn(shape, generator=generator).to(dtype)


def one():
    weights = {
        "model.layers.0.weight": numbers("a", (3, 5)),
        "model.norm.weight": numbers("b", (5,), torch.bfloat16),
        "model.transposed": numbers("c", (4, 3), torch.float16).t(),
        "model.scalar": torch.tensor(1.5, dtype=torch.float64),
        "model.empty": torch.zeros(0, 4),
        "lm_head.weight": numbers("d", (2, 5))[:, 1:4],  # a view of a larger storage
        "count": torch.arange(3),
    }
    return weights, {"model": weights, "optimizer": {"state": {"model.layers.0.weight": {"exp_avg": numbers("e", (3, 5))}},
                                                     "param_groups": [{"lr": 1e-3, "params": ["model.layers.0.weight"]}]},
                     "step": torch.tensor(7), "note": "free text"}


FOUR = {  # name: shape, type, mesh, placements
    "_orig_mod.rows": ((5, 3), torch.float32, 1, [Shard(0)]),
    "_orig_mod.columns": ((3, 6), torch.bfloat16, 1, [Shard(1)]),
    "_orig_mod.both": ((5, 7), torch.float32, 2, [Shard(0), Shard(1)]),
    "_orig_mod.twice": ((9, 2), torch.float32, 2, [Shard(0), Shard(0)]),
    "_orig_mod.middle": ((2, 5, 3), torch.float16, 2, [Replicate(), Shard(1)]),
    "_orig_mod.copied": ((4,), torch.float32, 1, [Replicate()]),
    "_orig_mod.few": ((2, 2), torch.float32, 1, [Shard(0)]),  # two processes have nothing of it
}


def process(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="4")
    dist.init_process_group("gloo")
    meshes = {1: init_device_mesh("cpu", (4,)), 2: init_device_mesh("cpu", (2, 2))}
    state = {name: distribute_tensor(numbers(name, shape, dtype), meshes[mesh], placements)
             for name, (shape, dtype, mesh, placements) in FOUR.items()}
    state["optim.state.rows.exp_avg"] = distribute_tensor(numbers("m", (5, 3)), meshes[1], [Shard(0)])
    dcp.save(state, checkpoint_id=HERE / "four")
    dist.destroy_process_group()


def watched():
    sys.path.insert(0, str(HERE.parent.parent / "support"))
    from made_gpt_neox import tensors

    for step in 100, 200:
        folder = HERE / f"watched/step{step}"
        shutil.rmtree(folder, ignore_errors=True)
        state = {"model": {name: torch.from_numpy(value) for name, value in tensors(step).items()}}
        dcp.save(state, storage_writer=dcp.FileSystemWriter(str(folder)), no_dist=True)


def main():
    watched()
    if sys.argv[1:] == ["watched"]:
        return
    for name in "one", "four":
        shutil.rmtree(HERE / name, ignore_errors=True)
    weights, state = one()
    save_file({name: value.contiguous() for name, value in weights.items()}, HERE / "one.safetensors")
    dcp.save(state, storage_writer=dcp.FileSystemWriter(str(HERE / "one")), no_dist=True)
    save_file({name.removeprefix("_orig_mod."): numbers(name, shape, dtype) for name, (shape, dtype, _, _) in FOUR.items()},
              HERE / "four.safetensors")
    multiprocessing.spawn(process, args=(29400 + os.getpid() % 500,), nprocs=4)
    print(torch.__version__, sum(file.stat().st_size for file in HERE.rglob("*") if file.is_file()), "bytes")


if __name__ == "__main__":
    sys.exit(main())
