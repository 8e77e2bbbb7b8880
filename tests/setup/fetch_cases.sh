# Cases of run_all.sh: what is fetched and refused, and what a machine and its folders must have.
# shellcheck shell=bash

case_fresh_machine() {
  touch "$WORLD/no-packages"
  isobar run 01_baseline --set 'a=b c;$(touch canary)'
  expect "code 0" [ "$CODE" = 0 ]
  expect "the plan with sizes" says "install 3 Debian packages (112 MB to fetch)"
  expect "the libtorch files in the plan" says "fetch libtorch 2.11.0"
  expect "no question without a terminal" [ "${OUT/Go on/}" = "$OUT" ]
  expect "what fetches comes first" called "install --no-install-recommends python3 python3-pip unzip ca-certificates"
  expect "packages installed without recommends" called "install --no-install-recommends g++ cmake"
  expect "no test library for a run" count_is catch2 0
  expect "the data set beside it" count_is "make_fields --grid 72x144" 1
  expect "libtorch unpacked" complete
  expect "arguments unchanged" says 'cli <run> <01_baseline> <--set> <a=b c;$(touch canary)>'
  expect "no leftovers" no_leftovers
  expect "the download is not kept twice" [ -z "$(ls "$PREFIX/downloads")" ]
}
case_changed_pins_set_up_again() {
  after isobar setup
  touch "$TREE/cmake/setup/packages_base.txt"
  : >"$WORLD/calls"
  isobar ladder
  expect "configured again" called "cmake --preset"
  expect "not fetched again" count_is pip 0
}
case_altered_download_is_refused() {
  touch "$WORLD/altered"
  isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "it says so" says "not the pinned one; it was thrown away"
  expect "nothing kept" [ -z "$(ls -A "$PREFIX/downloads")" ]
  expect "not unpacked" [ ! -e "$PREFIX/libtorch-2.11.0" ]
  rm "$WORLD/altered"
  isobar setup
  expect "the next run finishes" complete
}
case_half_file_is_replaced() {
  mkdir -p "$PREFIX/downloads"
  head -c 100 "$WORLD/wheels/torch-2.11.0-x.whl" >"$PREFIX/downloads/torch-2.11.0-x.whl"
  isobar setup
  expect "it says so" says "damaged or another; fetching it again"
  expect "fetched" called "pip torch"
  expect "complete" complete
}
case_file_brought_by_hand() {
  mkdir -p "$PREFIX/downloads"
  cp "$WORLD"/wheels/* "$PREFIX/downloads/"
  touch "$WORLD/offline"
  isobar setup
  expect "no network needed" complete
  expect "the files stay" [ -f "$PREFIX/downloads/torch-2.11.0-x.whl" ]
}
case_offline() {
  touch "$WORLD/offline"
  isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "file and folder" says "bring torch-2.11.0-x.whl"
  expect "the folder" says "$PREFIX/downloads/"
  expect "no leftovers" no_leftovers
}
case_interrupted_download() {
  touch "$WORLD/slow"
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" exec ./isobar setup >/dev/null 2>&1) &
  local pid=$!
  expect "it came so far" in_the_end test -s "$WORLD/pip-pid"
  kill -TERM $pid
  wait $pid
  expect "code 143" [ $? = 143 ]
  expect "no leftovers" no_leftovers
  expect "not complete" [ ! -e "$PREFIX/libtorch-2.11.0" ]
  rm "$WORLD/slow"
  isobar setup
  expect "the next run finishes" complete
}
case_killed_while_unpacking() {
  mkdir -p "$PREFIX/libtorch-2.11.0/torch" "$PREFIX/libtorch-2.11.0.part-1/torch"
  isobar setup
  expect "a folder without its mark is not believed" complete
  expect "leftovers of a killed run are gone" no_leftovers
  expect "unpacked whole" [ -f "$PREFIX/libtorch-2.11.0/nvidia/cu13/lib/libcudart.so.13" ]
}
case_archive_that_leads_outside() {
  (cd "$WORLD/src" && python3 -c '
import zipfile
with zipfile.ZipFile("../wheels/nvidia_a-1.whl", "w") as z:
    z.writestr("nvidia/cu13/lib/../../../../evil", "x")
    for n in range(5000): z.writestr(f"nvidia/cu13/lib/a-file-with-a-long-name-{n:06}", "")')
  local sha
  sha=$(sha256sum "$WORLD/wheels/nvidia_a-1.whl" | cut -d' ' -f1)
  sed -i "s/^nvidia_a==1 .*/nvidia_a==1 --hash=sha256:$sha/" "$TREE/cmake/setup/wheels.txt"
  isobar setup
  expect "refused" says "lead outside"
  expect "code 1" [ "$CODE" = 1 ]
  expect "nothing outside" [ ! -e "$PREFIX/evil" ]
}
case_apt_fails() {
  touch "$WORLD/no-packages" "$WORLD/apt-fails"
  isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "its words" says "Unable to locate package"
  expect "the log" says "$PREFIX/logs/apt.log"
}
case_other_system() {
  rm "$WORLD/bin/apt-get" "$WORLD/bin/dpkg-query"
  CODE=0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$WORLD/nosudo" ISOBAR_PREFIX=$PREFIX ./isobar setup 2>&1 </dev/null) || CODE=$?
  expect "code 1" [ "$CODE" = 1 ]
  expect "what is missing" says "these programs are missing: g++"
  expect "how else" says "CMAKE_PREFIX_PATH"
}
case_disk_full() {
  touch "$WORLD/disk-full"
  isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "figures" says "660 MB are needed, 1 MB are free"
  expect "nothing fetched" count_is pip 0
}
case_two_at_once() {
  local first second
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar setup >"$WORLD/one" 2>&1) &
  first=$!
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar setup >"$WORLD/two" 2>&1) &
  second=$!
  wait $first
  expect "the first succeeds" [ $? = 0 ]
  wait $second
  expect "the second succeeds" [ $? = 0 ]
  expect "fetched once" count_is "pip torch" 1
  OUT=$(cat "$WORLD/one" "$WORLD/two")
  expect "one waited and said so" says "another set-up (process"
}
case_other_machine() {
  touch "$WORLD/other-machine"
  isobar setup
  expect "refused in words" says "x86_64, this machine is aarch64"
}
case_prefix_that_cannot_be_written() {
  PREFIX=/proc/isobar isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "a way out" says "export ISOBAR_PREFIX="
}
case_relative_prefix() {
  PREFIX=cache isobar setup
  expect "code 0" [ "$CODE" = 0 ]
  expect "below the working folder" [ -f "$TREE/cache/libtorch-2.11.0/.complete" ]
}
case_bench_brings_peers() {
  sed -i '1s/ [0-9]*$/ 3000000000/' "$TREE/cmake/setup/peers.txt"
  isobar --yes bench step --quick
  expect "code 0" [ "$CODE" = 0 ]
  expect "sizes are said" says "fetch PyTorch 2.11.0 for Python with what it needs (3000 MB)"
  expect "unpacked" [ -f "$PREFIX/peers-2.11.0/torch/lib/libtorch_cpu.so" ]
  expect "marked" [ -f "$PREFIX/peers-2.11.0/.complete" ]
  expect "no leftovers" no_leftovers
  expect "the downloads are not kept" [ -z "$(ls "$PREFIX/downloads")" ]
  : >"$WORLD/calls"
  isobar bench step
  expect "not fetched again" count_is pip 0
  rm "$PREFIX/peers-2.11.0/.complete"
  isobar bench start --help
  expect "help fetches nothing" count_is "pip torch" 0
  isobar bench start
  expect "a folder without its mark is not believed" called "pip torch"
}
case_bench_offline() {
  after isobar setup
  touch "$WORLD/offline"
  isobar bench step --json 2>/dev/null
  expect "code 1" [ "$CODE" = 1 ]
  expect "the file to bring" says "bring torch-2.11.0-x.whl"
  expect "no half folder" [ -z "$(ls -d "$PREFIX"/peers-* 2>/dev/null)" ]
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar bench step --json 2>/dev/null </dev/null)
  expect "with --json nothing of the set-up is on stdout" [ -z "$OUT" ]
}
case_no_home() {
  CODE=0
  OUT=$(cd "$TREE" && env -u HOME -u ISOBAR_PREFIX -u XDG_CACHE_HOME PATH="$WORLD/bin:$PATH" ./isobar doctor 2>&1) || CODE=$?
  expect "code 2" [ "$CODE" = 2 ]
  expect "a way out" says "export ISOBAR_PREFIX="
}
case_home_that_cannot_be_written() {
  mkdir "$WORLD/elsewhere"
  local place
  for place in '' "$WORLD/elsewhere"; do
    CODE=0
    OUT=$(cd "$TREE" && env -u XDG_CACHE_HOME -u CCACHE_DIR HOME=/proc ISOBAR_PREFIX="$place" PATH="$WORLD/bin:$PATH" ./isobar --yes run 01_baseline 2>&1) || CODE=$?
    if [ -z "$place" ]; then
      expect "code 1" [ "$CODE" = 1 ]
      expect "what cannot be written" says "the folder for cached files cannot be written"
      expect "where" says "/proc/.cache/isobar"
      expect "a way out" says "export ISOBAR_PREFIX="
    else
      expect "with it, code 0" [ "$CODE" = 0 ]
    fi
  done
}
case_asks_where_a_person_is() {
  type -P script >/dev/null || return 0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" timeout 900 script -qec "./isobar setup" /dev/null <<<n 2>&1)
  expect "it asks" says "Go on? [Y/n]"
  expect "nothing was fetched" count_is pip 0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" timeout 900 script -qec "./isobar --yes setup" /dev/null </dev/null 2>&1)
  expect "--yes does not ask" [ "${OUT/Go on/}" = "$OUT" ]
  expect "and goes on" complete
}
