"""One step of a determinism test, in a process of its own.

plan_worker.py build MODEL PLAN THREADS
plan_worker.py run MODEL PLAN OUTPUTS.npz
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import numpy as np
import plans
import references
from zoo import MODELS


def main() -> None:
    task, name, plan, last = sys.argv[1:]
    model = MODELS[name]
    if task == "build":
        pathlib.Path(plan).write_bytes(plans.build(model, int(last)))
    else:
        np.savez(last, **plans.Session(pathlib.Path(plan))(references.inputs(model, model.shapes[-1], 0)))


if __name__ == "__main__":
    main()
