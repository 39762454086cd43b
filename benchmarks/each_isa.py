"""A benchmark's models under each instruction set, each in a process of its own: TENON_ISA is read once."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable

Measure = Callable[[str, argparse.Namespace], dict[str, float]]


def run(program: str, measure: Measure, options: argparse.Namespace, more: list[str] | None = None) -> None:
    """Prints what `measure` gives for each model and set; `more`: further arguments of the processes."""
    if options.here:
        for name in options.models:
            print(json.dumps(measure(name, options)))
        return
    for name in options.models:
        for isa in options.isa:
            command = [sys.executable, program, name, "--here", "--rounds", str(options.rounds)]
            command += ["--threads", str(options.threads), *(more or [])]
            environment = os.environ | ({"TENON_ISA": isa} if isa else {})
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            numbers = json.loads(done.stdout.splitlines()[-1])
            print(f"{name} {isa or 'all'}: " + ", ".join(f"{key} {value:.3f}" for key, value in numbers.items()))
