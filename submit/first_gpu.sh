#!/usr/bin/env bash
# What Isobar wants of a GPU that it meets for the first time, in calls of less than ten minutes, for short slots on a machine.
#   first-gpu FOLDER               all that is not there yet, in FOLDER, and in FOLDER.tar.gz after each row
#   first-gpu FOLDER CALL...       these calls; CALL/ROW: one row, also where it is there already
#   first-gpu --dry-run [FOLDER]   says what would be done, and what is there
#   first-gpu --rehearse FOLDER    without a GPU: all that needs none, in the smallest size
#   --again                        also what failed before, or was not there
#   --seconds N                    what a call may take; default 570. What does not fit is left for the next start
# A row that fails ends no other. results.jsonl has a line when a row begins and one when it ends: what was cut off is seen.
set -uo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
self=$home/submit/${BASH_SOURCE[0]##*/}
if [ -x "$home/run.sh" ]; then in_bundle=1 me="./run.sh first-gpu"; else in_bundle='' me="./isobar first-gpu"; fi

fail() { # fail WHAT HINT [CODE]
  printf 'isobar: error: %s\n  where: %s\n  hint:  %s\n' "$1" "$me" "$2" >&2
  exit "${3:-2}"
}

# CALL | ROW | seconds on an H200 | limit | when: then, beside the next ones, alone, or first (nothing can work without it) | what |
# the same without a device; - where there is none. `more` is done only where it is named.
table() {
  local synthetic='--set run.measure=synthetic' data="--set data.root=\$folder/data --set data.limit_train=0 --set data.limit_valid=0"
  local base="--preset base --set run.measure=synthetic" short="--preset short $data" lesson steps seconds way graph
  cat <<TABLE
lives|machine|3|60|then|machine|-
lives|doctor|3|60|then|doctor --json|doctor --json
lives|first-steps|10|120|first|run 05_fusion --preset cpu_micro $synthetic --set train.steps=20 --set run.device=cuda --run-dir \$folder/runs/first-steps|run 05_fusion --preset cpu_micro $synthetic --set train.steps=20 --set run.device=cpu --run-dir \$folder/runs/first-steps
lives|fused|80|240|beside|tests [#test_fused]|-
lives|kernels|10|120|then|tests [#test_kernels]|-
lives|memory|10|90|then|tests [#test_memory]|-
lives|context|10|90|then|tests [#test_context]|-
lives|nccl|10|90|then|tests [#test_nccl]|-
lives|attention|20|150|alone|peer device_probe.py cuda \$folder/attention.jsonl|peer device_probe.py cpu \$folder/attention.jsonl
lives|timers|8|90|alone|tests [#test_timers]|-
lives|no-sync|20|90|alone|tests [#test_no_sync]|-
lives|prefetch|15|90|alone|tests [#test_prefetch]|-
course|data|30|300|beside|run make_fields --grid 360x720 --samples 96 --out \$folder/data|run make_fields --grid 72x144 --samples 96 --out \$folder/data
TABLE
  for lesson in 08_cuda_graphs 05_fusion 04_amp 03_gpu_loader 02_workers 01_baseline; do
    steps=60 seconds=12
    [[ $lesson = 0[458]* ]] || steps=15 seconds=22
    printf 'course|base-%s|%s|120|then|recorded %s base %s|' "${lesson%%_*}" $seconds "$lesson" "$base --set train.steps=$steps --set run.device=cuda"
    if [ $lesson = 08_cuda_graphs ]; then echo -; else
      echo "recorded $lesson rehearsed-base --preset cpu_micro $synthetic --set train.steps=10 --set run.device=cpu"
    fi
  done
  # Each file by itself: what an illegal access leaves of a process does not count for the next one.
  echo 'course|lesson|30|120|then|tests [#test_lesson]|-'
  echo 'course|amp|45|120|then|tests [#test_amp]|-'
  echo 'course|graph|45|120|then|tests [#test_graph]|-'
  for lesson in 08_cuda_graphs 05_fusion 04_amp 03_gpu_loader 02_workers 01_baseline; do
    steps=40
    [[ $lesson = 0[458]* ]] || steps=12
    printf 'course|short-%s|17|120|alone|recorded %s short %s|' "${lesson%%_*}" "$lesson" "$short --set train.steps=$steps --set run.device=cuda"
    if [ $lesson = 08_cuda_graphs ]; then echo -; else
      echo "recorded $lesson rehearsed-short --preset cpu_micro --set data.grid=[72,144] $data --set train.global_batch=16 --set train.steps=8 --set run.device=cpu"
    fi
  done
  # What the questions of lesson 08 compare.
  local size words
  for size in 16 4 1 tiny; do
    words="--preset short --set train.global_batch=$size"
    [ $size != tiny ] || words="--preset cpu_tiny"
    for way in launched graph; do
      [[ $way$size != graph16 && $way$size != graph4 ]] || continue  # base-08 is the one, and nobody asks for the other
      [ $way = graph ] && graph=true || graph=false
      printf 'course|batch-%s-%s-08|12|90|alone|recorded 08_cuda_graphs batch-%s-%s %s|-\n' "$size" $way "$size" $way \
        "$words $synthetic --set graph.enabled=$graph --set train.steps=80 --set run.device=cuda"
    done
  done
  # What lessons 13 and 14 ask about memory: states of one rank, and activations that are computed again.
  for way in none cheap selective block; do
    printf 'course|checkpoint-%s-14|10|120|alone|recorded 14_checkpointing checkpoint-%s %s|' $way $way \
      "$base --set model.checkpoint=$way --set train.steps=30 --set run.device=cuda"
    if [ $way != block ]; then echo -; else
      echo "recorded 14_checkpointing rehearsed-checkpoint-block --preset cpu_micro $synthetic --set model.checkpoint=block --set train.steps=6 --set run.device=cpu"
    fi
  done
  printf 'course|passes-14|10|120|alone|recorded 14_checkpointing passes %s|-\n' \
    "$base --set model.checkpoint=none --set train.accumulate=4 --set train.steps=30 --set run.device=cuda"
  for way in 3 0; do
    printf 'course|zero-%s-13|10|120|alone|recorded 13_zero zero-%s %s|-\n' $way $way "$base --set mesh.zero=$way --set train.steps=30 --set run.device=cuda"
  done
  printf 'course|offload-13|10|150|alone|recorded 13_zero offload %s|-\n' \
    "$base --set mesh.zero=1 --set mesh.offload=optimizer --set train.steps=20 --set run.device=cuda"
  # A window of attention on one GPU, members of an ensemble side by side, and forecasts one behind the other.
  for way in 0 90; do
    printf 'course|window-%s-16|10|120|alone|recorded 16_context_parallel window-%s %s|-\n' $way $way "$base --set model.window=$way --set train.steps=30 --set run.device=cuda"
  done
  printf 'course|members-17|10|120|alone|recorded 17_groups members %s|-\n' \
    "$base --set train.global_batch=4 --set mesh.members_per_device=4 --set train.steps=20 --set run.device=cuda"
  printf 'course|rollout-17|10|120|alone|recorded 17_groups rollout %s|' "$base --set train.global_batch=4 --set train.rollout=2 --set train.steps=20 --set run.device=cuda"
  echo "recorded 17_groups rehearsed-rollout --preset cpu_micro $synthetic --set train.rollout=2 --set train.steps=6 --set run.device=cpu"
  # All stages on one GPU: micro-batches one behind the other, and what it costs to take backward apart.
  for way in 1f1b zb_h1; do
    printf 'course|pipeline-%s-15|10|120|alone|recorded 15_pipeline pipeline-%s %s|' $way $way \
      "$base --set mesh.schedule=$way --set train.steps=30 --set run.device=cuda"
    if [ $way != zb_h1 ]; then echo -; else
      echo "recorded 15_pipeline rehearsed-pipeline-zb_h1 --preset cpu_micro $synthetic --set mesh.schedule=zb_h1 --set train.steps=6 --set run.device=cpu"
    fi
  done
  local eager='--no-compile --only 04-amp --only 05-eager --only 08-eager --pairs 5'
  cat <<TABLE
figures|normalise|10|150|alone|bench normalise --out \$folder/normalise.json|-
figures|rungs-16|160|300|alone|bench rungs --device cuda --batch 16 $eager --out \$folder/rungs-16.json|bench rungs --quick --no-compile --batch 1 --only 01-fp32 --out \$folder/rungs-16.json
figures|fusion|240|400|alone|bench fusion --device cuda --no-compile --pairs 5 --out \$folder/fusion.json|bench fusion --quick --no-compile --case adam --out \$folder/fusion.json
figures|step|146|250|alone|bench step --device cuda --pairs 5 --out \$folder/step.json|bench step --quick --case cpu_micro --out \$folder/step.json
tools|memcheck|20|120|alone|under compute-sanitizer --tool=memcheck --error-exitcode=9 -- tests [#test_kernels],[#test_fused]|-
tools|racecheck|30|120|alone|under compute-sanitizer --tool=racecheck --error-exitcode=9 -- tests [#test_fused]|-
tools|timeline|40|120|alone|under nsys profile --force-overwrite=true --output=\$folder/timeline -- run 05_fusion $base --set train.steps=12 --run-dir \$folder/runs/timeline|-
tools|counters|200|300|alone|under ncu --clock-control=none --target-processes=all --section=SpeedOfLight --section=LaunchStats --kernel-name=regex:ward_kernel --launch-count=8 --csv --log-file=\$folder/counters.csv -- run 05_fusion $base --set train.steps=3 --run-dir \$folder/runs/counters|-
more|rungs-1|65|200|alone|bench rungs --device cuda --batch 1 $eager --out \$folder/rungs-1.json|-
more|rungs-2|80|200|alone|bench rungs --device cuda --batch 2 $eager --out \$folder/rungs-2.json|-
more|rungs-4|90|200|alone|bench rungs --device cuda --batch 4 $eager --out \$folder/rungs-4.json|-
more|rungs-compiled|165|580|alone|bench rungs --device cuda --batch 16 --only 05-compile --only 08-reduce --pairs 5 --out \$folder/rungs-compiled.json|-
more|fusion-compiled|300|580|alone|bench fusion --device cuda --pairs 5 --out \$folder/fusion-compiled.json|-
more|rungs-autotune|400|580|alone|bench rungs --device cuda --batch 16 --only 05-autotune --pairs 5 --out \$folder/rungs-autotune.json|-
more|rungs-fp32|300|580|alone|bench rungs --device cuda --batch 16 --only 01-tf32 --only 01-fp32 --pairs 5 --out \$folder/rungs-fp32.json|-
TABLE
}
calls="lives course figures tools"
every_call="$calls more"
mapfile -t rows < <(table)

# What the words of the table mean here, and as one would type them.
program() { # program NAME WORDS...: one of the bundle, or of this build
  if [ -n "$in_bundle" ]; then "$home/run.sh" "$@"; else ${ISOBAR_UNDER:-} "$home/build/bin/$1" "${@:2}"; fi
}
run() {
  if [ -n "$in_bundle" ]; then "$home/run.sh" "$@"; elif [ "$1" = make_fields ]; then program "$@"; else ${ISOBAR_UNDER:-} "$home/isobar" run "$@"; fi
}
bench() { if [ -n "$in_bundle" ]; then "$home/run.sh" bench "$@"; else "$home/isobar" --yes bench "$@"; fi; }
tests() { ISOBAR_REQUIRE_GPU=1 program test_gpu -# "$1"; }
cli() { program isobar-cli "$@"; }
doctor() { if [ -n "$in_bundle" ]; then "$home/run.sh" doctor "$@"; else "$home/isobar" doctor "$@"; fi; }
peer() {
  local python=${ISOBAR_PYTHON:-python3} peers=${ISOBAR_PEERS:-${ISOBAR_PREFIX:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/isobar}/peers-2.11.0}
  [ ! -d "$peers/torch" ] || export PYTHONPATH=$peers
  "$python" -c 'import torch' 2>/dev/null || { echo "$python has no torch"; return 77; }
  "$python" -s "$home/tests/bench/peers/$1" "${@:2}"
}
run_of() { printf '%s' "runs/${2#rehearsed-}-${1%%_*}"; }  # run_of LESSON NAME: a row's run is called as the row is
# recorded LESSON NAME WORDS...: trained, and a small copy beside the lesson and in FOLDER/lessons; of a rehearsal only there.
recorded() {
  local lesson=$1 name=$2 kept=$folder/lessons/$1/recorded from made
  from=$folder/$(run_of "$1" "$2")
  run "$lesson" "${@:3}" --run-dir "$from" || return
  made=$(cli record "$lesson" --from "$from" --as "$name" --replace) || return
  printf '%s\n' "$made"
  made=${made##*$'\n  '}
  rm -rf "${kept:?}/${made##*/}"
  mkdir -p "$kept" && cp -r "$made" "$kept/" || return
  [[ $name != rehearsed-* ]] || { rm -r "$made" && rmdir --ignore-fail-on-non-empty "${made%/*}"; }
}
under() { # under TOOL OPTIONS... -- WORDS...
  local -a tool=()
  type -P "$1" >/dev/null || { echo "there is no $1 here"; return 77; }
  while [ "$1" != -- ]; do tool+=("$1"); shift; done
  export ISOBAR_UNDER="${tool[*]}" ISOBAR_SMALL=1
  "${@:2}"
}
# type_out WORDS: sets typed.
type_out() {
  local words=$1 under='' lesson name from record=''
  [[ $words != *' -- '* ]] || under="${words%% -- *} " words=${words#* -- }
  if [[ $words = 'recorded '* ]]; then
    read -r _ lesson name words <<<"$words"
    from=\$folder/$(run_of "$lesson" "$name")
    words="run $lesson $words --run-dir $from"
    record=" && ./isobar record $lesson --from $from --as $name --replace"
    [ -z "$in_bundle" ] || record=${record/isobar/run.sh isobar-cli}
  fi
  case $words in
    'tests '*) if [ -n "$in_bundle" ]; then words="./run.sh test_gpu -# '${words#tests }'"; else words="build/bin/test_gpu -# '${words#tests }'"; fi ;;
    'run '*) if [ -n "$in_bundle" ]; then words=./run.sh${words#run}; else words=./isobar\ ${words/#run make_fields/data make}; fi ;;
    'bench '* | 'doctor '*) if [ -n "$in_bundle" ]; then words="./run.sh $words"; else words="./isobar $words"; fi ;;
    'peer '*) words="python3 tests/bench/peers/${words#peer }" ;;
    machine) words="nvidia-smi --query-gpu=..." ;;
  esac
  typed="${under#under }$words$record"
  typed=${typed//\$folder/${folder:-FOLDER}}
}

# machine: the devices, and what of them would spoil figures, in words.
machine() {
  local lines code=0 count=0 name driver total used mig slices capability
  type -P nvidia-smi >/dev/null || { echo "there is no nvidia-smi here"; return 77; }
  asked() { nvidia-smi "--query-$1" --format=csv,noheader,nounits 2>&1; }
  lines=$(asked gpu=name,driver_version,memory.total,memory.used,mig.mode.current) || code=$?
  printf '%s\n' "$lines"
  [ $code = 0 ] || return $code
  while IFS=, read -r name driver total used mig; do
    name="device $count, $name" driver=${driver// /} total=${total// /} used=${used// /} count=$((count + 1))
    if ! [[ $total =~ ^[0-9]+$ && $used =~ ^[0-9]+$ ]]; then echo "NOTE $name: nvidia-smi does not say how much of its memory others take"
    elif [ $((used * 20)) -ge "$total" ]; then
      echo "NOTE $name: $used of $total MiB are taken by others, and its figures are not to be trusted"
      asked compute-apps=pid,used_memory || true
    fi
    [[ $mig != *Enabled* ]] || {
      slices=$(nvidia-smi -L 2>/dev/null | grep -c '^ *MIG ')
      [ "$slices" = 0 ] || echo "NOTE $name is cut by MIG into $slices: a slice is measured, and is not to be compared with whole ones"
      [ "$slices" != 0 ] || echo "NOTE $name is to be cut by MIG and has no slice yet: there is nothing to compute on"
    }
    ! [[ $count = 1 && $driver =~ ^[0-9]+ ]] || [ "${BASH_REMATCH[0]}" -ge 580 ] || echo "NOTE driver $driver is older than 580, the first that serves CUDA 13"
  done <<<"$lines"
  [ $count = 1 ] || echo "NOTE $count devices: cuda:0 is measured; CUDA_VISIBLE_DEVICES=N names another"
  while read -r capability; do
    [[ $capability =~ ^([0-9]+)\.[0-9]+$ ]] || continue
    [ "${BASH_REMATCH[1]}" -ge 8 ] || echo "NOTE compute capability $capability: 8.0 or newer is needed"
    [ "${BASH_REMATCH[1]}" -lt 10 ] || echo "NOTE compute capability $capability: the driver compiles our kernels when they first run${in_bundle:+; ./run.sh rebuild-plugin ${capability/./} does before}"
  done < <(asked gpu=compute_cap | sort -u)
  return 0
}

escaped() {
  local words=${1//\\/\\\\}
  printf '%s' "${words//\"/\\\"}"
}
declare -A states=()  # CALL/ROW -> its last state
read_states() {
  local line key='"([^"]*)"'
  local begins="^\\{\"call\": $key, \"row\": $key, \"state\": $key"
  while IFS= read -r line; do
    [[ ! $line =~ $begins ]] || states[${BASH_REMATCH[1]}/${BASH_REMATCH[2]}]=${BASH_REMATCH[3]}
  done <"$folder/results.jsonl"
}
note() { # note CALL ROW STATE REST-OF-THE-LINE
  printf '{"call": "%s", "row": "%s", "state": "%s", "at": "%s"%s%s}\n' "$1" "$2" "$3" "$(TZ=UTC printf '%(%FT%TZ)T' -1)" "${4:-}" "${rehearse:+, \"rehearsal\": true}" >>"$folder/results.jsonl"
  states[$1/$2]=$3
}
# archive: all but data, weights, fields and their pictures, which are hundreds of megabytes. What runs beside may still write: tar's code 1.
archive() {
  local name=${folder##*/} code=0
  tar -C "${folder%/*}" --warning=no-file-changed --warning=no-file-removed --exclude='*.safetensors' --exclude="$name/data" --exclude="$name/data.part*" \
    --exclude="$name/*/fields" --exclude="$name/*/tb" -czf "$folder.tar.gz.part" "$name" || code=$?
  if [ $code -gt 1 ] || ! mv "$folder.tar.gz.part" "$folder.tar.gz"; then echo "isobar: error: $folder.tar.gz is not renewed; what was measured is in $folder" >&2; fi
}

# ended CALL ROW CODE SECONDS: into the table and the archive.
ended() {
  local state="done" left
  case $3 in
    0) ;;
    77) state="not there" ;;
    124 | 137) state="ran past its limit" ;;
    *) state=failed ;;
  esac
  left=$(cd "$folder" && find . -path ./data -prune -o -type f \( -name "$2.*" -o -name "$1-$2.log" \) -printf '"%P", ' 2>/dev/null)
  note "$1" "$2" "$state" ", \"code\": $3, \"seconds\": $4, \"left\": [${left%, }]"
  printf '%-8s %-16s %s, %s s%s\n' "$1" "$2" "$state" "$4" "$([ "$state" = "done" ] || echo ", code $3: $(grep -v '^ *$' "$folder/$1-$2.log" | tail -n 1 | cut -c1-160)")"
  grep -h '^NOTE ' "$folder/$1-$2.log" | sed 's/^NOTE /  /'
  archive
  [ "$state" = "done" ] || [ "$state" = "not there" ]
}

beside=()  # CALL ROW PID BEGIN of what runs beside
failed=0
# wait_beside [ended]: for all of it, or only takes down what has ended.
wait_beside() {
  local one call row pid begin code
  local -a goes_on=()
  for one in ${beside[@]+"${beside[@]}"}; do
    read -r call row pid begin <<<"$one"
    if [ "${1:-}" = ended ] && kill -0 "$pid" 2>/dev/null; then goes_on+=("$one"); continue; fi
    code=0
    wait "$pid" || code=$?
    ended "$call" "$row" $code $((SECONDS - begin)) || failed=$((failed + 1))
  done
  beside=(${goes_on[@]+"${goes_on[@]}"})
}
# put_aside CALL ROW: what an earlier start left of it goes to FOLDER/earlier.
put_aside() {
  local one to
  to=$folder/earlier/$2-$(grep -c "^{\"call\": \"$1\", \"row\": \"$2\", \"state\": \"started\"" "$folder/results.jsonl")
  for one in "$folder/$1-$2.log" "$folder/$2".json* "$folder/runs/$2"; do
    [ ! -e "$one" ] || { mkdir -p "$to" && mv "$one" "$to/"; }
  done
}
current=
measure() { # measure CALL ROW LIMIT WAY
  local call=$1 row=$2 limit=$3 way=$4 code=0 begin=$SECONDS
  local -a under=(${tied[@]+"${tied[@]}"})
  [ "$way" != beside ] || under+=(nice -n 19)  # what it runs beside is measured
  put_aside "$call" "$row"
  type_out "$command"
  note "$call" "$row" started ", \"command\": \"$(escaped "$typed")\"${device:+, \"device\": \"$(escaped "$device")\"}"
  ${under[@]+"${under[@]}"} timeout -k 10 "$limit" ${tied[@]+"${tied[@]}"} "$self" --row "$folder" "$command" $$ >"$folder/$call-$row.log" 2>&1 &
  if [ "$way" = beside ]; then beside+=("$call $row $! $begin"); return 0; fi
  current="$call $row $!"
  wait $! || code=$?
  current=
  wait_beside ended
  ended "$call" "$row" $code $((SECONDS - begin)) && return 0
  failed=$((failed + 1))
  [ "$way" != first ] || [ $code != 2 ] || {
    cat "$folder/$call-$row.log" >&2
    fail "nothing can be measured on this machine" "what is wrong is said above; $folder/$call-$row.log" 1
  }
}
stop() { # stop CODE NAME: on a signal
  local one call row pid _
  trap '' INT TERM HUP
  wait_beside ended
  for one in ${current:+"$current"} ${beside[@]+"${beside[@]}"}; do
    read -r call row pid _ <<<"$one"
    kill -TERM "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    note "$call" "$row" "cut off" ", \"code\": $1"
  done
  archive
  echo "stopped by $2; what was measured is in $folder.tar.gz; $me $folder goes on" >&2
  exit "$1"
}

plan() { # plan: the table with what is there, for --dry-run
  local line call row seconds limit way what rehearsed sum state wanted left
  [ -z "$folder" ] || [ ! -f "$folder/results.jsonl" ] || read_states
  for wanted in $every_call; do
    sum=0 left=0
    echo "$wanted"
    for line in "${rows[@]}"; do
      [[ $line = "$wanted|"* ]] || continue
      IFS='|' read -r call row seconds limit way what rehearsed <<<"$line"
      [ -z "$rehearse" ] || what=$rehearsed
      state=${states[$call/$row]:-}
      if [ "$what" = - ]; then typed='needs a device'; else type_out "$what"; fi
      [ "$way" != beside ] || typed="beside: $typed"
      printf '  %-16s %4s s  %s%s\n' "$row" "$seconds" "$typed" "${state:+   [$state]}"
      if [ "$way" = beside ]; then left=$seconds; continue; fi
      if [ "$way" = alone ] && [ "$left" -gt 0 ]; then sum=$((sum + left)) left=0; fi
      sum=$((sum + seconds)) left=$((left - seconds))
    done
    printf '  %-16s %4s s on an H200\n' "in all" "$sum"
  done
}

dry='' rehearse='' again='' most=570
words=()
while [ $# -gt 0 ]; do
  case $1 in
    --row)
      folder=$2
      # What ended before setpriv had tied this row to it sends no signal.
      [ "$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$PPID/status" 2>/dev/null)" = "$4" ] || exit 143
      set -f
      eval "words=(${3//\$folder/\"\$folder\"})"
      set +f
      # A shell that blocks signals for a fork leaves a child that has had none, and a program may ignore them: SIGKILL reaches all of the group.
      trap 'trap "" TERM; kill -TERM 0; wait; kill -KILL 0' TERM
      "${words[@]}" &
      wait $!
      exit ;;
    --dry-run) dry=1 ;;
    --rehearse) rehearse=1 ;;
    --again) again=1 ;;
    --seconds) most=${2:-} && shift
      [[ $most =~ ^[1-9][0-9]{0,5}$ ]] || fail "\"$most\" is no number of seconds" "$me --seconds 570" ;;
    --help | -h) sed -n '2,8s/^# \{0,1\}//p' "$self"; exit ;;
    -*) fail "first-gpu does not know \"$1\"" "$me --help" ;;
    *) words+=("$1") ;;
  esac
  shift
done
[ ${#words[@]} -gt 0 ] || [ -n "$dry" ] || fail "into which folder?" "$me FOLDER"
folder=${words[0]:-}
for word in "${words[@]:1}"; do
  [[ " $every_call " = *" ${word%%/*} "* ]] || fail "there is no call \"${word%%/*}\"" "calls: $every_call"
  [[ $word != */* || $'\n'$(printf '%s\n' "${rows[@]}") = *$'\n'"${word%%/*}|${word#*/}|"* ]] || fail "there is no row \"$word\"" "$me --dry-run lists them"
done
if [ -n "$dry" ]; then plan; exit; fi
# shellcheck source=cmake/setup/machine.sh
. "$home/cmake/setup/machine.sh"
if [ -z "$rehearse" ] && ! driver_here; then
  fail "there is no NVIDIA driver on this machine" "$me --rehearse FOLDER does all that needs no GPU; --dry-run says what would be done"
fi
mkdir -p "$folder" && folder=$(cd "$folder" && pwd) && exec 8>>"$folder/results.jsonl" || fail "$folder cannot be written" "another folder" 1
[ ! -e "$folder.tar.gz" ] || tar -tzf "$folder.tar.gz" "${folder##*/}/results.jsonl" >/dev/null 2>&1 ||
  fail "$folder.tar.gz is there, and is no archive that this wrote" "another folder"
# Held by its rows too: one that outlives a call that was killed would spoil the figures of the next.
held=0  # 9: by another; anything else is a file system without locks
flock -w 15 -E 9 8 2>/dev/null || held=$?
[ $held != 9 ] || fail "another first-gpu works in $folder, or a row of one that was killed" "wait until it ends, which takes ten minutes at most" 1
if [ -n "$rehearse" ]; then foreign=-v holds="figures of a device"; else foreign=-e holds="a rehearsal"; fi
! grep -q $foreign '"rehearsal": true' "$folder/results.jsonl" || fail "$folder holds $holds, and the two are not mixed" "another folder"
# The next start may be on another device: each row names it.
device=''
[ -n "$rehearse" ] || device=$(timeout -k 5 20 nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | cut -d, -f1 | paste -sd+) || device=''
trap 'stop 130 INT' INT
trap 'stop 143 TERM' TERM
trap 'stop 129 HUP' HUP
is_asked() { # is_asked CALL [ROW]: by this start
  local word
  if [ ${#words[@]} = 1 ]; then [[ " $calls " = *" $1 "* ]]; return; fi
  for word in "${words[@]:1}"; do [ "$word" != "$1" ] && [ "$word" != "$1/${2:-}" ] || return 0; done
  return 1
}
# needs_device: this start has rows beyond those about the machine itself.
needs_device() {
  local word
  [ -z "$rehearse" ] || return 1
  for word in "${words[@]:1}"; do [[ $word = lives/machine || $word = lives/doctor ]] || return 0; done
  [ ${#words[@]} = 1 ]
}
# wanted CALL ROW WAY: whether it is to be done now.
wanted() {
  local word state=${states[$1/$2]:-}
  [ "$3" != first ] || [ "$state" = "done" ] || ! needs_device || return 0  # nothing is measured where it does not work
  for word in "${words[@]:1}"; do [ "$word" != "$1/$2" ] || return 0; done
  case $state in
    "done" | "needs a device") return 1 ;;
    failed | "ran past its limit" | "not there") [ -n "$again" ] || return 1 ;;
  esac
  is_asked "$1"
}
# A row ends with this script, also where that is killed.
tied=()
if setpriv --pdeathsig TERM true 2>/dev/null; then tied=(setpriv --pdeathsig TERM); fi
read_states
at='' began=0
while IFS='|' read -r call row seconds limit way what rehearsed <&3; do
  wanted "$call" "$row" "$way" || continue
  command=$what
  [ -z "$rehearse" ] || command=$rehearsed
  if [ "$command" = - ]; then note "$call" "$row" "needs a device"; continue; fi
  if [ "$call" != "$at" ]; then
    wait_beside
    [ -z "$at" ] || ! is_asked "$at" first-steps || began=$SECONDS
    at=$call
  fi
  [ "$way" != alone ] || wait_beside
  if [[ " ${words[*]:1} " != *" $call/$row "* ]]; then  # one that is named takes what it takes
    left=$((began + most - SECONDS))
    if [ "$seconds" -gt $left ]; then printf '%-8s %-16s left for the next start: it takes %s s, and this call has %s s\n' "$call" "$row" "$seconds" $left; continue; fi
    [ "$limit" -le $left ] || limit=$left
  fi
  measure "$call" "$row" "$limit" "$way"
done 3< <(printf '%s\n' "${rows[@]}")
wait_beside
archive
missing=
for line in "${rows[@]}"; do
  IFS='|' read -r call row _ <<<"$line"
  state=${states[$call/$row]:-}
  [ "$state" = "done" ] || [[ " $calls " != *" $call "* ]] || missing+=" $call/$row (${state:-not begun})"
done
echo "figures and logs are in $folder, and all of them in $folder.tar.gz"
[ -z "$missing" ] || printf 'still missing:%s\n  %s %s CALL/ROW makes one again\n' "$missing" "$me" "$folder"
[ $failed = 0 ]
