"""Each rule of check_cuda_binary.py fails on facts that break it, and on them alone; and the reader of images on files that are none."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_cuda_binary import ARCHITECTURES, RULES, violations  # noqa: E402

NAMES = ["adam_kernel<4>", "adam_kernel<1>", "backward_kernel<Erf, float, 4>", "backward_kernel<Erf, float, 1>", "forward_kernel<Tanh, __half, 8>",
         "forward_kernel<Tanh, __half, 1>", "finish_column_sums_kernel(x)", "count_nonfinite_kernel(x)", "piece_kernel<4>(x)", "piece_kernel<1>(x)",
         "finish_kernel(x)", "backward_kernel<float, 4>(HeadLossBackward)", "forward_kernel<float, 4>(HeadLossForward)",
         "forward_kernel<float, 1>(HeadLossForward)", "fields_kernel<Raw, float, 4>", "fields_kernel<Raw, __half, 4>",
         "fields_kernel<PackedI16, float, 4>", "fields_kernel<PackedF16, __half, 4>", "fields_kernel<Raw, float, 1>",
         "forward_kernel<float, 3>(ResidualNormForward)", "backward_kernel<float, 3>(ResidualNormBackward)",
         "backward_kernel<float, 8>(ResidualNormBackward)", "residual_norm_rows::column_kernel<float>"]


def facts(change=lambda fact: fact):
    good = {"loads 16 bytes": True, "stores 16 bytes": True, "local": False}
    return [fact for a in ARCHITECTURES for name in NAMES if (fact := change((a, name, 24, 0, good)))]


def broken(**changed):
    """Those of adam_kernel<4> on sm_90 are changed."""
    def change(fact):
        architecture, name, registers, stack, does = fact
        if (architecture, name) != (90, "adam_kernel<4>"):
            return fact
        return (architecture, name, changed.get("registers", registers), changed.get("stack", stack), {**does, **changed.get("does", {})})
    return facts(change)


def main():
    assert len(NAMES) == len(RULES), "a rule has no kernel here"
    assert list(violations(facts(), True)) == [], list(violations(facts(), True))
    cases = [
        (broken(registers=65), True, "65 registers, at most 64"),
        (broken(stack=16), True, "16 bytes of a thread's own memory"),
        (broken(does={"local": True}), True, "a thread's own memory"),
        (broken(does={"loads 16 bytes": False}), True, "no load of 16 bytes"),
        (broken(does={"stores 16 bytes": False}), True, "no store of 16 bytes"),
        (facts(lambda fact: None if fact[:2] == (80, "adam_kernel<4>") else fact), True, "sm_80 adam_kernel<4>: it is not there"),
        (facts(lambda fact: None if fact[1] == "adam_kernel<1>" else fact), True, "is about no kernel: adam_kernel<1>"),
        (facts() + [(a, "new_kernel", 1, 0, {"local": False}) for a in ARCHITECTURES], True, "no rule of check_cuda_binary.py is about it"),
        (facts(), False, "there is no PTX"),
    ]
    for given, ptx, wanted in cases:
        found = list(violations(given, ptx))
        assert found and all(wanted in one for one in found), (wanted, found)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\x7fELF\x02\x01" + bytes(200))
        file.flush()
        done = subprocess.run([sys.executable, str(Path(__file__).with_name("check_cuda_binary.py")), file.name], capture_output=True, text=True)
        assert done.returncode == 2 and "no image of CUDA" in done.stdout, done
    print(f"{len(cases)} mistakes are found")


if __name__ == "__main__":
    main()
