# Cases of run.sh: what `submit` promises, on a real Slurm. Each runs in a folder of its own with set -e.
# shellcheck shell=bash
training=(trains_over_two_nodes without_srun_alone lost_rank_is_named clocks_may_differ warned_goes_on_bit_for_bit)
waits=(slow_link_is_seen scale_over_jobs model_over_two_nodes stages_over_two_nodes tokens_over_two_nodes all_axes_over_two_nodes
  ensembles_over_two_nodes cancel_ends_for_good warned_at_any_moment
  lost_node_goes_on_elsewhere time_limit_goes_on)

prepare_data() {
  export ISOBAR_PREFIX=$world/prefix
  "$bin/make_fields" --grid 48x96 --samples 200 --out "$world/data" >/dev/null
}

isobar() { on ctl timeout 300 "$bin/isobar-cli" "$@"; }

# submit OPTION...: two ranks on two nodes (or $nodes), as much the same each time as possible. Sets job.
submit() {
  isobar submit 06_ddp --nodes "${nodes:-2}" --preset cpu_micro --run-dir run --set "data.root=$world/data" --set amp.mode=none \
    --set run.threads=1 --set comm.probe=false --set comm.timeout_s=20 --set train.report_every=1 --set run.flush_ms=10 "$@" >submitted
  cat submitted
  job=$(sed -n 's/^job \([0-9]*\) .*/\1/p' submitted)
  [ -n "$job" ]
}

state() { on ctl squeue --noheader --states=all --jobs="$job" --format=%T; }

# wait_for COMMAND...: until it holds; a quarter of an hour at most, for a machine that does other things too.
wait_for() {
  local until=$((SECONDS + 900))
  until "$@"; do
    [ $SECONDS -lt $until ] || { echo "not within its time: $*"; isobar submit --status "$job"; cat run/job-*.log; return 1; }
    sleep 0.1
  done
}

is_over() { case $(state) in COMPLETED | FAILED | CANCELLED* | TIMEOUT | NODE_FAIL) ;; *) return 1 ;; esac; }
has_step() { grep -q "\"kind\":\"step\",\"step\":$1," run/rank-0000.jsonl 2>/dev/null; }

# figure EXPRESSION [RUN]: Python over `lines`, what rank 0 wrote, `median` and `attempts`.
figure() {
  python3 - "$1" "${2:-run}" <<'PYTHON'
import json, pathlib, statistics, sys
lines = [json.loads(line) for line in (pathlib.Path(sys.argv[2]) / "rank-0000.jsonl").read_text().splitlines()]
steps = [line for line in lines if line["kind"] == "step"]
median = statistics.median
print(eval(sys.argv[1]))
PYTHON
}

# The same training that nothing interrupts, made once.
reference() {
  [ ! -e "$world/reference/run/weights.safetensors" ] || return 0
  mkdir -p "$world/reference"
  (cd "$world/reference" && submit --set train.steps=40 && wait_for is_over && [ "$(state)" = COMPLETED ])
}

same_as_reference() {
  cmp run/weights.safetensors "$world/reference/run/weights.safetensors"
  local losses='sorted({line["step"]: line["loss"] for line in steps}.items())'
  [ "$(figure "$losses")" = "$(figure "$losses" "$world/reference/run")" ]
}

# Each point is a job with its script in its run folder; the picture and its figures come from their streams.
case_scale_over_jobs() {
  isobar scale 06_ddp --slurm --ranks-per-node 1 --ranks 1,2 --lines real --repeat 1 --steps 8 --preset cpu_micro \
    --set "data.root=$world/data" --set amp.mode=none --set run.threads=1 --set comm.probe=false --json >scaled
  python3 - <<'PYTHON'
import json, pathlib
out = json.load(open("scaled"))
points = {point["ranks"]: point for point in out["points"]}
assert sorted(points) == [1, 2], points
assert any("Jobs of Slurm" in line for line in out["protocol"]), out["protocol"]
for ranks, point in points.items():
    run = pathlib.Path(point["runs"][0])
    assert f"#SBATCH --nodes={ranks}\n" in (run / "job.sbatch").read_text()
    assert len(list(run.glob("rank-*[0-9].jsonl"))) == ranks
assert points[2]["efficiency"] > 0
print("FIGURE efficiency of two nodes:", round(points[2]["efficiency"], 3))
assert pathlib.Path(out["svg"]).read_text().startswith("<svg")
PYTHON
  # What does not fill whole nodes is refused before a job is submitted.
  ! isobar scale 06_ddp --slurm --ranks-per-node 2 --ranks 2,3 --preset cpu_micro 2>refused
  grep -q "do not fill whole nodes" refused
}

# One model with a rank on each of two nodes: it trains as the replicas of the reference do.
case_model_over_two_nodes() {
  reference
  isobar submit 07_tensor_parallel --nodes 2 --preset cpu_micro --run-dir run --set "data.root=$world/data" --set amp.mode=none \
    --set run.threads=1 --set comm.probe=false --set comm.timeout_s=20 --set train.report_every=1 --set train.steps=40 --set mesh.tp=2 >submitted
  job=$(sed -n 's/^job \([0-9]*\) .*/\1/p' submitted)
  wait_for is_over
  [ "$(state)" = COMPLETED ]
  [ "$(figure 'lines[0]["replicas"]')" = 1 ]
  [ "$(figure 'sum(step["tp_calls"] for step in steps) >= 17 * 39')" = True ]
  python3 - run "$world/reference/run" <<'PYTHON'
import json, sys

def losses(run):
    lines = [json.loads(line) for line in open(run + "/rank-0000.jsonl")]
    return [line["loss"] for line in lines if line["kind"] == "step"]

mine, theirs = losses(sys.argv[1]), losses(sys.argv[2])
assert len(mine) == len(theirs) == 40
far = max(abs(a - b) for a, b in zip(mine, theirs))
print("FIGURE largest difference of 40 losses:", far)
assert far <= 1e-4
PYTHON
}

# splits_over_two_nodes LESSON RANKS MESH MEMBERS OPTION...: so many ranks on each of two nodes train as one process with all members
# does; sums over models have another order.
splits_over_two_nodes() {
  local lesson=$1 ranks=$2 mesh=$3 members=$4
  shift 4
  local common=(--preset cpu_micro --set "data.root=$world/data" --set amp.mode=none --set run.threads=1 --set comm.probe=false
    --set comm.timeout_s=300 --set train.report_every=1 --set train.steps=10 --set train.global_batch=8 --set data.limit_valid=8 --set model.embed=32)
  isobar submit "$lesson" --nodes 2 --ranks-per-node "$ranks" --run-dir run "${common[@]}" --set mesh.zero=1 "$@" >submitted
  job=$(sed -n 's/^job \([0-9]*\) .*/\1/p' submitted)
  grep -q "^#SBATCH --nodes=2" run/job.sbatch
  grep -q "ntasks-per-node=$ranks" run/job.sbatch
  wait_for is_over
  [ "$(state)" = COMPLETED ]
  grep -q "$mesh" run/console.log
  isobar run "$lesson" --run-dir alone "${common[@]}" --set "mesh.members_per_device=$members" >alone.log
  python3 - run alone <<'PYTHON'
import json, sys

def losses(run):
    lines = [json.loads(line) for line in open(run + "/rank-0000.jsonl")]
    return [line["loss"] for line in lines if line["kind"] == "step"]

mine, theirs = losses(sys.argv[1]), losses(sys.argv[2])
assert len(mine) == len(theirs) == 10
far = max(abs(a - b) for a, b in zip(mine, theirs))
print("FIGURE largest difference of 10 losses:", far)
assert far <= 1e-5
PYTHON
}

# Stages lie on two nodes, and ranks that share layers on one.
case_stages_over_two_nodes() {
  splits_over_two_nodes 15_pipeline 4 "2 models of 4 ranks each: tp 2 x pp 2 x dp 2" 1 --set mesh.tp=2 --set mesh.pp=2 --set mesh.order=tp-dp-pp --set train.accumulate=2
  [ "$(figure 'lines[0]["replicas"]')" = 2 ]
  [ "$(figure 'all(step["pipe_calls"] == 2 for step in steps)')" = True ]
}

# Ranks that share tokens lie on two nodes, and pass them on; states are shared by the replicas of one.
case_tokens_over_two_nodes() {
  splits_over_two_nodes 16_context_parallel 4 "2 models of 4 ranks each: tp 2 x cp 2 x dp 2" 1 --set mesh.tp=2 --set mesh.cp=2 --set mesh.order=tp-dp-cp \
    --set mesh.cp_comm=ring
  [ "$(figure 'lines[0]["replicas"]')" = 2 ]
  [ "$(figure 'all(step["cp_wire_bytes"] > 0 for step in steps)')" = True ]
}

# All four axes: a model on each node, and states that both share out.
case_all_axes_over_two_nodes() {
  splits_over_two_nodes 16_context_parallel 8 "2 models of 8 ranks each: tp 2 x cp 2 x pp 2 x dp 2" 1 --set mesh.tp=2 --set mesh.cp=2 \
    --set mesh.pp=2 --set mesh.cp_comm=ring --set train.accumulate=2
  [ "$(figure 'lines[0]["replicas"]')" = 2 ]
  [ "$(figure 'all(step["cp_wire_bytes"] > 0 and step["pipe_calls"] == 2 for step in steps)')" = True ]
}

# Ensembles of two models, a member each: first the ranks of a model are on two nodes and read together, then the models of one ensemble are.
case_ensembles_over_two_nodes() {
  local groups=(--set mesh.gpus_per_model=2 --set mesh.gpus_per_ensemble=4 --set data.read_group=2)
  mkdir readers models
  cd readers || exit
  splits_over_two_nodes 17_groups 4 "4 models of 2 ranks each: tp 1 x cp 2 x dp 4" 2 "${groups[@]}" --set mesh.order=tp-dp-cp
  [ "$(figure 'lines[0]["replicas"]')" = 2 ]
  cd ../models || exit
  splits_over_two_nodes 17_groups 2 "2 models of 2 ranks each: tp 1 x cp 2 x dp 2" 2 "${groups[@]}"
  [ "$(figure 'lines[0]["replicas"]')" = 1 ]
}

case_trains_over_two_nodes() {
  submit --set train.steps=40 --set comm.probe=true
  isobar submit --follow "$job" >followed
  cat followed
  grep -q "job $job finished" followed
  [ "$(figure 'lines[-1]["status"]')" = "done" ]
  [ "$(figure 'len(steps)')" = 40 ]
  grep -q '"host":"n1"' run/rank-0000.jsonl
  grep -q '"host":"n2"' run/rank-0001.jsonl
  grep -qi gloo run/console.log
  isobar submit --status run >status
  grep -q "finished" status
  isobar show run >shown
  grep -q "2 on 2 machines" shown
  isobar submit --dry-run 06_ddp --nodes 2 --set data.root=x >script
  bash -n script
}

case_without_srun_alone() {
  cat >alone.sbatch <<SCRIPT
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --time=5 --output=alone.log
"$bin/06_ddp" --preset cpu_micro --run-dir run --set train.steps=3 --set data.root=$world/data
SCRIPT
  job=$(on ctl sbatch --parsable alone.sbatch)
  wait_for is_over
  cat alone.log
  [ "$(state)" = COMPLETED ]
  grep -q "start with srun, or this runs alone" alone.log
  [ "$(figure 'lines[0]["world"]')" = 1 ]
}

case_cancel_ends_for_good() {
  submit --set train.steps=120 --set run.fault=slow_stage --set run.fault_ms=200
  wait_for has_step 20
  isobar submit --cancel run
  wait_for is_over
  case $(state) in CANCELLED*) ;; *) return 1 ;; esac
  sleep 15  # longer than a requeued job waits
  case $(state) in CANCELLED*) ;; *) return 1 ;; esac
  [ "$(figure 'lines[-1]["status"]')" = stopped ]
  [ "$(figure 'sum(line["kind"] == "run" for line in lines)')" = 1 ]
  compgen -G "run/checkpoints/step-*" >/dev/null
  # Unless somebody wants it to go on.
  isobar submit 06_ddp --nodes 2 --resume "$PWD/run" --set run.fault=none >again
  cat again
  job=$(sed -n 's/^job \([0-9]*\) .*/\1/p' again)
  wait_for is_over
  cat run/job-"$job".log
  [ "$(state)" = COMPLETED ]
  [ "$(figure 'lines[-1]["status"]')" = "done" ]
  [ "$(figure 'steps[-1]["step"]')" = 119 ]
}

case_lost_rank_is_named() {
  submit --set train.steps=4000
  wait_for has_step 20
  local begin pid
  pid=$(python3 -c 'import json; print(json.loads(open("run/rank-0001.jsonl").readline())["pid"])')
  begin=$(date +%s%N)
  kill -KILL "$pid"
  wait_for is_over
  echo "FIGURE killed rank to end of job: $((($(date +%s%N) - begin) / 1000000)) ms"
  [ "$(state)" = FAILED ]
  cat run/job-"$job".log
  grep -q "rank 1" run/job-"$job".log
  isobar submit --follow "$job" >followed && return 1
  cat followed
  grep -q "rank 1" followed
}

case_slow_link_is_seen() {
  local comm='median([line["comm_total_us"] for line in steps][5:])'
  mkdir fast slow
  (cd fast && submit --set train.steps=30 && wait_for is_over)
  on n1 tc qdisc replace dev eth0 root tbf rate 100mbit burst 64kb latency 200ms
  on n2 tc qdisc replace dev eth0 root tbf rate 100mbit burst 64kb latency 200ms
  (cd slow && submit --set train.steps=30 && wait_for is_over) || true
  on n1 tc qdisc del dev eth0 root
  on n2 tc qdisc del dev eth0 root
  local fast slow
  fast=$(figure "$comm" fast/run)
  slow=$(figure "$comm" slow/run)
  echo "FIGURE communication of a step: $fast us, over 100 Mbit/s $slow us"
  python3 -c "import sys; sys.exit(not $slow > 3 * $fast)"
}

# What the batch shell gets from Slurm before the time is up.
warn() { on ctl scancel --signal=USR1 --batch "$job" || is_over; }

case_warned_goes_on_bit_for_bit() {
  reference
  submit --set train.steps=40 --set run.fault=slow_stage --set run.fault_ms=100
  wait_for has_step 10
  warn
  wait_for is_over
  cat run/job-"$job".log
  [ "$(state)" = COMPLETED ]
  [ "$(figure '[line["attempt"] for line in lines if line["kind"] == "run"]')" = "[0, 1]" ]
  [ "$(grep -c requeued run/job-"$job".log)" = 1 ]
  [ "$(figure 'lines[-1]["status"]')" = "done" ]
  same_as_reference
}

# warn_after MS: a job of its own that is warned so long after its start.
warn_after() {
  submit --set train.steps=40 --set run.fault=slow_stage --set run.fault_ms=100
  wait_for grep -qs "start 0" "run/job-$job.log"
  sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
  echo "warned after $1 ms"
  warn
  wait_for is_over
  cat "run/job-$job.log"
  [ "$(state)" = COMPLETED ]
  same_as_reference
}

# Moments from the start of the job to its end: while the ranks start, meet, train, save.
case_warned_at_any_moment() {
  reference
  local tries=${ISOBAR_NIGHTLY_SIGNALS:-3} n
  RANDOM=${ISOBAR_SEED:-7}
  for n in $(seq "$tries"); do
    mkdir "$n"
    (cd "$n" && warn_after $((RANDOM % 6000)))
  done
  echo "FIGURE $tries jobs warned at random moments: $(cat ./*/run/job-*.log | grep -c requeued) requeued, $tries with the same weights to the bit"
}

case_time_limit_goes_on() {
  reference
  # Slurm may warn a minute early, and then at once; what is left after two starts is short.
  submit --time 1 --warn 20 --set train.steps=40 --set run.fault=slow_stage --set run.fault_ms=1300
  wait_for is_over
  cat run/job-"$job".log
  [ "$(state)" = COMPLETED ]
  grep -q requeued run/job-"$job".log
  same_as_reference
}

# The clock of n2 is an hour behind from its third reading on.
case_clocks_may_differ() {
  if [ ! -e "${ISOBAR_SHIM:-}" ]; then
    echo "FIGURE not tried: there is nothing to turn a clock with"
    return 0
  fi
  mkdir programs
  cp "$bin/isobar-cli" programs/
  cat >programs/06_ddp <<SCRIPT
#!/bin/sh
[ "\$SLURMD_NODENAME" != n2 ] || export LD_PRELOAD=$ISOBAR_SHIM SHIM_CLOCK_BACK=3600
exec $bin/06_ddp "\$@"
SCRIPT
  chmod +x programs/06_ddp
  bin=$PWD/programs submit --set train.steps=40
  wait_for is_over
  cat run/job-"$job".log
  [ "$(state)" = COMPLETED ]
  python3 - <<'PYTHON'
import json
for rank in (0, 1):
    lines = [json.loads(line) for line in open(f"run/rank-000{rank}.jsonl")]
    times = [(key, value) for line in lines for key, value in line.items() if key.endswith("_us") and not isinstance(value, str)]
    assert len(times) > 300, len(times)
    assert not [one for one in times if one[1] < 0], [one for one in times if one[1] < 0]
    assert [line["t_us"] for line in lines if line["kind"] == "step"] == sorted(line["t_us"] for line in lines if line["kind"] == "step")
print("FIGURE durations below zero with clocks an hour apart: 0")
PYTHON
  isobar show run >shown
  grep -q "run  done" shown
  reference
  same_as_reference
}

# Everything that runs on a node is gone at once, as when its power fails.
kill_node() {
  local own ns pid
  own=$(readlink "/proc/${holders[$1]}/ns/net")
  for ns in /proc/[0-9]*/ns/net; do
    pid=${ns#/proc/}
    pid=${pid%%/*}
    if [ "$pid" != "${holders[$1]}" ] && [ "$(readlink "$ns" 2>/dev/null)" = "$own" ]; then kill -KILL "$pid" || true; fi
  done
}

case_lost_node_goes_on_elsewhere() {
  local nodes=1 node other begin
  mkdir whole
  (cd whole && submit --set train.steps=60 && wait_for is_over)
  submit --set train.steps=60 --set train.checkpoint_every=5 --set run.fault=slow_stage --set run.fault_ms=100
  wait_for has_step 12
  node=$(on ctl squeue --noheader --jobs="$job" --format=%N)
  other=n$((3 - ${node#n}))
  begin=$SECONDS
  kill_node "$node"
  wait_for is_over
  on "$node" slurmd -N "$node"
  cat run/job-"$job".log
  echo "FIGURE node lost to end of job on $other: $((SECONDS - begin)) s"
  [ "$(state)" = COMPLETED ]
  grep -q "start 1 on $other" run/job-"$job".log
  [ "$(figure '[line["host"] for line in lines if line["kind"] == "run"]')" = "['$node', '$other']" ]
  cmp run/weights.safetensors whole/run/weights.safetensors
}
