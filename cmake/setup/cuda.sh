# The CUDA part: whether it is wanted, with which compiler it is built, and bringing it so that a failure costs nothing but
# the CUDA part. Sourced by ./isobar.
# shellcheck shell=bash

least_driver=580  # the first NVIDIA driver that runs CUDA 13
unset toolkit_nvcc  # find_nvcc has not looked

# driver_version: as the kernel module states it, such as 580.65.06; nothing where none is loaded.
driver_version() {
  grep -oE '[0-9]{3,}\.[0-9]+(\.[0-9]+)?' "$machine/proc/driver/nvidia/version" 2>/dev/null | head -n 1
}

# read_release FILE: sets release to that of an nvcc, such as 13.0; empty where it is none.
read_release() {
  local text=''
  text=$(exec "$1" --version 2>/dev/null) || true
  release=''
  [[ ! $text =~ \ release\ ([0-9.]*), ]] || release=${BASH_REMATCH[1]}
}

# find_nvcc: sets toolkit_nvcc to that of an installed CUDA toolkit 13, if any; looks once.
find_nvcc() {
  local candidate release
  [ -z "${toolkit_nvcc+found}" ] || return 0
  toolkit_nvcc=''
  for candidate in "${CUDACXX:-}" "$(type -P nvcc)" "$machine"/usr/local/cuda/bin/nvcc "$machine"/usr/local/cuda-13*/bin/nvcc; do
    [ -x "$candidate" ] && read_release "$candidate" && [[ $release = 13.* ]] || continue
    toolkit_nvcc=$candidate
    return
  done
}

wheel_nvcc() { printf '%s' "$libtorch_folder/nvidia/cu13/bin/nvcc"; }

# find_missing_cuda: sets missing_cuda to the parts of libtorch that a CUDA build needs here and that are not here.
find_missing_cuda() {
  missing_cuda=''
  find_nvcc
  have_part cuda || missing_cuda=cuda
  [ -n "$toolkit_nvcc" ] || have_part nvcc || missing_cuda+=${missing_cuda:+ }nvcc
}

# cuda_plan: the lines of the plan; nothing when all is there.
cuda_plan() {
  local part missing_cuda again='' sum=0 to_fetch before=0 cpu=''
  local -a wheels
  find_missing_cuda
  [ -n "$missing_cuda" ] || return 0
  for part in $missing_cuda; do sum=$((sum + ${unpacked_bytes[$part]})); done
  read_wheels cuda
  if have_libtorch && [[ $missing_cuda = *cuda* ]] && [ ! -e "$prefix/downloads/${wheels[0]%% *}" ]; then
    again=", with the torch file once more: only its CPU part was kept"
  fi
  if ! have_libtorch; then  # which has a line of its own in the plan
    cpu=cpu
    read_to_fetch cpu
    before=$to_fetch
  fi
  # shellcheck disable=SC2086  # one word a part
  read_to_fetch $cpu $missing_cuda
  printf '  - for the GPU: fetch the CUDA part of libtorch%s (%s%s), unpack it (%s), and build the CUDA plugin\n' \
    "$([[ $missing_cuda != *nvcc* ]] || printf ' and the compiler nvcc')" "$(megabytes $((to_fetch - before)))" "$again" "$(megabytes $sum)"
}

# read_ready: what build/.ready remembers: prefix, parts, the choice about CUDA: yes, no, failed, or - (never asked), and whether
# libtorch was there: ON or OFF.
read_ready() {
  ready_prefix='' ready_parts='' ready_cuda=- ready_torch=OFF
  [ -f "$build/.ready" ] || return 0
  { read -r ready_prefix && read -r ready_parts && read -r ready_cuda && read -r ready_torch; } <"$build/.ready" || ready_torch=OFF
}

# cuda_wanted: sets cuda_wish to yes (asked for by name), keep (chosen before), try (a driver is here and nobody was asked
# yet; only for commands that train), or no; cuda_choice to what is remembered if nothing is brought.
cuda_wanted() {
  cuda_wish=no cuda_choice=$ready_cuda
  case $cuda/$ready_cuda in
    yes/*) cuda_wish=yes ;;
    no/*) cuda_choice=no ;;
    */yes) if [ -n "$torch" ] || have_part cuda; then cuda_wish=keep; fi ;;
    */-) if [ -n "$trains" ] && driver_here; then cuda_wish=try; fi ;;
  esac
}

# ask_for_cuda: the GPU's part is large, so it has a question of its own; without a terminal it is announced and brought.
ask_for_cuda() {
  local lines answer
  lines=$(cuda_plan)
  [ -n "$lines" ] || return 0
  say "This machine has an NVIDIA driver. To train on its GPU, Isobar will also"
  say "$lines"
  say "  (--no-cuda leaves it out, now and later)"
  if [ -z "$yes" ] && [ -t 0 ] && [ -t 1 ]; then
    printf 'This too? [Y/n] '
    read -r answer || answer=n
    case $answer in
      '' | [yY]*) ;;
      *)
        cuda_wish=no cuda_choice=no
        say "left out; ./isobar --cuda setup brings it later" ;;
    esac
  fi
}

fetch_cuda() {
  local part missing_cuda
  find_missing_cuda
  for part in $missing_cuda; do bring_part "$part"; done
}

# survive_cuda: fetch_cuda as a part whose failure ends no other.
survive_cuda() {
  fetch_cuda &  # not before "||", where an error in it would be passed over
  wait $! || : >"${part_state%.at}.failed"
}

# fetch_cuda_beside_the_build: 2 GB come while what needs no CUDA is compiled. Sets status to 1 where they do not, and prints why.
fetch_cuda_beside_the_build() {
  local missing_cuda
  find_missing_cuda
  [ -n "$missing_cuda" ] || return 0
  # Where it was asked for by name a failure is reported at once, like any other part's.
  if [ "$cuda_wish" = yes ]; then start_part cuda fetch_cuda; else start_part cuda survive_cuda; fi
  configure ON OFF
  build_targets "${targets[@]}"
  join cuda
  [ -e "$parts_folder/cuda.failed" ] || return 0
  cat "$parts_folder/cuda.err" >&2
  status=1
}

cuda_steps() {
  trap '[ -z "$background" ] || kill "$background" 2>/dev/null || true' EXIT
  trap 'exit 143' TERM
  exec 6>&-
  part_pid=() parts_folder=''  # those are the business of who waits for this
  configure ON ON
  drop_fetched
  [ "$cuda_wish" = keep ] || build_targets isobar_cuda
}

# bring_cuda: its steps in processes of their own, so that an error in one can be survived. Sets cuda_choice: yes or failed.
bring_cuda() {
  local status=0
  fetch_cuda_beside_the_build
  if [ $status = 0 ]; then
    cuda_steps &
    background=$!
    wait "$background" || status=$?
    background=
  fi
  cuda_choice=yes
  [ $status != 0 ] || return 0
  [ "$cuda_wish" != yes ] || die "the CUDA part could not be set up; the reason is above" "./isobar --cuda" "without --cuda, lessons run on the processor"
  cuda_choice=failed
  say "The CUDA part could not be set up, so lessons run on the processor; ./isobar --cuda setup tries again."
}
