"""Makes recorded/bucket_sizes.csv and recorded/buffer_losses.csv anew, the measured figures of the picture pictures/study.svg:
make_study.py MACHINE, about ten minutes on 2 cores that nothing else uses. MACHINE goes into the notes: "2 cores of an AMD EPYC".
Then lessons/make_pictures.sh draws the picture. ISOBAR names another program than ./isobar.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ISOBAR = os.environ.get("ISOBAR", str(HERE.parents[1] / "isobar"))
LINKS = ((1, 50), (10, 50), (10, 2000))
SIZES_MIB = (0.02, 0.1, 0.25, 0.5, 1, 2, 4)
REPEATS, STEPS, BATCH = 5, 20, 4
LOSS_STEPS, BLOCK = 1000, 20
COMMON = ["--preset", "cpu_micro", "--ranks", "2", "--set", "amp.mode=none"]


def isobar(*words):
    done = subprocess.run([ISOBAR, *words], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def write_table(name, note, columns, rows):
    lines = ["# " + note, ",".join(columns), *(",".join(f"{value:.6g}" for value in row) for row in rows)]
    (HERE / "recorded" / name).write_text("\n".join(lines) + "\n")


def size_rows(gbit_per_s, latency_us):
    text = isobar("sweep", "10_buckets", "comm.bucket_mb=" + ",".join(map(str, SIZES_MIB)), *COMMON, "--repeats", str(REPEATS),
                  "--steps", str(STEPS), "--json", "--set", "comm.first_bucket_mb=25",
                  "--set", f"comm.link.gbit_per_s={gbit_per_s}", "--set", f"comm.link.latency_us={latency_us}")
    for size, point in zip(SIZES_MIB, json.loads(text)["points"]):
        comm = point["comm"]
        ms = [1e3 * BATCH / point[which] for which in ("samples_per_s", "max", "min")]
        yield [gbit_per_s, latency_us, size, *ms, comm["calls"], 1e-3 * comm["exposed_us"], comm["overlap"], comm["last_bucket"]]


def losses(folder, broadcast):
    isobar("run", "10_buckets", *COMMON, "--set", f"train.steps={LOSS_STEPS}", "--set", "model.buffers_mb=1",
           "--set", f"comm.broadcast_buffers={broadcast}", "--run-dir", str(folder))
    blocks = {}
    for line in map(json.loads, (folder / "rank-0000.jsonl").read_text().splitlines()):
        if line["kind"] == "step" and "loss" in line:  # not fetched in every step
            blocks.setdefault(line["step"] // BLOCK, []).append(line["loss"])
    return [sum(block) / len(block) for block in blocks.values()]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    where = f"measured {time.strftime('%Y-%m-%d')} on {sys.argv[1]}: cpu_micro in fp32, 2 ranks of 1 thread"
    (HERE / "recorded").mkdir(exist_ok=True)
    rows = [row for link in LINKS for row in size_rows(*link)]
    write_table("bucket_sizes.csv", f"{where}, {STEPS} steps, {REPEATS} runs each, median and from the least to the most",
                ["gbit_per_s", "latency_us", "bucket_mib", "median_ms", "least_ms", "most_ms", "calls", "exposed_ms", "overlap",
                 "last_bucket"], rows)
    with tempfile.TemporaryDirectory() as folder:
        kept, sent = (losses(Path(folder) / name, name) for name in ("false", "true"))
    write_table("buffer_losses.csv", f"{where}, 1 MiB of constant buffers, {LOSS_STEPS} steps from one seed, one run each; means of "
                f"{BLOCK} steps", ["step", "kept", "sent"], [[(i + 1) * BLOCK, *both] for i, both in enumerate(zip(kept, sent))])


if __name__ == "__main__":
    main()
