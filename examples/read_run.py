"""Reads a run folder with Python's standard library alone: losses, and samples a second of all ranks.

Usage: read_run.py RUN, such as runs/01_baseline-20261121-010208-7295. The format: docs/architecture.md, "Formats".
"""
import json
import sys
from pathlib import Path


def events(path):
    """The events of one rank. The last line is left out while the run still writes it."""
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)  # numbers that are not finite are the strings "nan", "inf" and "-inf"


def main():
    ranks = [list(events(path)) for path in sorted(Path(sys.argv[1]).glob("rank-*.jsonl"))]
    if not ranks:
        sys.exit(f"{sys.argv[1]} holds no rank-NNNN.jsonl")
    for event in ranks[0]:
        if event["kind"] == "step" and "loss" in event:
            print(f"step {event['step']:6}  train loss {float(event['loss']):.4f}")
        elif event["kind"] == "eval":
            print(f"step {event['step']:6}  valid loss {float(event['loss']):.4f}")
    steps = [[event for event in rank if event["kind"] == "step"] for rank in ranks]
    if len(steps[0]) > 1:
        seconds = (steps[0][-1]["t_us"] - steps[0][0]["t_us"]) / 1e6  # t_us: when the step ended
        print(f"{sum(step['samples'] for rank in steps for step in rank[1:]) / seconds:.1f} samples/s after the first step")
    if ranks[0][-1]["kind"] != "end":
        print("the run has not ended, or died")


if __name__ == "__main__":
    main()
