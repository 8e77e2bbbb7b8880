# The CUDA part: whether it is wanted, with which compiler it is built, and bringing it so that a failure costs nothing but
# the CUDA part. Sourced by ./isobar.
# shellcheck shell=bash

least_driver=580  # the first NVIDIA driver that runs CUDA 13

# driver_version: as the kernel module states it, such as 580.65.06; nothing where none is loaded.
driver_version() {
  grep -oE '[0-9]{3,}\.[0-9]+(\.[0-9]+)?' "$machine/proc/driver/nvidia/version" 2>/dev/null | head -n 1
}

# nvcc_release FILE: such as 13.0; nothing where it is no nvcc.
nvcc_release() { "$1" --version 2>/dev/null | sed -n 's/.* release \([0-9.]*\),.*/\1/p'; }

# toolkit_nvcc: the nvcc of an installed CUDA toolkit 13, if any.
toolkit_nvcc() {
  local candidate
  for candidate in "${CUDACXX:-}" "$(type -P nvcc)" "$machine"/usr/local/cuda/bin/nvcc "$machine"/usr/local/cuda-13*/bin/nvcc; do
    [ -x "$candidate" ] && [[ $(nvcc_release "$candidate") = 13.* ]] || continue
    printf '%s' "$candidate"
    return
  done
}

wheel_nvcc() { printf '%s/nvidia/cu13/bin/nvcc' "$(libtorch_folder)"; }

# cuda_parts: what of libtorch a CUDA build needs here.
cuda_parts() { if [ -n "$(toolkit_nvcc)" ]; then printf cuda; else printf 'cuda nvcc'; fi; }

missing_cuda_parts() {
  local part
  for part in $(cuda_parts); do have_part "$part" || printf '%s ' "$part"; done
}

# cuda_plan: the lines of the plan; nothing when all is there.
cuda_plan() {
  local part missing again='' sum=0 fetch cpu=''
  missing=$(missing_cuda_parts)
  [ -n "$missing" ] || return 0
  for part in $missing; do sum=$((sum + $(unpacked_bytes "$part"))); done
  if have_libtorch && [[ $missing = *cuda* ]] && [ ! -e "$prefix/downloads/$(wheels cuda | awk 'NR == 1 { print $1 }')" ]; then
    again=", with the torch file once more: only its CPU part was kept"
  fi
  have_libtorch || cpu=cpu  # which has a line of its own in the plan
  # shellcheck disable=SC2086  # one word a part
  fetch=$(($(bytes_to_fetch $cpu $missing) - $(bytes_to_fetch $cpu)))
  printf '  - for the GPU: fetch the CUDA part of libtorch%s (%s%s), unpack it (%s), and build the CUDA plugin\n' \
    "$([[ $missing != *nvcc* ]] || printf ' and the compiler nvcc')" "$(megabytes "$fetch")" "$again" "$(megabytes $sum)"
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
  local part
  for part in $(missing_cuda_parts); do bring_part "$part"; done
}

# survive_cuda: fetch_cuda as a part whose failure ends no other.
survive_cuda() {
  fetch_cuda &  # not before "||", where an error in it would be passed over
  wait $! || : >"${part_state%.at}.failed"
}

# fetch_cuda_beside_the_build: 2 GB come while what needs no CUDA is compiled. Sets status to 1 where they do not; why is told.
fetch_cuda_beside_the_build() {
  [ -n "$(missing_cuda_parts)" ] || return 0
  # Who asked for it by name is told of a failure at once, as of any other part's.
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
