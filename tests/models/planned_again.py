#!/usr/bin/env python3
"""Loads a plan on the device that TENON_DEVICE names, and runs it: `planned_again.py PLAN [INPUTS.npz OUTPUTS.npz]`."""

import pathlib
import sys

import numpy as np
import plans


def main() -> None:
    session = plans.Session(pathlib.Path(sys.argv[1]))
    print(session.engine.num_layers)
    if len(sys.argv) > 2:
        with np.load(sys.argv[2]) as feed:
            np.savez(sys.argv[3], **session(dict(feed)))


if __name__ == "__main__":
    main()
