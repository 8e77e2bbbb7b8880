#!/usr/bin/env bash
# run.sh BIN [training | waits | CASE...]: the cases of cases.sh, all or a list of them or those named, on a real Slurm of two nodes in
# network namespaces. BIN holds the programs. 77 = skipped, with the reason, where this machine does not allow it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

skip() {
  echo "skipped: $*"
  exit 77
}

if [ "${ISOBAR_IN_CLUSTER:-}" != 1 ]; then
  [ "$(id -u)" = 0 ] || skip "network namespaces take root"
  for tool in munged slurmctld slurmd srun sbatch ip tc unshare nsenter; do
    command -v "$tool" >/dev/null || skip "there is no $tool; on Debian: apt-get install --no-install-recommends $(sed -e 's/ *#.*//' -e '/^$/d' "$here/../../cmake/setup/packages_slurm.txt" | paste -sd' ')"
  done
  unshare --net --mount --uts --pid --fork --mount-proc true 2>/dev/null || skip "this machine allows no namespaces"
  unshare --net -- ip link add probe0 type bridge 2>/dev/null || skip "this machine allows no network bridges"
  # Whatever happens, the end of this process is the end of everything in its namespaces.
  exec env ISOBAR_IN_CLUSTER=1 unshare --net --mount --pid --fork --mount-proc --kill-child=KILL -- "$here/run.sh" "$@"
fi

bin=$(cd "$1" && pwd)
shift
project=$(cd "$here/../.." && pwd)
world=$(mktemp -d "${TMPDIR:-/tmp}/isobar-slurm-XXXXXX")
# shellcheck disable=SC2317
clean_up() {
  stop_cluster "$world/slurm"
  umount /etc/hosts 2>/dev/null || true
  rm -rf --one-file-system "${world:?}" || true
}
trap clean_up EXIT
# shellcheck source=tests/slurm/cluster.sh
. "$here/cluster.sh"
# shellcheck source=tests/slurm/cases.sh
. "$here/cases.sh"
start_cluster "$world/slurm" || exit 1
prepare_data
case ${1:-all} in
  all) cases=("${training[@]}" "${waits[@]}") ;;
  training) cases=("${training[@]}") ;;
  waits) cases=("${waits[@]}") ;;
  *) cases=("$@") ;;
esac
failed=0
for name in "${cases[@]}"; do
  begin=$SECONDS
  work=$world/$name
  mkdir -p "$work"
  set +e  # in a condition the case's own -e would not count
  (set -e; cd "$work"; "case_$name") >"$world/$name.log" 2>&1
  code=$?
  set -e
  if [ $code = 0 ]; then
    echo "ok    $name ($((SECONDS - begin)) s)"
    grep '^FIGURE ' "$world/$name.log" | sed 's/^FIGURE /        /' || true
  else
    failed=$((failed + 1))
    echo "FAIL  $name"
    tail -n 60 "$world/$name.log" | sed 's/^/    /'
  fi
  on ctl scancel --user=root --quiet || true
done
exit $((failed > 0))
