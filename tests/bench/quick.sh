#!/usr/bin/env bash
# quick.sh BIN NAME: a bench against PyTorch with few repeats; 77 = skipped, where the peer's packages are not here.
set -eu
prefix=${ISOBAR_PREFIX:-${XDG_CACHE_HOME:-$HOME/.cache}/isobar}
peers=${ISOBAR_PEERS:-$prefix/peers-2.11.0}
[ -f "$peers/.complete" ] || { echo "skipped: no PyTorch for Python in $peers; ./isobar bench $2 brings it"; exit 77; }
words=(--quick --json)
[ "$2" != step ] || words+=(--case cpu_micro)
[ "$2" != fusion ] || words+=(--case bias_gelu)
[ "$2" != rungs ] || words+=(--preset cpu_micro --batch 1 --batch 2 --only 04-amp --only 05-eager --pairs 2)
[ "$2" != compress ] || words+=(--mbit 1000)
[ "$2" != zero ] || words+=(--preset cpu_micro --ranks 2)
[ "$2" != pipeline ] || words+=(--preset cpu_micro --ranks 2 --parts 4 --batch 4 --blocks 4)
[ "$2" != context ] || words+=(--preset cpu_micro --ranks 2)
[ "$2" != start ] || [ -d "$prefix/data/fields-72x144-v1" ] || { echo "skipped: no data set; ./isobar run 01_baseline makes it"; exit 77; }
recorded=$(dirname "$0")/results/$2.json
[ ! -f "$recorded" ] || words+=(--against "$recorded")
export OMP_WAIT_POLICY=passive  # threads that spin while others compute take minutes on a busy machine
out=$("$1/bench_$2" "${words[@]}")
python3 - "$2" "$out" "${words[@]}" <<'CHECK'
import json, sys
result = json.loads(sys.argv[2])
assert result["bench"] == sys.argv[1]
pairs = [row for row in result["rows"] if "ratio" in row]
assert pairs and all(row["ratio_min"] <= row["ratio"] <= row["ratio_max"] for row in pairs), result["rows"]
divided = [row for row in pairs if "divided" in row]
assert (sys.argv[1] in ("pipeline", "context")) == bool(divided), result["rows"]
assert all(row["divided_min"] <= row["divided"] <= row["divided_max"] for row in divided), divided
assert "--against" not in sys.argv or result["against"]["rows"] or result["against"]["only_now"], result["against"]
print(len(result["rows"]), "rows")
CHECK
