"""The steps in the order of what they are worth, each with what it takes on an H200 by estimate and the most that it may take."""
from dataclasses import dataclass, replace
from typing import Callable

import plateau
import right
import speed


@dataclass(frozen=True)
class Step:
    name: str
    says: str
    estimate: float  # seconds on an H200
    limit: float
    work: Callable
    needs: float = 0.5  # the share of the estimate that must be left for it to begin

    def least(self):
        return self.estimate * self.needs


def all_steps(small):
    """`small`: shapes that a processor takes in seconds."""
    shapes = [("tiny", False, 15, 60)] if small else [("160m", False, 15, 60), ("1b", False, 30, 90)]
    large = [] if small else [("7b", True, 75, 150)]

    def table(name, once, estimate, limit):
        again = "the first pass" if once else "the first pass and a second one"
        return Step(f"table.{name}", f"GPTQ at 4 bits of the {name} shape: {again}, peak memory beside the plan's", estimate, limit, speed.passes(name, once))

    trainings = [Step(f"training.{precision}", f"tokens a second of the 160M shape in {precision}, PyTorch with transformers beside it",
                      estimate, 90, speed.trainings(precision))
                 for precision, estimate in (("float32", 30), ("tf32", 2), ("bfloat16", 30))]
    steps = [
        Step("doctor", "the GPU, its driver, and what is missing", 5, 30, right.doctor),
        Step("ceiling", "products and copies that PyTorch reaches: what floors are made of", 12, 60, right.ceiling),
        Step("kernels", "kernels' bits beside those of their loops", 15, 90, right.kernels),
        Step("bits", "a training and three quantizers, twice on the GPU, once with its work recorded, once on the processor", 45, 120, right.bits),
        Step("contract", "the contract's tests: each way of a run twice to the bit, and beside the processor within bounds", 90, 150, right.contract),
        *(table(*each) for each in shapes),
        *trainings,
        Step("recorded", "the pass and the training in bfloat16 once more, with their work recorded as CUDA graphs", 15, 60, speed.recorded(f"table.{shapes[0][0]}")),
        *(table(*each) for each in large),
        Step("profile.pass", "kernels of the pass that is farthest from its floor", 15, 60, speed.profile_pass),
        Step("profile.training", "kernels of the training that is farthest from PyTorch", 15, 60, speed.profile_training),
        Step("families", "what five families are asked in host memory, on the GPU", 25, 90, right.families),
        Step("plateau", "one seed of bench/gpu/plateau.yaml: ten million parameters, decays at three budgets", 110, 400, plateau.plateau, 0.9),
    ]
    return [replace(step, limit=900) for step in steps] if small else steps  # a processor with other work has no such limits
