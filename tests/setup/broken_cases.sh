# Cases of run_all.sh: a set-up that is broken off anywhere leaves nothing wrong behind, and the next one finishes.
# shellcheck shell=bash

# breakable: each of the programs by which the set-up changes the disk counts its calls; at call number $WORLD/break-at the whole
# set-up is killed, before the program or after half of an archive.
breakable() {
  local name
  for name in unzip sha256sum mv rm mkdir ln chmod find cmake ninja pip-step; do
    [ -x "$WORLD/bin/$name" ] && mv "$WORLD/bin/$name" "$WORLD/bin/real-$name"
    [ -x "$WORLD/bin/real-$name" ] || ln -s "$(type -P "$name" || echo /bin/true)" "$WORLD/bin/real-$name"
    script "$name" <<BODY
exec 5>>"\$WORLD/count.lock"
flock 5
read -r count <"\$WORLD/count" || count=0
printf '%s\n' \$((count + 1)) >"\$WORLD/count"
exec 5>&-
if [ "\$count" = "\$(cat "\$WORLD/break-at" 2>/dev/null)" ] && [ -e "\$WORLD/group" ]; then
  if [ $name = unzip ] && [ "\$1" = -q ]; then "\$WORLD/bin/real-unzip" "\$1" "\$2" "\$3" "\${@: -2}"; fi
  kill -KILL -- "-\$(cat "\$WORLD/group")"
fi
exec "\$WORLD/bin/real-$name" "\$@"
BODY
  done
  # The loop that watches a download need not wait here.
  script sleep <<BODY
exec $(type -P sleep) 0.02
BODY
}

# right_or_unmarked: what bears a mark is whole and equals what was packed.
right_or_unmarked() {
  local folder=$PREFIX/libtorch-2.11.0 file
  if [ -f "$folder/.complete" ]; then
    for file in torch/lib/libtorch_cpu.so torch/lib/libc10.so torch/include/a.h nvidia/cu13/lib/libcudart.so.13; do cmp -s "$WORLD/src/cpu/$file" "$folder/$file" || return 1; done
  fi
  if [ -f "$folder/.complete-cuda" ]; then
    for file in libtorch_cuda libtorch_cuda_linalg libc10_cuda; do cmp -s "$WORLD/src/cpu/torch/lib/$file.so" "$folder/torch/lib/$file.so" || return 1; done
    for file in nccl/lib/libnccl.so.2 cu13/lib/libcublas.so.13; do cmp -s "$WORLD/src/cuda/nvidia/$file" "$folder/nvidia/$file" || return 1; done
  fi
  if [ -f "$folder/.complete-nvcc" ]; then
    [ -x "$folder/nvidia/cu13/bin/nvcc" ] && [ -e "$folder/nvidia/cu13/lib64/libcudart.so" ] || return 1
  fi
}

case_broken_off_anywhere() {
  local total place tries=0 reached=0 ended most=4
  [ -z "${ISOBAR_PRODUCTS:-}" ] || most=20
  breakable
  isobar --cuda setup
  expect "undisturbed it finishes" [ "$CODE" = 0 ]
  total=$(cat "$WORLD/count")
  RANDOM=30
  while [ $tries -lt $most ] && [ -z "$problem" ]; do
    tries=$((tries + 1))
    place=$((RANDOM % total))
    "$WORLD/bin/real-rm" -rf "$PREFIX" "$TREE/build" "$WORLD/group"
    echo 0 >"$WORLD/count"
    echo $place >"$WORLD/break-at"
    ended=$(
      exec 2>/dev/null
      (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" setsid bash -c 'echo $$ >"$WORLD/group"; exec ./isobar --cuda setup' >/dev/null)
      echo $?
    )
    [ "$ended" != 137 ] || reached=$((reached + 1))
    "$WORLD/bin/real-rm" -f "$WORLD/break-at"
    expect "broken off at call $place of $total: what is marked is right" right_or_unmarked
    isobar --cuda setup
    expect "after $place: the next run finishes" [ "$CODE" = 0 ]
    expect "after $place: whole" [ -f "$PREFIX/libtorch-2.11.0/.complete-nvcc" ]
    expect "after $place: right" right_or_unmarked
    expect "after $place: no leftovers" no_leftovers
  done
  expect "nearly every place was reached, not $reached of $most" [ $((10 * reached)) -ge $((9 * most - 9)) ]
}
case_stopped_while_cuda_is_fetched() {
  after isobar setup
  touch "$WORLD/slow"
  : >"$WORLD/calls"
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" exec ./isobar --cuda setup >/dev/null 2>&1) &
  local pid=$!
  expect "it came so far" in_the_end test -s "$WORLD/pip-pid"
  expect "what needs no CUDA is built meanwhile" in_the_end called "ninja all"
  kill -TERM $pid
  wait $pid
  expect "code 143" [ $? = 143 ]
  expect "no leftovers" no_leftovers
  expect "the CPU part stays" complete
  rm "$WORLD/slow"
  isobar --cuda setup
  expect "the next run finishes" cuda_complete
}
case_half_a_cuda_file() {
  mkdir -p "$PREFIX/downloads"
  head -c 60 "$WORLD/wheels/nvidia_b-1.whl" >"$PREFIX/downloads/nvidia_b-1.whl"
  isobar --cuda setup
  expect "it says so" says "damaged or another; fetching it again"
  expect "right" right_or_unmarked
  expect "complete" cuda_complete
}
case_two_cuda_setups_at_once() {
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar --cuda setup >"$WORLD/one" 2>&1) &
  local first=$!
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar --cuda setup >"$WORLD/two" 2>&1) &
  local second=$!
  wait $first
  expect "the first succeeds" [ $? = 0 ]
  wait $second
  expect "the second succeeds" [ $? = 0 ]
  OUT=$(cat "$WORLD/one" "$WORLD/two")
  expect "fetched once" count_is "pip nvidia_b" 1
  expect "right" right_or_unmarked
}
