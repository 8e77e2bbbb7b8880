"""Opens the TensorBoard log of an Isobar run with TensorBoard's own reader and lists what it finds.

Usage: python check_tensorboard.py RUN_FOLDER      (needs the package tensorboard)
"""
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

SCALARS = ["Loss/train", "Loss/valid", "RMSE(u10m)/valid", "Learning Rate", "Avg iters per sec", "Avg samples per sec"]
IMAGE = "Visualization, t2m"


def main():
    log = EventAccumulator(str(Path(sys.argv[1]) / "tb"))
    log.Reload()
    missing = [tag for tag in SCALARS if tag not in log.Tags()["scalars"]]
    missing += [] if IMAGE in log.Tags()["images"] else [IMAGE]
    for tag in log.Tags()["scalars"]:
        print(f"{tag:22}", ", ".join(f"{event.step}: {event.value:.4g}" for event in log.Scalars(tag)))
    print("missing:", missing or "nothing")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
