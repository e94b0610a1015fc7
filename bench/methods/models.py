"""The small models of the table: published families' checkpoints that lie in a folder, and families that the table trains itself."""
import dataclasses
import json
import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SPLIT = 1003854  # bytes of the text before it are for training and calibration, the others are the validation text
ROWS, LENGTH = 64, 128  # of the calibration
BLOCK = 128  # ids of a block of the validation text
TRAINED_BLOCKS = 150  # of the validation of a model over bytes, where the whole text would take long and show no more


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    folder: Path | None  # None: trained here from `config`
    config: dict

    @property
    def head(self):
        """The size of its heads; of a model without any, the size that the others have."""
        heads = self.config.get("num_attention_heads")
        return self.config.get("head_dim") or (self.config["hidden_size"] // heads if heads else 16)

    @property
    def family(self):
        return self.config["model_type"]

    @property
    def reference_loss(self):
        """Its validation loss by the library that trained it, or None."""
        file = self.folder / "reference.json" if self.folder else None
        return json.loads(file.read_text(encoding="utf-8"))["validation"]["ce_nats"] if file and file.exists() else None

    def checkpoints(self):
        """The sections of a manifest that name it, or train it."""
        if self.folder:
            return {"checkpoints": {"model": str(self.folder)}}
        return {"checkpoints": {"model": "train"},
                "train": {"model": self.config, "corpus": "training", "tokenizer": "bytes",
                          "optimizer": {"adamw": {"betas": [0.9, 0.95], "weight_decay": 0.1}},
                          "lr": {"schedule": "wsd", "peak": 4e-3, "warmup": 50, "decay_steps": 80},
                          "batch": 16, "length": LENGTH, "steps": 400}}


def fixtures():
    return Path(os.environ.get("QUENCH_FIXTURES") or ROOT.parent / "shared/fixtures").resolve()


def text(folder):
    return folder.parent / "data/text/tinyshakespeare.txt"


def found(folder):
    """All models, by name: those of the folder of fixtures first."""
    there = [Model(path.parent.name, path.parent, json.loads(path.read_text(encoding="utf-8")))
             for path in sorted((folder / "models").glob("*/config.json"))]
    made = [Model(path.stem, None, json.loads(path.read_text(encoding="utf-8"))) for path in sorted((HERE / "families").glob("*.json"))]
    return {model.name: model for model in (*there, *made)}
