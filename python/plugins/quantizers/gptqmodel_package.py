"""GPTQ as GPTQModel's own solver computes it: beside the native `gptq`.

The solver is handed a weight and 2/N times the Gram matrix of its input's rows; the package's loader, its model classes
and its calibration are left out.
"""

import os
import tempfile

import numpy

# The package makes a folder for downloads when it is imported, by default in /tmp, where a plugin may not write.
os.environ["HF_HOME"] = os.path.join(tempfile.gettempdir(), "huggingface")

# Here and not in the function: the package keeps frames of those who import it, and with them arrays of the host.
import torch
from gptqmodel import QuantizeConfig
from gptqmodel.quantization.gptq import GPTQ

import quench

__version__ = "0.1.0"

GAVE_UP = 999999999  # the loss that the solver reports where it has rounded without a Hessian


def config_of(settings):
    # Without a fallback the solver fails where it would round to nearest for want of samples.
    return QuantizeConfig(**{name: value for name, value in settings.items() if value is not None}, fallback=None,
                          offload_to_disk=False)


@quench.quantizer(
    needs_sequential=True, reference="Frantar et al. 2023, GPTQ, arXiv 2210.17323",
    example="{bits: 4, group_size: 128}",
    bits=quench.Integer(4, low=2, high=8, meaning="bits per code"),
    group_size=quench.Integer(128, low=-1, meaning="columns of a row that share a scale; -1: the whole row"),
    sym=quench.Boolean(True, meaning="whether the grid is symmetric around zero"),
    desc_act=quench.Boolean(False, meaning="whether to quantize columns by descending diagonal of the Hessian"),
    act_group_aware=quench.Boolean(None, meaning="whether to order groups and their columns; not set: unless desc_act"),
    static_groups=quench.Boolean(False, meaning="whether scales come from the weight before the loop"),
    mse=quench.Number(0.0, low=0, meaning="exponent of the error that chooses a clipped range; 0: the full range"),
    damp_percent=quench.Number(0.05, low=0, high=1, meaning="value added to the Hessian's diagonal, of its mean"),
    damp_auto_increment=quench.Number(0.01, low=0, high=1, meaning="increment of damp_percent per retry; 0: no retry"))
def gptqmodel_package(weight, linear, gram, rows, bits, group_size, sym, desc_act, act_group_aware, static_groups, mse,
                      damp_percent, damp_auto_increment):
    """GPTQ as GPTQModel's own solver computes it on the processor, from the rows that quench collects."""
    config = config_of({"bits": bits, "group_size": group_size, "sym": sym, "desc_act": desc_act,
                        "act_group_aware": act_group_aware, "static_groups": static_groups, "mse": mse,
                        "damp_percent": damp_percent, "damp_auto_increment": damp_auto_increment})
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    layer.weight.data = torch.tensor(weight, dtype=torch.float32)
    task = GPTQ(layer, config)
    task.quantizer.configure(perchannel=True)
    task.H, task.nsamples, task.fwd_counter = torch.tensor(2 / rows * gram, dtype=torch.float32), rows, 1
    made, scales, zeros, groups, _, loss, damp, _ = task.quantize()
    if loss == GAVE_UP:
        raise quench.Error(quench.NUMERICAL, "%s: the Hessian is not positive definite with any damping below 1"
                           % linear.name)
    made, scales, zeros, groups = (one.numpy() for one in (made, scales, zeros, groups))
    by_column = scales[:, groups], zeros[:, groups]
    codes = numpy.rint(made / by_column[0] + by_column[1])
    grids = scales.size * (16 + (0 if sym else bits))
    order = 32 * weight.shape[1] if desc_act and not static_groups and scales.shape[1] > 1 else 0
    return quench.Quantized(made, bits + (grids + order) / weight.size, codes=codes, scales=scales, zeros=zeros,
                            g_idx=groups, numbers={"loss": loss, "damp": damp})
