"""check_binaries.py must find each fault in a program that was built to have it, and none in a sound one."""
import subprocess
import sys
import tempfile
from pathlib import Path

CHECK = Path(__file__).parent / "check_binaries.py"
SOURCE = """#include <stdio.h>
#include <string.h>
int main(int count, char** words) {
  char copy[20];
  strcpy(copy, words[count - 1]);
  puts(copy);
  return 0;
}
"""
SOUND = ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-fstack-protector-strong", "-fPIE", "-pie",
         "-Wl,-z,relro,-z,now,-z,noexecstack"]
CASES = [  # flags after the sound ones, what is said
    (["-fno-PIE", "-no-pie"], "not position independent"),
    (["-Wl,-z,norelro"], "no RELRO"),
    (["-Wl,-z,execstack"], "the stack is executable"),
    (["-Wl,-rpath,/nowhere/lib"], "RUNPATH '/nowhere/lib' is outside of the prefix"),
    (["-Wl,-rpath,/usr/lib/../../tmp"], "RUNPATH '/usr/lib/../../tmp' is outside of the prefix"),
    (["-Wl,-rpath,relative"], "RUNPATH 'relative' is outside of the prefix"),
    (["-Wl,-z,lazy"], "bound lazily: RELRO is only partial"),
    (["-fno-stack-protector"], "no stack protector"),
    (["-U_FORTIFY_SOURCE"], "no fortified function"),
]


def build(folder, name, flags):
    (folder / "a.c").write_text(SOURCE)
    program = folder / name
    subprocess.run(["cc", *SOUND, *flags, str(folder / "a.c"), "-o", str(program)], check=True, timeout=60)
    return program


def check(*arguments):
    done = subprocess.run([sys.executable, str(CHECK), *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)
    return done.returncode, done.stdout


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound = build(folder, "sound", ["-Wl,-rpath,/opt/prefix/lib:$ORIGIN/lib:/usr/lib"])
        if (answer := check("--hardened", "--prefix", "/opt/prefix", sound))[0] != 0:
            failures.append(f"a sound program: {answer}")
        if check(build(folder, "plain", ["-Wl,-z,lazy", "-fno-stack-protector"]))[0] != 0:
            failures.append("a plain program is asked for what only a hardened one has")
        for number, (flags, said) in enumerate(CASES):
            code, text = check("--hardened", "--prefix", "/opt/prefix", build(folder, f"bad{number}", flags))
            if code != 1 or said not in text or not text.endswith("1 programs, 1 violations\n"):
                failures.append(f"{flags}: {code} {text}")
        for place in (folder / "a.c", folder / "missing"):
            if check(place)[0] != 1:
                failures.append(f"{place.name} is no program")
        (folder / "empty").mkdir()
        if check(folder / "empty")[0] != 2:
            failures.append("an empty folder has nothing to check")
    for failure in failures:
        print(failure)
    print(f"{len(CASES) + 5} cases, {len(failures)} failures")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
