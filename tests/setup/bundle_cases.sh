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
  cp "$(type -P echo)" "$TREE/build/bin/isobar-cli"
  cp "$(type -P false)" "$TREE/build/bin/01_baseline"
  cp "$(type -P env)" "$TREE/build/bin/show_environment"
  cp "$(type -P true)" "$TREE/build/bin/test_gpu"
  cp "$(type -P false)" "$TREE/build/bin/test_other"
  cp "$(type -P true)" "$TREE/build/bin/bench_rungs"
  cp "$(type -P false)" "$TREE/build/bin/bench_fusion"
  cp "$(type -P true)" "$TREE/build/bin/isobar-gui"
  cp "$(type -P true)" "$TREE/build/lib/libisobar_cuda.so"
  touch "$TREE/tests/bench/peers/step_peer.py"
  echo golden >"$TREE/tests/reference/a.safetensors"
  CODE=0
  OUT=$("$TREE/submit/bundle.sh" "$WORLD/b.tar.gz" 2>&1) || CODE=$?
  tar -xzf "$WORLD/b.tar.gz" -C "$WORLD/there"
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
  expect "its size" says "MB, 7 programs"
  expect "without the window" [ ! -e "$WORLD/there/isobar-bundle/bin/isobar-gui" ]
  expect "with what tests read" [ -f "$WORLD/there/isobar-bundle/tests/reference/a.safetensors" ]
  expect "with what benches compare with" [ -f "$WORLD/there/isobar-bundle/tests/bench/peers/step_peer.py" ]
  expect "with a C library" [ -x "$WORLD/there/isobar-bundle/glibc/ld-linux-x86-64.so.2" ]
  there 01_baseline --set 'a=b c'
  expect "a lesson is started as ./isobar run does" [ "$OUT" = "run 01_baseline --set a=b c" ]
  there show_environment
  expect "torch's libraries" says "LD_LIBRARY_PATH=$WORLD/there/isobar-bundle/lib:$WORLD/site/torch/lib:$WORLD/site/nvidia/cu13/lib"
  expect "the plugin" says "ISOBAR_CUDA_PLUGIN=$WORLD/there/isobar-bundle/lib/libisobar_cuda.so"
  expect "the lessons" says "ISOBAR_HOME=$WORLD/there/isobar-bundle"
  there gpu-tests
  expect "gpu tests" [ "$CODE" = 0 ]
  cp "$(type -P env)" "$WORLD/there/isobar-bundle/bin/test_gpu"
  there gpu-tests
  expect "without a device they fail instead of being skipped" says "ISOBAR_REQUIRE_GPU=1"
  cp "$(type -P true)" "$WORLD/there/isobar-bundle/bin/test_gpu"
  there tests
  expect "a failing test fails" [ "$CODE" = 1 ]
  expect "by name" says "FAILED with code 1"
  OUT=$(ISOBAR_OWN_GLIBC=1 ISOBAR_TORCH="$WORLD/site/torch" "$WORLD/there/isobar-bundle/run.sh" show_environment 2>&1)
  expect "its own C library runs too" says "ISOBAR_HOME=$WORLD/there/isobar-bundle"
  expect "with torch's libraries" says "ISOBAR_TORCH_LIBRARIES=:$WORLD/site/torch/lib:"
  expect "programs start one another with it" says "ISOBAR_BIN=$WORLD/there/isobar-bundle/glibc"
  OUT=$(ISOBAR_OWN_GLIBC=1 ISOBAR_TORCH="$WORLD/site/torch" "$WORLD/there/isobar-bundle/run.sh" 01_baseline --x 2>&1)
  expect "a lesson is started as ./isobar run does there too" [ "$OUT" = "run 01_baseline --x" ]
  OUT=$(env -i "$WORLD/there/isobar-bundle/glibc/isobar-cli" no environment)
  expect "without an environment, as the reader of HDF5 files is" [ "$OUT" = "no environment" ]
}
case_bundle_measures_a_gpu() {
  torch_here 2.11.0
  pack
  there gpu
  expect "into which folder: code 2" [ "$CODE" = 2 ]
  there gpu "$WORLD/figures" rungs-3
  expect "no such part: code 2" [ "$CODE" = 2 ]
  expect "the parts that are" says "parts: tests-parts tests-lessons"
  there gpu "$WORLD/figures" tests-parts
  expect "tests alone" [ "$CODE" = 0 ]
  expect "with a log" [ -f "$WORLD/figures/tests-parts.log" ]
  expect "all of it in one file" [ "$(tar -tzf "$WORLD/figures.tar.gz" | grep -c log)" = 1 ]
  echo '{}' >"$WORLD/figures/normalise.json"
  printf '{\n  "complete": false\n}\n' >"$WORLD/figures/rungs-2.json"
  echo '{"rows": [{"not_measured": "losses differ"}]}' >"$WORLD/figures/rungs-4.json"
  there gpu "$WORLD/figures" rungs-1 fusion
  expect "a part that fails: code 1" [ "$CODE" = 1 ]
  expect "by name" says "FAILED with code 1: $WORLD/figures/fusion.log"
  expect "the other did not" says "1 of 2 parts failed"
  there gpu "$WORLD/figures"
  expect "what is there is not measured again" [ "${OUT/== normalise/}" = "$OUT" ]
  expect "the rest is" says "== rungs-16"
  expect "what was cut off too" says "== rungs-2"
  expect "and what could not be compared" says "== rungs-4"
}
case_bundle_on_the_wrong_machine() {
  torch_here 2.10.0
  pack
  there 01_baseline
  expect "another torch: code 2" [ "$CODE" = 2 ]
  there show_environment
  expect "in words" says "the torch here is 2.10.0"
  rm -rf "$WORLD/site/torch"
  there show_environment
  expect "no torch" says "python-there has no torch"
  OTHER_PYTHON=no-such-python there show_environment
  expect "no Python" says "there is no no-such-python here"
  there nothing
  expect "no such program: code 2" [ "$CODE" = 2 ]
  expect "the ones that are" says "there are: 01_baseline bench_fusion bench_rungs isobar-cli show_environment"
  there ../run.sh
  expect "only programs of the bundle" [ "$CODE" = 2 ]
  there bench
  expect "a bench has a name" [ "$CODE" = 2 ]
}
case_bundle_with_wrong_words() {
  pack
  local words
  for words in '' '--what' 'a b' "$WORLD/no/such/folder/b.tar.gz" "$WORLD"; do
    CODE=0
    # shellcheck disable=SC2086  # words
    OUT=$("$TREE/submit/bundle.sh" $words 2>&1) || CODE=$?
    expect "\"$words\": code 2" [ "$CODE" = 2 ]
  done
  rm -r "$TREE/build/bin"
  CODE=0
  OUT=$("$TREE/submit/bundle.sh" "$WORLD/c.tar.gz" 2>&1) || CODE=$?
  expect "nothing built: code 1" [ "$CODE" = 1 ]
  expect "no file is left" [ ! -e "$WORLD/c.tar.gz" ]
  mkdir -p "$TREE/build/bin"
  head -c 80000000 /dev/urandom >"$WORLD/noise"
  cp "$(type -P true)" "$TREE/build/bin/huge"
  objcopy --add-section noise="$WORLD/noise" "$TREE/build/bin/huge" 2>/dev/null || return 0
  CODE=0
  OUT=$("$TREE/submit/bundle.sh" "$WORLD/c.tar.gz" 2>&1) || CODE=$?
  expect "too large: code 1" [ "$CODE" = 1 ]
  expect "in words" says "at most 64 MB"
  expect "no file is left" [ ! -e "$WORLD/c.tar.gz" ]
}
