# Cases of run_all.sh: ./isobar clean removes what Isobar knows by its marks, and nothing else.
# shellcheck shell=bash

# full_prefix: all that can be cleaned, and things beside it that may not be touched.
full_prefix() {
  after isobar --cuda setup
  mkdir -p "$PREFIX/data/fields-4x8-v1" "$PREFIX/data/era5" "$PREFIX/peers-1" "$PREFIX/mine" "$TREE/runs/01_baseline-x" "$PREFIX/window"
  printf 'name = "a"\nsynthetic = true\ngenerator = 1\n' >"$PREFIX/data/fields-4x8-v1/dataset.toml"
  printf 'name = "b"\nsynthetic = false\n' >"$PREFIX/data/era5/dataset.toml"
  touch "$PREFIX/peers-1/.complete" "$PREFIX/mine/file" "$PREFIX/downloads/notes.txt" "$PREFIX/window/start-1.log" "$PREFIX/window/settings.ini"
  cp "$WORLD/wheels/torch-2.11.0-x.whl" "$PREFIX/downloads/"
}
kept() {
  expect "other folders stay" [ -f "$PREFIX/mine/file" ]
  expect "other files stay" [ -f "$PREFIX/downloads/notes.txt" ]
  expect "settings stay" [ -f "$PREFIX/window/settings.ini" ]
  expect "data somebody brought stays" [ -f "$PREFIX/data/era5/dataset.toml" ]
  expect "runs stay" [ -d "$TREE/runs/01_baseline-x" ]
}

case_clean_asks() {
  full_prefix
  isobar clean
  expect "code 2 where nobody can be asked" [ "$CODE" = 2 ]
  expect "it lists" says "downloads"
  expect "nothing removed" [ -f "$PREFIX/downloads/torch-2.11.0-x.whl" ]
  isobar clean --dry-run --all
  expect "a dry run is no error" [ "$CODE" = 0 ]
  expect "it lists all" says "libtorch-2.11.0"
  expect "nothing removed" complete
  type -P script >/dev/null || return 0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" timeout 900 script -qec "./isobar clean" /dev/null <<<n 2>&1)
  expect "a person is asked" says "Remove all of this? [y/N]"
  expect "no is no" says "nothing was removed"
}
case_clean_what_is_cheap() {
  full_prefix
  isobar clean --yes
  expect "code 0" [ "$CODE" = 0 ]
  expect "downloads" [ ! -e "$PREFIX/downloads/torch-2.11.0-x.whl" ]
  expect "build" [ ! -e "$TREE/build" ]
  expect "logs" [ ! -e "$PREFIX/window/start-1.log" ]
  expect "libtorch stays" complete
  expect "data stays" [ -d "$PREFIX/data/fields-4x8-v1" ]
  kept
  isobar clean --yes
  expect "again: nothing to do" says "nothing to clean"
}
case_clean_all() {
  full_prefix
  isobar clean --all --yes
  expect "libtorch" [ ! -e "$PREFIX/libtorch-2.11.0" ]
  expect "peers" [ ! -e "$PREFIX/peers-1" ]
  expect "synthetic data" [ ! -e "$PREFIX/data/fields-4x8-v1" ]
  kept
  isobar run 01_baseline
  expect "and set up anew" complete
}
case_clean_leaves_what_somebody_put_there() {
  local set=$PREFIX/data/fields-4x8-v1 file
  full_prefix
  mkdir -p "$set/train" "$set/valid" "$set/stats" "$set/my weights" "$PREFIX/peers-1/torch" "$PREFIX/peers-1/torch-2.dist-info" "$PREFIX/system/tools"
  touch "$PREFIX/system/.complete" "$PREFIX/peers-1/torch/x.py" "$set"/{train/2001.h5,train/2002.h5.part-7,valid/2003.h5,stats/time_means.npy}
  printf 'torch/x.py,,\ntorch-2.dist-info/RECORD,,\n' >"$PREFIX/peers-1/torch-2.dist-info/RECORD"
  local -a theirs=("$set/train/notes.txt" "$set/train/1979.h5" "$set/my weights" "$set/stats/time_means.npy.bak"
    "$PREFIX/libtorch-2.11.0/mine.cpp" "$PREFIX/peers-1/notes" "$PREFIX/system/thesis.tex" "$TREE/build/plots")
  for file in "${theirs[@]}"; do [ -e "$file" ] || [ "$file" != "${file% *}" ] || echo theirs >"$file"; done
  isobar clean --all --dry-run
  for file in "${theirs[@]}"; do expect "a dry run names $file" says "$file"; done
  isobar clean --all --yes
  expect "code 0" [ "$CODE" = 0 ]
  for file in "${theirs[@]}"; do
    expect "$file is named" says "$file"
    expect "$file stays" [ -e "$file" ]
  done
  for file in "$set"/{dataset.toml,train/2001.h5,train/2002.h5.part-7,valid,stats/time_means.npy} "$TREE/build/CMakeCache.txt" \
    "$PREFIX"/{libtorch-2.11.0/torch,peers-1/torch,peers-1/torch-2.dist-info,system/tools}; do
    expect "$file is gone" [ ! -e "$file" ]
  done
  kept
  isobar clean --all --yes
  expect "again: nothing to do" says "nothing to clean"
}
case_clean_cuda() {
  full_prefix
  isobar clean cuda --yes
  expect "the CUDA part" [ ! -e "$PREFIX/libtorch-2.11.0/torch/lib/libtorch_cuda.so" ]
  expect "its compiler" [ ! -e "$PREFIX/libtorch-2.11.0/nvidia/cu13/bin" ]
  expect "its marks" [ ! -e "$PREFIX/libtorch-2.11.0/.complete-cuda" ]
  expect "the CPU part stays" [ -f "$PREFIX/libtorch-2.11.0/nvidia/cu13/lib/libcudart.so.13" ]
  expect "and is believed" complete
  isobar clean nothing
  expect "an unknown name: code 2" [ "$CODE" = 2 ]
  expect "in words" says 'nothing called "nothing"'
}
case_clean_list_that_leads_outside() {
  full_prefix
  printf '../../mine/file\n%s/mine/file\ntorch/lib/libtorch_cuda.so\n' "$PREFIX" >"$PREFIX/libtorch-2.11.0/.files-cuda"
  isobar clean cuda --yes
  expect "only what is inside is removed" [ ! -e "$PREFIX/libtorch-2.11.0/torch/lib/libtorch_cuda.so" ]
  kept
}
case_clean_links() {
  full_prefix
  mkdir -p "$WORLD/far"
  mv "$PREFIX/data" "$WORLD/far/data" && ln -s "$WORLD/far/data" "$PREFIX/data"
  mv "$PREFIX/libtorch-2.11.0" "$WORLD/far/lib" && ln -s "$WORLD/far/lib" "$PREFIX/libtorch-2.11.0"
  isobar clean --all --yes
  expect "said" says "left alone, there is a symbolic link"
  expect "data behind a link stays" [ -f "$WORLD/far/data/fields-4x8-v1/dataset.toml" ]
  expect "libtorch behind a link stays" [ -f "$WORLD/far/lib/.complete" ]
}
case_clean_foreign_prefix() {
  local place
  full_prefix
  mkdir -p "$WORLD/home/deep"
  for place in / "$WORLD/home" "$WORLD" "$TREE"; do
    CODE=0
    OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" HOME="$WORLD/home" ISOBAR_PREFIX=$place ./isobar clean --all --yes 2>&1) || CODE=$?
    expect "$place is refused" [ "$CODE" = 2 ]
    expect "in words" says "nothing in it is removed"
  done
  mkdir -p "$WORLD/other/build" "$WORLD/other/data/x" "$WORLD/other/libtorch-2.11.0"
  touch "$WORLD/other/data/x/dataset.toml"
  rm -rf "$TREE/build"
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX=$WORLD/other ./isobar clean --all --yes 2>&1)
  expect "without marks nothing is Isobar's" says "nothing to clean"
  expect "it stays" [ -d "$WORLD/other/libtorch-2.11.0" ]
}
case_clean_waits_for_nobody() {
  full_prefix
  exec 6>>"$PREFIX/.lock"
  flock 6
  isobar clean --all --yes
  exec 6>&-
  expect "code 1 while a set-up is at work" [ "$CODE" = 1 ]
  expect "in words" says "a set-up is at work"
  expect "nothing removed" complete
}
