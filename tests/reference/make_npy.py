"""Makes npy/*.npy with NumPy itself: what tests/base/fields reads, and what it must refuse.

Usage: python3 tests/reference/make_npy.py
"""
from pathlib import Path

import numpy
from numpy.lib import format as npy

FOLDER = Path(__file__).parent / "npy"


def ramp(*shape, dtype="<f4"):
    """0.5, -1, 1.5, -2, ... in C order."""
    count = int(numpy.prod(shape, dtype=int))
    values = numpy.arange(1, count + 1) * 0.5 * numpy.where(numpy.arange(count) % 2, -1, 1)
    return values.reshape(shape).astype(dtype)


ARRAYS = {  # name: array, version
    "statistics": (ramp(1, 3, 1, 1), (1, 0)),
    "doubles": (ramp(2, 3, dtype="<f8"), (1, 0)),
    "version_2": (ramp(4), (2, 0)),
    "version_3": (ramp(2, 2), (3, 0)),
    "scalar": (ramp(), (1, 0)),
    "empty": (ramp(0, 5), (1, 0)),
    "refused_fortran": (numpy.asfortranarray(ramp(2, 3)), (1, 0)),
    "refused_big_endian": (ramp(4, dtype=">f4"), (1, 0)),
    "refused_integers": (numpy.arange(4), (1, 0)),
    "refused_record": (numpy.zeros(2, dtype=[("a", "<f4"), ("b", "<f4")]), (1, 0)),
    "refused_objects": (numpy.array([None, "text"], dtype=object), (1, 0)),
}


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, (array, version) in ARRAYS.items():
        with (FOLDER / f"{name}.npy").open("wb") as file:
            npy.write_array(file, array, version)


if __name__ == "__main__":
    main()
