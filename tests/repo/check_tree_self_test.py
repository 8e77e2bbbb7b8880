"""Each rule of check_tree.py must be able to fail: a tree is made that breaks one rule at a time."""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_tree  # noqa: E402

PAGE = "// Run: a\n// Watch: b\n// Next: c\n" + "".join(f"// ---- {b} ----\n" for b in check_tree.BANNERS) + "\n" * 60
SHEET = 'title = "t"\nprevious = ""\ndiff_budget = 0\n'
GOOD = {
    "engine/base/core/a.h": "#pragma once\n",
    "engine/training/model/a.cpp": '#include "core/a.h"\n#include <ATen/core/Tensor.h>\n',
    "engine/training/train/a.cpp": '#include "model/a.h"\nnamespace {\nstruct Own {\n};\n}  // namespace\nstruct A::Own {\n};\n',
    "engine/training/model/own.cpp": "namespace {\nstruct Own {\n};\n}  // namespace\nstruct Own;\n",
    "engine/base/config/a.cpp": '#include "core/a.h"\n',
    "engine/training/cuda/a.cpp": '#include <cuda_runtime_api.h>\n#include <c10/cuda/CUDAStream.h>\n',
    "engine/training/kernels/a.cu": '#include <cuda_runtime.h>\n#include "cuda/a.h"\n',
    "engine/training/device/cuda_plugin.cpp": '#include <c10/cuda/CUDAStream.h>\n#include "device/cuda_plugin.h"\n',
    "lessons/01_one/main.cpp": PAGE + '#include "01_one/parts/a.h"\n',
    "lessons/01_one/parts/a.cpp": '#include "01_one/parts/a.h"\n#include "core/a.h"\n#include "model/a.h"\n',
    "lessons/01_one/view/a.cpp": '#include "01_one/view/a.h"\n#include "core/a.h"\n',
    "lessons/01_one/lesson.toml": SHEET,
}
BAD = [
    ("left includes right", {"engine/base/core/a.h": '#include "model/a.h"\n'}),
    ("equals include each other", {"engine/base/config/a.cpp": '#include "record/a.h"\n', "engine/base/record/a.h": ""}),
    ("a reader includes a trainer", {"engine/reading/cli/a.h": '#include "model/a.h"\n'}),
    ("a trainer includes a reader", {"engine/reading/analyse/a.h": "", "engine/training/run/a.h": '#include "analyse/a.h"\n'}),
    ("a folder outside of the table", {"engine/base/misc/a.h": '#include "core/a.h"\n'}),
    ("torch in a torch-free folder", {"engine/base/config/a.cpp": "#include <ATen/core/Tensor.h>\n"}),
    ("torch in a header of the plugin", {"engine/training/cuda/b.h": "#include <ATen/core/Tensor.h>\n"}),
    ("torch in CUDA code", {"engine/training/device/a.cu": "#include <ATen/core/Tensor.h>\n"}),
    ("CUDA outside of the plugin", {"engine/training/device/a.cpp": "#include <cuda_runtime_api.h>\n"}),
    ("torch/torch.h in a header", {"engine/training/model/b.h": "#include <torch/torch.h>\n"}),
    ("the window includes a trainer", {"gui/a.cpp": '#include "model/a.h"\n'}),
    ("a widget includes a panel", {"gui/widgets/a.cpp": '#include "panels/a.h"\n'}),
    ("a panel includes what puts the window together", {"gui/app.h": "", "gui/panels/a.cpp": '#include "app.h"\n'}),
    ("a long file", {"engine/base/core/a.h": "\n" * 401}),
    ("a long line", {"engine/base/core/a.h": "//" + "x" * 118 + "\n"}),
    ("a long script", {"gui/tab/page/a.js": "\n" * 401}),
    ("a long line of a script", {"gui/tab/page/a.js": "//" + "x" * 118 + "\n"}),
    ("a long line of a style", {"gui/tab/page/a.css": "a" * 120 + "\n"}),
    ("unfinished work in a script", {"gui/tab/page/a.js": "// TODO\n"}),
    ("a tab includes the state", {"gui/state/a.h": "", "gui/tab/a.h": '#include "state/a.h"\n'}),
    ("a long function", {"engine/base/core/a.cpp": "void f() {\n" + "  g();\n" * 60 + "}\n"}),
    ("a mark of unfinished work", {"engine/base/core/a.h": "// TODO\n"}),
    ("a shell", {"engine/base/core/a.cpp": 'int x = system("ls");\n'}),
    ("a short page", {"lessons/01_one/main.cpp": PAGE[:-30]}),
    ("banners out of order", {"lessons/01_one/main.cpp": PAGE.replace("Data", "Tata")}),
    ("a header line missing", {"lessons/01_one/main.cpp": PAGE.replace("// Watch", "// See")}),
    ("a lesson that is not there", {"lessons/01_one/main.cpp": PAGE.replace("Next: c", "Next: 02_two")}),
    ("a lesson that is not there, in a text", {"lessons/01_one/README.md": "then 02_two\n"}),
    ("a removal that is in no table", {"engine/base/core/a.cpp": "void f() { fs::remove(x); }\n"}),
    ("a removal that went", {"tests/repo/removals.txt": "engine/base/core/a.cpp 1 b\n"}),
    ("two types of one name", {"engine/base/core/a.h": "struct Arrival {\n};\n", "engine/training/train/b.h": "class Arrival final : public B {\n};\n"}),
    ("a circle of files", {"engine/base/core/b.h": '#include "core/c.h"\n', "engine/base/core/c.h": "",
                           "engine/base/core/c.cpp": '#include "core/b.h"\n'}),
    ("a class of many functions", {"engine/base/core/b.h": "class B {\n public:\n" + "".join(f"  int f{i}() const;\n" for i in range(16)) + "};\n"}),
    ("a struct of many functions", {"engine/base/core/b.h": "struct B {\n" + "".join(f"  int f{i}() const;\n" for i in range(16)) + "};\n"}),
    ("a class of many members", {"engine/base/core/b.h": "class B {\n private:\n" + "".join(f"  int m{i}_ = 0;\n" for i in range(21)) + "};\n"}),
    ("a lesson's name in the engine", {"engine/base/core/b.h": "// as 01_one does\n"}),
    ("a lesson's name in the window", {"gui/a.cpp": 'auto lesson = "01_one";\n'}),
    ("a view that includes a page's part", {"lessons/01_one/view/b.cpp": '#include "01_one/parts/a.h"\n'}),
    ("a view that includes a trainer", {"lessons/01_one/view/b.cpp": '#include "model/a.h"\n'}),
    ("another lesson's part", {"lessons/02_two/parts/a.h": '#include "01_one/parts/a.h"\n'}),
    ("a part that includes the window", {"lessons/01_one/parts/b.h": '#include "gui/a.h"\n'}),
    ("a part that includes a reader", {"engine/reading/analyse/a.h": "", "lessons/01_one/parts/b.h": '#include "analyse/a.h"\n'}),
    ("a class on the page", {"lessons/01_one/main.cpp": PAGE + "class Trainer {};\n"}),
    ("over the diff budget", {"lessons/02_two/main.cpp": PAGE + "int x;\n",
                              "lessons/02_two/lesson.toml": SHEET.replace('""', '"01_one"')}),
]


def count(files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {**GOOD, **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return len(list(check_tree.violations(root)))


def main():
    failures = [] if count({}) == 0 else ["the good tree is refused"]
    failures += [f"not noticed: {name}" for name, files in BAD if count(files) != 1]
    print("\n".join(failures) or f"{len(BAD)} rules can fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
