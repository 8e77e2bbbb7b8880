"""NumPy reads what Isobar wrote: check_npy.py TEST_FIELDS has it write arrays and looks at them.

Exits with 77, which ctest shows as skipped, where NumPy is not installed.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
except ImportError:
    print("skipped: Python has no NumPy here")
    sys.exit(77)

SHAPES = {"statistics": (1, 3, 1, 1), "vector": (5,), "matrix": (2, 3), "scalar": (), "empty": (0, 7)}


def main():
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.argv[1], "arrays for NumPy"], env={**os.environ, "ISOBAR_NPY_FOLDER": name}, check=True,
                       timeout=120, stdout=subprocess.DEVNULL)
        for stem, shape in SHAPES.items():
            array = numpy.load(Path(name) / f"{stem}.npy", allow_pickle=False)
            wanted = (numpy.arange(array.size, dtype="<f4") * numpy.float32(0.25) - 1).reshape(shape)
            assert array.shape == shape and array.dtype == numpy.dtype("<f4"), (stem, array.shape, array.dtype)
            assert array.flags.c_contiguous and array.tobytes() == wanted.tobytes(), stem
    print(f"NumPy {numpy.__version__} reads {len(SHAPES)} arrays")


if __name__ == "__main__":
    main()
