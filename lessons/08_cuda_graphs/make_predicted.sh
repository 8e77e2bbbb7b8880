#!/usr/bin/env bash
# Makes recorded/predicted-h200/ anew, from the formulas: the graph and single launches, for a full batch, one sample, and a small model.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
isobar=${ISOBAR:-$here/../../isobar}
to=$here/recorded/predicted-h200
rm -rf "$to"
predict() {
  local name=$1
  shift
  "$isobar" predict 08_cuda_graphs --device H200 "$@" --run-dir "$to/$name"
}
predict batch-16-graph
predict batch-16-launched --set graph.enabled=false
predict batch-1-graph --set train.global_batch=1
predict batch-1-launched --set train.global_batch=1 --set graph.enabled=false
predict cpu_tiny-graph --preset cpu_tiny
predict cpu_tiny-launched --preset cpu_tiny --set graph.enabled=false
