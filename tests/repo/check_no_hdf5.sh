#!/usr/bin/env bash
# Programs that read foreign year files do so through isobar-h5: the HDF5 library is not in their process.
set -eu
for program in "$@"; do
  if ldd "$program" | grep hdf5 || grep -q H5Fopen "$program"; then
    echo "$program holds the HDF5 library"
    exit 1
  fi
done
