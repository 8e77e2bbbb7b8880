"""The CUDA sources as the emulation compiles them: `__shared__` becomes memory that the emulation hands out.

Usage: derive.py FROM TO [MISTAKE]. MISTAKE is one of those below, which tests must find: it is made in the copy, so that
the copy is otherwise what the kernel is today. Exits with 1, and says so, where the source no longer has what is changed.
"""
import re
import sys
from pathlib import Path

SHARED = re.compile(r"__shared__ (\w+) (\w+)((?:\[[^;]*?\]\s*)*);", re.S)

# Name: what stands in the source once, and what stands there instead.
MISTAKES = {
    # gradient_norm
    "one_result_for_two_blocks": ("job.scratch[2 * blockIdx.x] =", "job.scratch[blockIdx.x / 2 * 4] ="),
    "unwritten": ("if (threadIdx.x % 32 == 0) part", "if (threadIdx.x % 64 == 0) part"),
    "ended_lane": ("  const Sums sums = block_sums({squares", "  if (threadIdx.x == 37) return;\n  const Sums sums = block_sums({squares"),
    "waits_in_vain": ("  mine = {warp_sum(", "  if (threadIdx.x % 2 == 0) __syncthreads();\n  mine = {warp_sum("),
    # count_nonfinite
    "misaligned": ("(4 - misplaced) % 4", "(5 - misplaced) % 4"),
    "not_atomic": ("atomicAdd(counter, static_cast<unsigned long long>(in_warp))", "*counter += in_warp"),
    # adam
    "no_barrier": ("  __syncthreads();\n  const Rates rates", "  const Rates rates"),
    "one_beyond": ("if (behind >= job.n) return;", "if (behind > job.n) return;"),
}


def derived(text):
    def handed_out(match):
        value, name, extents = match.groups()
        lines = "\n" * match[0].count("\n")  # numbers of the lines behind stay
        return (f"static char declared_{name} = 0; using shared_{name} = {value}{' '.join(extents.split())}; "
                f'auto& {name} = emulated::shared<shared_{name}>(&declared_{name}, "{name}");{lines}')

    return SHARED.sub(handed_out, text)


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    text = source.read_text()
    for mistake in sys.argv[3:]:
        right, wrong = MISTAKES[mistake]
        if text.count(right) != 1:
            sys.exit(f"{source}: the mistake {mistake} cannot be made: {right!r} stands there {text.count(right)} times; tell derive.py what does")
        text = text.replace(right, wrong)
    text = derived(text)
    if "__shared__" in text:
        sys.exit(f"{source}: a declaration with __shared__ that derive.py does not understand")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f'#line 1 "{source}"\n{text}')


if __name__ == "__main__":
    main()
