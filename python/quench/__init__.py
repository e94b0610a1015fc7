"""Plugins for quench in Python: quantizers, metrics, averaging schemes and model families in a .py file.

    import quench

    @quench.quantizer(bits=4)
    def my_rounding(weight, bits):
        scale = abs(weight).max(1, keepdims=True) / (2 ** (bits - 1) - 1)
        return (weight / scale).round() * scale

quench.records(folder) reads what a run measured, quench.load(folder) analyses it (quench.analysis). Nothing is imported here
but the standard library.
"""

from .declare import (HIGHER_IS_BETTER, LOWER_IS_BETTER, NO_DIRECTION, Block, Carry, Group, Linear, Quantized, Tensor,
                      Value, averaging, metric, model, quantizer)
from .host import cancelled, check_cancelled, log, progress, random, read_file, threads
from .parameters import (REQUIRED, Boolean, Choice, Corpus, Integer, Integers, Number, Numbers, Path, Text,
                         Texts)
from .run_records import NewerVersion, data_frame
from .run_records import read_run as records
from .status import (CANCELLED, DATA_LOSS, END, FAILED_PRECONDITION, INTERNAL, INVALID_ARGUMENT, NOT_FOUND, NUMERICAL,
                     OK, RESOURCE_EXHAUSTED, UNAVAILABLE, UNSUPPORTED, Error)

__version__ = "0.1.0"


def load(folder):
    """The run in a folder, for analysis: quench.analysis.Run. Needs Python 3.10 with numpy and scipy; frames need pandas."""
    from .analysis import Run  # noqa: PLC0415

    return Run(folder)
