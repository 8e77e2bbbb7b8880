"""A lesson that trains with the solution of its exercise records the same losses as with our own part.

Usage: test_mine.py ISOBAR_CLI LESSON. The table [mine] of its mistakes.toml has `set`, settings of both runs beside those of exercise.toml;
`relative`, by which losses may differ where the operations are not the same (default: not at all); `figures`, what is compared where a step has no loss.
Exit code 77 where the lesson's device is not here.
"""
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent


def run(words, folder, code=0):
    environment = {**os.environ, "ISOBAR_MY": str(folder / "my"), "ISOBAR_HOME": str(HOME)}
    ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    if ended.returncode != code:
        sys.exit(f"{' '.join(words)}: exit code {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout


def lines_of(folder, kind):
    out = []
    for file in sorted(folder.glob("rank-*.jsonl")):
        if not file.name.endswith("spans.jsonl"):
            out += [line for line in map(json.loads, file.read_text().splitlines()) if line["kind"] == kind]
    return out


def compare(lesson, figure, steps, most):
    """The values of ours, when yours are the same."""
    ours, yours = ([line[figure] for line in lines if figure in line] for lines in steps)
    if len(ours) < 12 or len(ours) != len(yours):
        sys.exit(f"{figure}: {len(ours)} and {len(yours)} steps")
    worst = max(abs(a - b) / (abs(a) or 1) for a, b in zip(ours, yours))
    print(f"{lesson}: {len(ours)} values of {figure}, the largest relative difference is {worst:.3g}")
    if worst > most:
        sys.exit(f"at most {most} was wanted:\n{ours}\n{yours}")
    return ours


def main():
    program, lesson = os.path.abspath(sys.argv[1]), sys.argv[2]
    about = tomllib.loads((HOME / "lessons" / lesson / "lesson.toml").read_text())
    stands_alone = about.get("stands_alone", False)
    if about.get("needs") == "cuda" and not os.path.exists("/proc/driver/nvidia"):
        sys.exit(77)
    exercise = HOME / "lessons" / lesson / "exercise"
    mine = tomllib.loads((exercise / "mistakes.toml").read_text()).get("mine", {})
    with tempfile.TemporaryDirectory(prefix="isobar-test-") as name:
        folder = Path(name)
        run([program, "exercise", lesson], folder)
        (own,) = (folder / "my").glob("*.cpp")
        own.write_text(json.loads(run([program, "check", lesson, "--solution", "--yes", "--json"], folder))["solution"])
        words = [program, "run", lesson, "--set", "train.steps=12"]
        if not stands_alone:
            words += ["--preset", "cpu_micro", "--set", "train.report_every=1"]
        for setting in mine.get("set", []):
            words += ["--set", setting]
        words += tomllib.loads((exercise / "exercise.toml").read_text()).get("run", "").split()
        run(words + ["--run-dir", "ours"], folder)
        run(words + ["--run-dir", "yours", "--mine"], folder)
        heads = [[line.get("yours", "") for line in lines_of(folder / run_of, "run")] for run_of in ("ours", "yours")]
        if any(heads[0]) or set(heads[1]) != {f"my/{own.name}"}:
            sys.exit(f"marked otherwise than by the learner's file: {heads}")
        steps = [lines_of(folder / run_of, "step") for run_of in ("ours", "yours")]
        values = [compare(lesson, figure, steps, mine.get("relative", 0)) for figure in mine.get("figures", ["loss"])]
        if len(set(values[0])) < 6:
            sys.exit(f"this training does not train: {values[0]}")


main()
