"""Checkpoints below a folder, and whether what was written last of each is there.

What a training writes last tells that the rest is there: the index of shards, the last byte that a safetensors header counts, the
end record of a zip archive, `.metadata` of a distributed checkpoint.
"""

import json
import os
import re
import struct
from dataclasses import dataclass

MOST_HEADER = 100 << 20
_SKIPPED = (".", "tmp-", "optimizer")  # begin names that writers use until a folder is whole
_ARCHIVES = (".pth", ".pt")
_PARTS_OF_TRAINING = re.compile(r"optimizer|scheduler|rng_state|training_args|optim")  # archives beside weights


@dataclass(frozen=True)
class Found:
    """A checkpoint, or what may become one."""

    parent: str  # absolute
    name: str  # of a folder or a file in it
    files: tuple  # (name, size, modification time in ns) of each file
    lacks: str  # what it waits for, "" if all is there

    @property
    def path(self):
        return os.path.join(self.parent, self.name)

    @property
    def written(self):
        return max(time for _, _, time in self.files)


def find(folders, has_config):
    """What there is below these folders, the oldest first. `has_config`: checkpoints need no config.json of their own."""
    out = []
    for folder in folders:
        for place, below, names in os.walk(folder):
            below[:] = sorted(name for name in below if not name.startswith(_SKIPPED))
            parent, name = os.path.split(place)
            kind = _kind(names)
            if kind:
                below[:] = []
                if os.path.samefile(place, folder):  # the folder itself is one: its parent holds it
                    parent, name = os.path.split(os.path.abspath(folder))
                add(out, parent, name, place, sorted(names), kind, has_config)
                continue
            for file in sorted(names):
                if file.endswith(_ARCHIVES) and not file.startswith(_SKIPPED) and not _PARTS_OF_TRAINING.search(file):
                    add(out, place, file, place, [file], _archive, True)
    return sorted(out, key=lambda one: (one.written, one.path))


def add(out, parent, name, place, names, kind, has_config):
    """A file that vanished meanwhile makes it no checkpoint: the trainer removes old ones."""
    try:
        files = tuple((file, stat.st_size, stat.st_mtime_ns) for file in names for stat in [os.stat(os.path.join(place, file))])
        lacks = kind(place, dict((file, size) for file, size, _ in files))
        if not lacks and not has_config and "config.json" not in names:
            lacks = "config.json"
    except FileNotFoundError:
        return
    except (OSError, ValueError) as failure:
        lacks = str(failure)
    out.append(Found(os.path.abspath(parent), name, files, lacks))


def _kind(names):
    """The function that says what a folder of this kind lacks; None if it is no checkpoint."""
    names = set(names)
    if ".metadata" in names or any(name.endswith(".distcp") for name in names):
        return _distributed
    if any(name.startswith("model") and (name.endswith(".safetensors") or name.endswith(".safetensors.index.json"))
           for name in names):
        return _safetensors
    if any(name.startswith("pytorch_model") and (name.endswith(".bin") or name.endswith(".bin.index.json")) for name in names):
        return _torch
    return None


def _distributed(place, sizes):
    return "" if sizes.get(".metadata") else ".metadata"


def _safetensors(place, sizes):
    return _sharded(place, sizes, "model.safetensors", _cut_safetensors)


def _torch(place, sizes):
    return _sharded(place, sizes, "pytorch_model.bin", _cut_archive)


def _sharded(place, sizes, single, cut):
    index = single + ".index.json"
    if single in sizes:
        shards = [single]
    elif index in sizes:
        with open(os.path.join(place, index), encoding="utf-8") as file:
            listed = json.load(file)  # half a file is no JSON: a ValueError
        weights = listed.get("weight_map") if isinstance(listed, dict) else None
        if not isinstance(weights, dict):
            return "a weight_map in " + index
        shards = sorted(set(map(str, weights.values())))
    else:
        return index
    for shard in shards:
        if shard not in sizes:
            return shard
        if cut(os.path.join(place, shard), sizes[shard]):
            return "the end of " + shard
    return ""


def _archive(place, sizes):
    (name, size), = sizes.items()
    return "the end of " + name if _cut_archive(os.path.join(place, name), size) else ""


def _cut_archive(path, size):
    """Whether a file that torch.save writes has no end record yet."""
    if size < 22:
        return True
    with open(path, "rb") as file:
        file.seek(size - 22)
        return file.read(4) != b"PK\5\6"


def _cut_safetensors(path, size):
    """Whether a file is shorter than its header says."""
    with open(path, "rb") as file:
        head = file.read(8)
        if len(head) < 8:
            return True
        bytes_of_header = struct.unpack("<Q", head)[0]
        if bytes_of_header > min(size - 8, MOST_HEADER):
            return True
        header = json.loads(file.read(bytes_of_header))
    end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
    return size < 8 + bytes_of_header + end


def lines_of(found):
    """{(parent, shape): checkpoints by number}: what differs in one number is one trajectory, a branch of the run."""
    lines = {}
    for one in found:
        lines.setdefault((one.parent, shape_of(one.name)), []).append(one)
    for line in lines.values():
        line.sort(key=lambda one: (number_of(one.name), one.written, one.name))
    return lines


def shape_of(name):
    """"checkpoint-#" of "checkpoint-500"."""
    return re.sub(r"\d+", "#", name)


def number_of(name):
    """The step of a name with one number; of others the number behind "step", else the first."""
    match = re.search(r"step[-_.]?(\d+)", name, re.IGNORECASE) or re.search(r"(\d+)", name)
    return int(match[1]) if match else -1


def pattern_of(name):
    """"checkpoint-{step}" of "checkpoint-500", for names that do not say themselves what their one number is; else None."""
    if re.search(r"(step|tokens?)[-_.]?\d", name, re.IGNORECASE) or len(re.findall(r"\d+", name)) != 1 or re.search(r"[{}]", name):
        return None
    return re.sub(r"\d+", "{step}", name)


def branch_of(name):
    """"checkpoint" of "checkpoint-500"."""
    return re.sub(r"[^A-Za-z0-9]+", "-", re.sub(r"\d+", "", os.path.splitext(name)[0])).strip("-") or "checkpoints"
