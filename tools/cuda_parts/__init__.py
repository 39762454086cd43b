"""The parts of tools/cuda_test: what each runs, how it is read, and what it says at the end."""
