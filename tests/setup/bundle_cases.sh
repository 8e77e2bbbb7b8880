# Cases of run_all.sh: the bundle for machines without a network, packed from programs that only show how they were started.
# shellcheck shell=bash

# torch_here VERSION: a Python whose torch has this version.
torch_here() {
  mkdir -p "$WORLD/site/torch/lib" "$WORLD/site/nvidia/cu13/lib"
  touch "$WORLD/site/torch/__init__.py" "$WORLD/site/torch/lib/libtorch_cpu.so"
  printf "__version__ = '%s'\ncuda = '13.0'\n" "$1" >"$WORLD/site/torch/version.py"
  script python-there <<BODY
PYTHONPATH="$WORLD/site" exec $(type -P -a python3 | grep -v "$WORLD" | head -n 1) "\$@"
BODY
}
pack() {
  mkdir -p "$TREE/build/bin" "$TREE/build/lib" "$TREE/submit" "$TREE/tests/reference" "$TREE/tests/bench/peers" "$WORLD/there"
  cp -r "$ROOT"/submit/* "$TREE/submit/"
  local folder
  for folder in base/{core,config,ring,vector} training/{cuda,kernels,device,comm}; do mkdir -p "$TREE/engine/$folder" && touch "$TREE/engine/$folder/a.h"; done
  cp "$(type -P echo)" "$TREE/build/bin/isobar-cli"
  cp "$(type -P false)" "$TREE/build/bin/01_baseline"
  cp "$(type -P true)" "$TREE/build/bin/05_fusion"
  cp "$(type -P env)" "$TREE/build/bin/bench_environment"
  cp "$(type -P true)" "$TREE/build/bin/test_gpu"
  cp "$(type -P false)" "$TREE/build/bin/test_train"
  cp "$(type -P false)" "$TREE/build/bin/test_of_the_tree"
  cp "$(type -P true)" "$TREE/build/bin/bench_rungs"
  cp "$(type -P true)" "$TREE/build/bin/bench_normalise"
  cp "$(type -P true)" "$TREE/build/bin/bench_step"
  cp "$(type -P false)" "$TREE/build/bin/bench_fusion"
  cp "$(type -P true)" "$TREE/build/bin/isobar-gui"
  cp "$(type -P true)" "$TREE/build/lib/libisobar_cuda.so"
  touch "$TREE/tests/bench/peers/step_peer.py"
  echo golden >"$TREE/tests/reference/a.safetensors"
  CODE=0
  OUT=$("$TREE/submit/bundle.sh" "$WORLD/b.tar.gz" 2>&1) || CODE=$?
  tar -xzf "$WORLD/b.tar.gz" -C "$WORLD/there"
}
case_bundle_writes_over_nothing_else() {
  after pack
  torch_here 2.11.0+cu130
  again() {
    CODE=0
    OUT=$("$TREE/submit/bundle.sh" "$@" 2>&1) || CODE=$?
  }
  again "$WORLD/b.tar.gz"
  expect "a bundle is packed again" [ "$CODE" = 0 ]
  echo thesis >"$WORLD/thesis.tar.gz"
  ln -s nowhere "$WORLD/link.tar.gz"
  again "$WORLD/thesis.tar.gz"
  expect "another file: code 2" [ "$CODE" = 2 ]
  expect "in words" says "is no bundle of ours"
  expect "it stays" [ "$(cat "$WORLD/thesis.tar.gz")" = thesis ]
  again "$WORLD/link.tar.gz"
  expect "a link that leads nowhere: code 2" [ "$CODE" = 2 ]
  expect "it stays" [ -L "$WORLD/link.tar.gz" ]
  again "$WORLD/thesis.tar.gz" --replace
  expect "--replace: code 0" [ "$CODE" = 0 ]
  expect "a bundle is there" [ -n "$(tar -tzf "$WORLD/thesis.tar.gz" isobar-bundle/run.sh)" ]
}
# there ARGS...: what run.sh says on the other machine.
there() {
  CODE=0
  OUT=$(cd / && PATH="$WORLD/bin:$PATH" ISOBAR_PYTHON=${OTHER_PYTHON:-python-there} "$WORLD/there/isobar-bundle/run.sh" "$@" 2>&1) || CODE=$?
}

case_bundle() {
  torch_here 2.11.0+cu130
  pack
  expect "code 0" [ "$CODE" = 0 ]
  expect "its size" says "MB, 10 programs"
  expect "without tests of the tree" [ ! -e "$WORLD/there/isobar-bundle/bin/test_of_the_tree" ]
  expect "without the window" [ ! -e "$WORLD/there/isobar-bundle/bin/isobar-gui" ]
  expect "with what tests read" [ -f "$WORLD/there/isobar-bundle/tests/reference/a.safetensors" ]
  expect "with what benches compare with" [ -f "$WORLD/there/isobar-bundle/tests/bench/peers/step_peer.py" ]
  expect "with a C library" [ -x "$WORLD/there/isobar-bundle/glibc/ld-linux-x86-64.so.2" ]
  there 01_baseline --set 'a=b c'
  expect "a lesson is started as ./isobar run does" [ "$OUT" = "run 01_baseline --set a=b c" ]
  there bench_environment
  expect "for others the library path of before" says "ISOBAR_LIBRARY_PATH_BEFORE="
  expect "torch's libraries" says "LD_LIBRARY_PATH=$WORLD/there/isobar-bundle/lib:$WORLD/site/torch/lib:$WORLD/site/nvidia/cu13/lib"
  expect "the plugin" says "ISOBAR_CUDA_PLUGIN=$WORLD/there/isobar-bundle/lib/libisobar_cuda.so"
  expect "the lessons" says "ISOBAR_HOME=$WORLD/there/isobar-bundle"
  ISOBAR_SYSROOT=$MACHINE there doctor
  expect "what the machine has" says "no NVIDIA driver: lessons run on the processor"
  OUT=$(ISOBAR_SYSROOT=$MACHINE "$WORLD/there/isobar-bundle/run.sh" doctor --json) || OUT=
  expect "as JSON, and nothing of a set-up" [ "$(python3 -c 'import json, sys; print(*json.load(sys.stdin))' <<<"$OUT")" = machine ]
  there doctor --what
  expect "wrong words for it: code 2" [ "$CODE" = 2 ]
  there gpu-tests
  expect "gpu tests" [ "$CODE" = 0 ]
  cp "$(type -P env)" "$WORLD/there/isobar-bundle/bin/test_gpu"
  there gpu-tests
  expect "without a device they fail instead of being skipped" says "ISOBAR_REQUIRE_GPU=1"
  cp "$(type -P true)" "$WORLD/there/isobar-bundle/bin/test_gpu"
  there tests
  expect "a failing test fails" [ "$CODE" = 1 ]
  expect "by name" says "FAILED with code 1"
  OUT=$(LD_LIBRARY_PATH=/was/there ISOBAR_OWN_GLIBC=1 ISOBAR_TORCH="$WORLD/site/torch" "$WORLD/there/isobar-bundle/run.sh" bench_environment 2>&1)
  expect "its own C library runs too" says "ISOBAR_HOME=$WORLD/there/isobar-bundle"
  expect "others get the library path of before there too" says "ISOBAR_LIBRARY_PATH_BEFORE=/was/there"
  expect "with torch's libraries" says "ISOBAR_TORCH_LIBRARIES=:$WORLD/site/torch/lib:"
  expect "programs start one another with it" says "ISOBAR_BIN=$WORLD/there/isobar-bundle/glibc"
  OUT=$(ISOBAR_OWN_GLIBC=1 ISOBAR_TORCH="$WORLD/site/torch" "$WORLD/there/isobar-bundle/run.sh" 01_baseline --x 2>&1)
  expect "a lesson is started as ./isobar run does there too" [ "$OUT" = "run 01_baseline --x" ]
  OUT=$(env -i "$WORLD/there/isobar-bundle/glibc/isobar-cli" no environment)
  expect "without an environment, as the reader of HDF5 files is" [ "$OUT" = "no environment" ]
}
# first_gpu WORDS...: on a machine that says that it has a driver.
first_gpu() {
  mkdir -p "$WORLD/with/dev"
  touch "$WORLD/with/dev/nvidiactl"
  ISOBAR_SYSROOT=$WORLD/with there first-gpu "$@"
}
# row NAME STATE: how many lines say so.
row() { grep -c "\"row\": \"$1\", \"state\": \"$2\"" "$WORLD/figures/results.jsonl"; }
case_bundle_plans_for_a_gpu() {
  local file
  after pack
  torch_here 2.11.0
  there first-gpu --dry-run
  expect "a plan" [ "$CODE" = 0 ]
  expect "what one types" says "./run.sh bench rungs --device cuda --batch 16"
  for file in "$ROOT"/tests/gpu/test_*.cpp; do
    file=${file##*/}
    expect "all of them, ${file%.cpp}" says "[#${file%.cpp}]"
  done
  expect "for a GPU's own tests" says "./run.sh test_gpu -# '[#test_nccl]'"
  expect "four calls of less than ten minutes, and what is asked for by name" \
    [ "$(awk '/in all/ { print ($3 < 600) }' <<<"$OUT" | paste -sd' ')" = "1 1 1 1 0" ]
  ISOBAR_SYSROOT=$WORLD/without there first-gpu "$WORLD/figures"
  expect "no driver: code 2" [ "$CODE" = 2 ]
  expect "in words" says "there is no NVIDIA driver on this machine"
  expect "and what can be done" says "--rehearse FOLDER does all that needs no GPU"
  local words
  for words in '' '--what' "$WORLD/figures nothing" "$WORLD/figures figures/nothing"; do
    # shellcheck disable=SC2086  # words
    first_gpu $words
    expect "\"$words\": code 2" [ "$CODE" = 2 ]
  done
  expect "nothing was begun" [ ! -e "$WORLD/figures" ]
  touch "$WORLD/file"
  first_gpu "$WORLD/file/figures"
  expect "no folder there: code 1" [ "$CODE" = 1 ]
  echo thesis >"$WORLD/thesis.tar.gz"
  first_gpu "$WORLD/thesis" figures
  expect "a file in the archive's place: code 2" [ "$CODE" = 2 ]
  expect "in words" says "is no archive that this wrote"
  expect "it stays" [ "$(cat "$WORLD/thesis.tar.gz")" = thesis ]
}
case_first_gpu_of_a_clone() {
  mkdir "$TREE/submit" && cp "$ROOT/submit/first_gpu.sh" "$TREE/submit/"
  isobar first-gpu --dry-run
  expect "what one types" says "./isobar bench rungs --device cuda --batch 16"
  isobar first-gpu
  expect "no folder: code 2" [ "$CODE" = 2 ]
  isobar first-gpu "$WORLD/figures"
  expect "no driver: code 2" [ "$CODE" = 2 ]
  expect "in words" says "there is no NVIDIA driver on this machine"
  driver 580.65.06
  isobar first-gpu "$WORLD/figures" nothing
  expect "no such call: code 2" [ "$CODE" = 2 ]
  expect "in words" says 'there is no call "nothing"'
  expect "nothing was built or begun" [ ! -s "$WORLD/calls" -a ! -e "$WORLD/figures" ]
  isobar --no-cuda first-gpu "$WORLD/figures" lives/doctor
  expect "all is built for it" called "ninja all"
  expect "it goes on with what is named" [ "$(row doctor 'done')" = 1 ]
  expect "which answers as JSON" python3 -c 'import json, sys; json.load(open(sys.argv[1]))["machine"]' "$WORLD/figures/lives-doctor.log"
  expect "PyTorch to compare with is brought first" [ -f "$PREFIX/peers-2.11.0/.complete" ]
  rm -r "$PREFIX/peers-2.11.0"
  touch "$WORLD/offline"
  isobar --no-cuda first-gpu "$WORLD/figures" lives/doctor
  expect "without a network it goes on: code 0" [ "$CODE" = 0 ]
  expect "and says what will be missing" says "what is measured beside PyTorch will be missing"
}
case_bundle_measures_a_gpu() {
  after pack
  torch_here 2.11.0
  first_gpu "$WORLD/figures" figures
  expect "a row that fails: code 1" [ "$CODE" = 1 ]
  expect "it is told" says "figures  fusion           failed"
  expect "the others are made" [ "$(row step 'done')" = 1 ]
  expect "each has a line when it begins" [ "$(row rungs-16 started)" = 1 ]
  expect "what is missing is told" says "figures/fusion (failed)"
  expect "all of it in one file" [ "$(tar -tzf "$WORLD/figures.tar.gz" | grep -c '\.log')" = 5 ]
  expect "its lines are JSON" python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$WORLD/figures/results.jsonl"
  first_gpu "$WORLD/figures" figures
  expect "nothing is made again" [ "$(row step started),$(row fusion started)" = 1,1 ]
  first_gpu "$WORLD/figures" figures --again
  expect "but for what failed, where that is asked for" [ "$(row step started),$(row fusion started)" = 1,2 ]
  first_gpu "$WORLD/figures" figures/step
  expect "and what is named" [ "$(row step started)" = 2 ]
  script nothing <<<'exit 77'
  cp "$WORLD/bin/nothing" "$WORLD/there/isobar-bundle/bin/bench_step"
  first_gpu "$WORLD/figures" figures/step
  expect "what is not there is no failure" [ "$CODE,$(row step 'not there')" = 0,1 ]
  first_gpu "$WORLD/figures" figures
  expect "and is not looked for again" [ "$(row step started)" = 3 ]
  first_gpu "$WORLD/figures" figures --again
  expect "but where that is asked for" [ "$(row step started)" = 4 ]
  script no-device <<<'echo "there is no such device"; exit 2'
  cp "$WORLD/bin/no-device" "$WORLD/there/isobar-bundle/bin/05_fusion"
  first_gpu "$WORLD/other" lives
  expect "where nothing can work: code 1" [ "$CODE" = 1 ]
  expect "in its own words" says "there is no such device"
  expect "and nothing else is tried" [ "$(grep -c '"row": "kernels"' "$WORLD/other/results.jsonl")" = 0 ]
  first_gpu "$WORLD/other" figures
  expect "nor by another call: code 1" [ "$CODE" = 1 ]
  expect "in its own words" says "there is no such device"
  expect "without its rows" [ "$(grep -c '"call": "figures"' "$WORLD/other/results.jsonl")" = 0 ]
  OTHER_PYTHON=no-such-python first_gpu "$WORLD/third"
  expect "no torch: code 1" [ "$CODE" = 1 ]
  expect "in words" says "there is no no-such-python here"
  expect "before anything is begun" [ ! -e "$WORLD/third" ]
}
case_bundle_makes_a_row_again() {
  after pack
  torch_here 2.11.0
  # As a lesson does: a folder that holds a run is refused.
  script lesson <<'BODY'
for word; do [ "${last:-}" != --run-dir ] || to=$word; last=$word; done
mkdir -p "${to%/*}" && mkdir "$to" "$to/fields" "$to/tb" || exit 2
echo step >"$to/rank-0000.jsonl"
echo large | tee "$to/weights.safetensors" "$to/tb/events.out" >"$to/fields/step-000001.npy"
BODY
  cp "$WORLD/bin/lesson" "$WORLD/there/isobar-bundle/bin/05_fusion"
  first_gpu "$WORLD/figures" lives/first-steps
  expect "made" [ "$CODE" = 0 ]
  first_gpu "$WORLD/figures" lives/first-steps
  expect "and made again" [ "$CODE,$(row first-steps 'done')" = 0,2 ]
  expect "what was there is kept" [ -f "$WORLD/figures/earlier/first-steps-1/first-steps/rank-0000.jsonl" ]
  expect "with its log" [ -f "$WORLD/figures/earlier/first-steps-1/lives-first-steps.log" ]
  expect "both are in the archive" [ "$(tar -tzf "$WORLD/figures.tar.gz" | grep -c 'first-steps/rank-0000.jsonl')" = 2 ]
  expect "without what is large" [ "$(tar -tzf "$WORLD/figures.tar.gz" | grep -c -e npy -e safetensors -e events)" = 0 ]
}
case_bundle_leaves_what_does_not_fit() {
  after pack
  torch_here 2.11.0
  cp "$(type -P true)" "$WORLD/there/isobar-bundle/bin/bench_fusion"
  first_gpu "$WORLD/figures" figures --seconds 110
  expect "rows that fit" [ "$CODE,$(row normalise 'done')" = 0,1 ]
  expect "and no other" [ "$(row rungs-16 started),$(row fusion started)" = 0,0 ]
  expect "in words" says "rungs-16         left for the next start: it takes 160 s, and this call has"
  expect "which are missing" says "figures/rungs-16 (not begun)"
  first_gpu "$WORLD/figures" figures/rungs-16 --seconds 110
  expect "one that is named takes what it takes" [ "$(row rungs-16 'done')" = 1 ]
  first_gpu "$WORLD/figures" figures
  expect "the next start makes them" [ "$(row fusion 'done'),$(row normalise started)" = 1,1 ]
  local words
  for words in --seconds '--seconds ten' '--seconds 0' '--seconds -5'; do
    # shellcheck disable=SC2086  # words
    first_gpu "$WORLD/figures" $words
    expect "\"$words\": code 2" [ "$CODE" = 2 ]
    expect "in words" says "is no number of seconds"
  done
}
case_bundle_has_one_call_at_a_time() {
  after pack
  torch_here 2.11.0
  mkdir "$WORLD/figures"
  script flock <<BODY
[ "\$1" = -w ] || exec $(type -P flock) "\$@"
exec $(type -P flock) -n "\${@:3}"  # as if it had waited
BODY
  (exec 8>>"$WORLD/figures/results.jsonl" && flock -n 8 && echo held >"$WORLD/held" && exec sleep 300) &
  local pid=$!
  expect "a row of another" in_the_end test -s "$WORLD/held"
  first_gpu "$WORLD/figures" figures
  expect "code 1" [ "$CODE" = 1 ]
  expect "in words" says "another first-gpu works in $WORLD/figures, or a row of one that was killed"
  expect "nothing was begun" [ ! -s "$WORLD/figures/results.jsonl" ]
  kill $pid
  wait $pid 2>/dev/null
  first_gpu "$WORLD/figures" figures/step
  expect "then it goes on" [ "$CODE" = 0 ]
}
case_bundle_mixes_no_rehearsal() {
  after pack
  torch_here 2.11.0
  there first-gpu --rehearse "$WORLD/figures" figures/step
  expect "rehearsed" [ "$CODE,$(row step 'done')" = 0,1 ]
  expect "it is marked" [ "$(grep -c '"rehearsal": true' "$WORLD/figures/results.jsonl")" = 2 ]
  first_gpu "$WORLD/figures"
  expect "figures of a device are not put to it: code 2" [ "$CODE" = 2 ]
  expect "in words" says "$WORLD/figures holds a rehearsal, and the two are not mixed"
  first_gpu "$WORLD/other" figures/step
  there first-gpu --rehearse "$WORLD/other"
  expect "nor the other way" says "$WORLD/other holds figures of a device"
}
case_bundle_tells_what_spoils_figures() {
  after pack
  torch_here 2.11.0
  smi() { printf 'case "$*" in\n%s\nesac\n' "$1" | script nvidia-smi; first_gpu "$WORLD/figures" lives/machine; }
  smi '*gpu=name*) echo "NVIDIA H100, 570.86.10, 81559, 40000, Enabled"; echo "NVIDIA H100, 570.86.10, 81559, 0, Disabled" ;;
    *apps*) echo "4711, 40000" ;; *compute_cap*) echo 9.0; echo 9.0 ;; -L) printf "GPU 0: NVIDIA H100\n  MIG 1g.10gb Device 0:\n  MIG 1g.10gb Device 1:\n" ;;'
  expect "code 0" [ "$CODE" = 0 ]
  expect "two devices" says "2 devices: cuda:0 is measured"
  expect "memory of others" says "device 0, NVIDIA H100: 40000 of 81559 MiB are taken by others"
  expect "and whose" grep -q '^4711, 40000$' "$WORLD/figures/lives-machine.log"
  expect "not where there are none" [ "${OUT/device 1/}" = "$OUT" ]
  expect "slices" says "device 0, NVIDIA H100 is cut by MIG into 2"
  expect "an old driver" says "driver 570.86.10 is older than 580"
  expect "an architecture that is served" [ "${OUT/capability/}" = "$OUT" ]
  smi '*gpu=name*) echo "NVIDIA B200, 580.65.06, [N/A], [N/A], Enabled" ;; *compute_cap*) echo 10.0 ;;'
  expect "memory that is not told: code 0" [ "$CODE" = 0 ]
  expect "in words" says "does not say how much of its memory others take"
  expect "no slice" says "has no slice yet: there is nothing to compute on"
  expect "a newer architecture" says "capability 10.0: the driver compiles our kernels when they first run; ./run.sh rebuild-plugin 100 does before"
  smi '*gpu=name*) echo "Tesla V100, 580.65.06, 16160, 0, [N/A]" ;; *compute_cap*) echo 7.0 ;;'
  expect "an older architecture" says "capability 7.0: 8.0 or newer is needed"
  smi '*) echo "Failed to initialize NVML: Driver/library version mismatch"; exit 18 ;;'
  expect "no answer: code 1" [ "$CODE" = 1 ]
  expect "it failed" says "machine          failed"
  expect "which are kept" grep -q "Driver/library version mismatch" "$WORLD/figures/lives-machine.log"
  smi '*gpu=name*) echo "NVIDIA H200, 580.65.06, 143771, 3, Disabled" ;; *compute_cap*) echo 9.0 ;;'
  expect "each row says on which device" [ "$(grep -o '"device": .*' "$WORLD/figures/results.jsonl" | tail -n 1)" = '"device": "NVIDIA H200"}' ]
  expect "of a good one nothing" [ "$(grep -c NOTE "$WORLD/figures/lives-machine.log")" = 0 ]
}
none_runs() { ! pgrep -f "$1" >/dev/null; }
case_bundle_is_cut_off_while_it_measures() {
  after pack
  torch_here 2.11.0
  script stands-still <<<"(trap '' TERM; echo >'$WORLD/stands'; exec sleep 901) & exec sleep 900"
  cp "$WORLD/bin/stands-still" "$WORLD/there/isobar-bundle/bin/bench_fusion"
  mkdir -p "$WORLD/with/dev"
  touch "$WORLD/with/dev/nvidiactl"
  local signal pid
  for signal in TERM HUP KILL; do
    rm -rf "$WORLD/figures" "$WORLD/figures.tar.gz" "$WORLD/stands"
    PATH="$WORLD/bin:$PATH" ISOBAR_SYSROOT=$WORLD/with ISOBAR_PYTHON=python-there \
      "$WORLD/there/isobar-bundle/submit/first_gpu.sh" "$WORLD/figures" figures >"$WORLD/said" 2>&1 &
    pid=$!
    expect "it comes to the row" in_the_end test -s "$WORLD/stands"
    kill -$signal $pid
    CODE=0
    wait $pid || CODE=$?
    expect "$signal: rows before it are there" [ "$(row rungs-16 'done')" = 1 ]
    expect "$signal: in the archive too" [ "$(tar -xzOf "$WORLD/figures.tar.gz" figures/results.jsonl | grep -c '"row": "rungs-16", "state": "done"')" = 1 ]
    expect "$signal: none behind it" [ "$(row step started)" = 0 ]
    expect "$signal: it is seen which one was cut off" [ "$(row fusion 'done'),$(row fusion failed)" = 0,0 ]
    [ $signal != TERM ] || expect "the code of a signal" [ $CODE = 143 ]
    [ $signal != HUP ] || expect "the code of a hang-up" [ $CODE = 129 ]
    expect "$signal: what it had started ends" in_the_end none_runs "first_gpu.sh --row $WORLD/figures"
    [ $signal = KILL ] || expect "it says so" grep -q "stopped by $signal" "$WORLD/said"
  done
  # Killed before a row was tied to it.
  script setpriv <<BODY
[ "\$*" = '--pdeathsig TERM true' ] || {
  kill -KILL \$PPID
  while grep -q "^PPid:[^0-9]*\$PPID\\$" /proc/\$\$/status; do :; done
}
exec $(type -P setpriv) "\$@"
BODY
  PATH="$WORLD/bin:$PATH" first_gpu "$WORLD/other" figures/fusion
  expect "killed at once" [ "$CODE" = 137 ]
  expect "a row that was begun then ends" in_the_end none_runs "first_gpu.sh --row $WORLD/other"
  rm "$WORLD/bin/setpriv"
  cp "$(type -P true)" "$WORLD/there/isobar-bundle/bin/bench_fusion"
  first_gpu "$WORLD/figures" figures
  expect "the next start goes on there" [ "$(row fusion 'done'),$(row rungs-16 started)" = 1,1 ]
  expect "to the end" [ "$CODE" = 0 ]
}
case_bundle_keeps_what_ended_beside() {
  after pack
  torch_here 2.11.0
  mkdir -p "$WORLD/with/dev"
  touch "$WORLD/with/dev/nvidiactl"
  script make_fields <<<"sed -n 's/^PPid:[^0-9]*//p' /proc/\$PPID/status >'$WORLD/row.part'; mv '$WORLD/row.part' '$WORLD/row'"
  script 08_cuda_graphs <<<"until [ -s '$WORLD/row' ] && [ ! -e /proc/\$(cat '$WORLD/row') ]; do sleep 0.05; done; echo >'$WORLD/alone'; exec sleep 300"
  cp "$WORLD/bin/make_fields" "$WORLD/bin/08_cuda_graphs" "$WORLD/there/isobar-bundle/bin/"
  PATH="$WORLD/bin:$PATH" ISOBAR_SYSROOT=$WORLD/with ISOBAR_PYTHON=python-there \
    "$WORLD/there/isobar-bundle/submit/first_gpu.sh" "$WORLD/figures" course >"$WORLD/said" 2>&1 &
  local pid=$!
  expect "the data is made, and the row beside it goes on" in_the_end test -s "$WORLD/alone"
  kill $pid
  CODE=0
  wait $pid || CODE=$?
  expect "stopped" [ $CODE = 143 ]
  expect "the data is done" [ "$(row data 'done'),$(row data 'cut off')" = 1,0 ]
  expect "the other is cut off" [ "$(row base-08 'done'),$(row base-08 'cut off')" = 0,1 ]
}
case_bundle_builds_its_plugin_again() {
  after pack
  torch_here 2.11.0
  cp "$WORLD/there/isobar-bundle/lib/libisobar_cuda.so" "$WORLD/plugin"
  CUDACXX=$WORLD/none there rebuild-plugin
  expect "no nvcc: code 1" [ "$CODE" = 1 ]
  expect "in words" says "there is no nvcc here"
  script nvcc12 <<<'echo "Cuda compilation tools, release 12.4, V12.4.1"'
  CUDACXX=$WORLD/bin/nvcc12 there rebuild-plugin
  expect "of another CUDA" says "is not of CUDA 13"
  script nvcc13 <<<'echo "Cuda compilation tools, release 13.0, V13.0.88"'
  CUDACXX=$WORLD/bin/nvcc13 there rebuild-plugin
  expect "without headers" says "there are no headers in $WORLD/site/torch/include"
  mkdir -p "$WORLD/site/torch/include/ATen"
  CUDACXX=$WORLD/bin/nvcc13 there rebuild-plugin ninety
  expect "no architecture: code 2" [ "$CODE" = 2 ]
  mkdir -p "$WORLD/there/isobar-bundle/engine/training/kernels"
  echo 'int' >"$WORLD/there/isobar-bundle/engine/training/kernels/a_cuda.cu"
  script nvcc13 <<<'[ "$1" != --version ] || { echo "release 13.0"; exit; }; echo "a_cuda.cu(1): error: a name is missing" >&2; exit 1'
  CUDACXX=$WORLD/bin/nvcc13 there rebuild-plugin
  expect "what does not compile: code 1" [ "$CODE" = 1 ]
  expect "in the compiler's words" says "a name is missing"
  expect "the plugin is as it was" cmp -s "$WORLD/there/isobar-bundle/lib/libisobar_cuda.so" "$WORLD/plugin"
}
case_bundle_on_the_wrong_machine() {
  after pack
  torch_here 2.10.0
  there 01_baseline
  expect "another torch: code 2" [ "$CODE" = 2 ]
  there bench_environment
  expect "in words" says "the torch here is 2.10.0"
  rm -rf "$WORLD/site/torch"
  there bench_environment
  expect "no torch" says "python-there has no torch"
  OTHER_PYTHON=no-such-python there bench_environment
  expect "no Python" says "there is no no-such-python here"
  there nothing
  expect "no such program: code 2" [ "$CODE" = 2 ]
  expect "the ones that are" says "there are: 01_baseline 05_fusion bench_environment bench_fusion bench_normalise bench_rungs bench_step isobar-cli"
  there ../run.sh
  expect "only programs of the bundle" [ "$CODE" = 2 ]
  there bench
  expect "a bench has a name" [ "$CODE" = 2 ]
}
case_bundle_with_wrong_words() {
  after pack
  local words
  for words in '' '--what' 'a b' "$WORLD/no/such/folder/b.tar.gz" "$WORLD"; do
    CODE=0
    # shellcheck disable=SC2086  # words
    OUT=$("$TREE/submit/bundle.sh" $words 2>&1) || CODE=$?
    expect "\"$words\": code 2" [ "$CODE" = 2 ]
  done
  isobar --no-cuda bundle "$WORLD/no/such/folder/b.tar.gz"
  expect "./isobar bundle: code 2" [ "$CODE" = 2 ]
  expect "before anything is brought or built" [ ! -s "$WORLD/calls" ]
  rm -r "$TREE/build/bin"
  CODE=0
  OUT=$("$TREE/submit/bundle.sh" "$WORLD/c.tar.gz" 2>&1) || CODE=$?
  expect "nothing built: code 1" [ "$CODE" = 1 ]
  expect "no file is left" [ ! -e "$WORLD/c.tar.gz" ]
  mkdir -p "$TREE/build/bin"
  cp "$(type -P true)" "$TREE/build/bin/bench_step"
  sed -i 's/^most_bytes=.*/most_bytes=500000/' "$TREE/submit/bundle.sh"
  CODE=0
  OUT=$("$TREE/submit/bundle.sh" "$WORLD/c.tar.gz" 2>&1) || CODE=$?
  expect "too large: code 1" [ "$CODE" = 1 ]
  expect "in words" says "at most 1 MB"
  expect "no file is left" [ ! -e "$WORLD/c.tar.gz" ]
}
