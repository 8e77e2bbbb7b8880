# ./isobar doctor [--json]: what was found, and what to do where something is missing. It installs nothing and makes
# nothing. Sourced by ./isobar.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$setup/doctor_machine.sh"

# quote TEXT: sets quoted to a JSON string.
quote() {
  local text=$1
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\t'/ }
  quoted=\"${text//[[:cntrl:]]/}\"
}

# section TITLE: the rows that follow stand under it.
section() {
  if [ -z "$json" ]; then
    say "$1"
    return
  fi
  [ -z "$json_open" ] || printf ']'
  [ -z "$json_open" ] || printf ', '
  quote "${1,,}"
  printf '%s: [' "$quoted"
  json_open=1 json_rows=0
}

# row NAME ok|note|missing FACT [WHAT TO DO]
row() {
  if [ -z "$json" ]; then
    printf '  %-12s %s\n' "$1" "$3"
    [ -z "${4:-}" ] || printf '  %-12s   -> %s\n' '' "$4"
    return
  fi
  [ "$json_rows" = 0 ] || printf ', '
  json_rows=$((json_rows + 1))
  quote "$1"
  printf '{"name": %s, "state": "%s", ' "$quoted" "$2"
  quote "$3"
  printf '"fact": %s, ' "$quoted"
  quote "${4:-}"
  printf '"hint": %s}' "$quoted"
}

# doctor_system: a system whose package names are known, and whether Isobar was tried on it.
doctor_system() {
  local name id release words
  name=$(system_file PRETTY_NAME)
  read -r id release < <(system_is) || true
  if [ "$(uname -m)" != x86_64 ]; then
    row system missing "${name:-unknown}, $(uname -m)" "the pinned libtorch files are for x86_64"
    return
  fi
  case $(system_tried "$id" "$release") in
    tried) row system ok "${name:-$id $release}, x86_64, tried" ;;
    untried)
      case $id in debian) words=Debian ;; ubuntu) words=Ubuntu ;; *) words=$id ;; esac
      row system note "$words $release, x86_64, untried: the package table knows it" ;;
    *) row system note "${name:-unknown}, x86_64, untried: the package table does not know it" "cmake/setup/systems.txt names those that it knows" ;;
  esac
}

doctor_packages() {
  local lacking entries
  if ! have_debian; then
    row packages note "this is no Debian or Ubuntu" "bring by other means: $(known_elsewhere "$parts" | paste -sd';' | sed 's/;/, /g')"
    return
  fi
  read_missing
  if [ -z "$lacking" ]; then
    read_system
    read_table "$parts"
    # shellcheck disable=SC2086  # one word a package
    set -- $entries
    row packages ok "ok, all $#${system_names:+, of which some in $prefix/system}"
  elif can_be_root; then
    row packages missing "missing: $lacking" "./isobar setup installs them"
  else
    row packages missing "missing: $lacking" "./isobar setup brings them without root to $prefix/system; or as root: apt-get install --no-install-recommends $lacking"
  fi
}

doctor_libtorch() {
  local to_fetch
  if have_libtorch; then
    row libtorch ok "ok, $libtorch_version (CPU part), in $libtorch_folder"
  else
    read_to_fetch cpu
    row libtorch missing "missing: $libtorch_version, $(megabytes "$to_fetch") to fetch" "./isobar setup brings it"
  fi
  if [ -f "$build/build.ninja" ]; then row build ok "configured in $build"; else row build missing "missing: not configured" "./isobar setup"; fi
}

# nccl_version: of the CUDA part, such as 2.28.9.
nccl_version() {
  sed -nE 's/^#define NCCL_(MAJOR|MINOR|PATCH) +([0-9]+).*/\2/p' "$libtorch_folder/nvidia/nccl/include/nccl.h" 2>/dev/null | paste -sd.
}

doctor_cuda() {
  local release to_fetch plugin=$build/lib/libisobar_cuda.so lost bring="./isobar --cuda setup"
  find_nvcc
  if [ -n "$toolkit_nvcc" ]; then
    read_release "$toolkit_nvcc"
    row nvcc ok "CUDA toolkit $release, $toolkit_nvcc"
  elif have_part nvcc; then
    read_release "$(wheel_nvcc)"
    row nvcc ok "$release, $(wheel_nvcc)"
  else
    read_to_fetch nvcc
    row nvcc note "no CUDA toolkit 13" "$bring brings a compiler ($(megabytes "$to_fetch"))"
  fi
  if have_part cuda; then
    row "cuda part" ok "ok, NCCL $(nccl_version), $(megabytes "${unpacked_bytes[cuda]}") in $libtorch_folder"
  else
    read_to_fetch cuda
    row "cuda part" note "not here" "$bring brings it: $(megabytes "$to_fetch") to fetch, $(megabytes "${unpacked_bytes[cuda]}") on disk"
  fi
  read_ready
  if [ -f "$plugin" ]; then
    lost=$(timeout 60 ldd "$plugin" 2>/dev/null | awk '/not found/ { print $1 }' | paste -sd' ')
    if [ -z "$lost" ]; then row plugin ok "built, and all its libraries are found"; else row plugin missing "built, but without: $lost" "$bring"; fi
  elif [ "$ready_cuda" = failed ]; then
    row plugin missing "not built: the set-up of the CUDA part failed" "$bring tries again"
  elif [ "$ready_cuda" = no ]; then
    row plugin note "not built: left out on request" "$bring builds it"
  else
    row plugin note "not built" "$bring builds it"
  fi
}

doctor_window() {
  local here lacking
  find_here
  if [[ $here == *gui* ]]; then
    row window ok "ok: ./isobar gui"
  elif have_debian; then
    read_missing gui
    row window note "not here yet" "./isobar gui brings: $lacking"
  else
    row window note "imgui, glfw3, md4c, freetype2 or zlib is missing" "pkg-config looks for them"
  fi
  if [ -f /usr/share/fonts/opentype/inter/Inter-Regular.otf ] && [ -f /usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf ]; then
    row fonts ok "ok, Inter and JetBrains Mono"
  else
    row fonts note "Inter or JetBrains Mono is missing" "the window then uses the font of Dear ImGui; ./isobar gui brings them"
  fi
  if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    row display ok "${WAYLAND_DISPLAY:+Wayland $WAYLAND_DISPLAY}${DISPLAY:+${WAYLAND_DISPLAY:+, }X $DISPLAY}"
  elif [[ $here == *display* ]]; then
    row display note "none; pictures are drawn in memory" "./isobar gui --screenshot FILE.png; to see the window: ./isobar gui --browser"
  else
    row display note "none, and no Xvfb for pictures" "./isobar gui --screenshot FILE.png brings it; to see the window: ./isobar gui --browser"
  fi
  if [[ " $here " == *" browser "* ]]; then
    row browser ok "ok: ./isobar gui --browser"
  elif ! have_debian; then
    row browser note "boost/beast.hpp is missing" "bring $(known_elsewhere browser), or name its prefix in CMAKE_PREFIX_PATH"
  else
    row browser note "not here yet" "./isobar gui --browser brings: $(known_elsewhere browser)"
  fi
}

# data_problem FOLDER: what is wrong with a data set at first sight; nothing when every file is as long as its records.
data_problem() {
  local line name records size grid='' channels='' files=0
  while IFS= read -r line; do
    if [[ $line =~ ^grid\ =\ \[([0-9]{1,6}),\ ?([0-9]{1,6})\] ]]; then
      grid=$((BASH_REMATCH[1] * BASH_REMATCH[2]))
    elif [[ $line =~ ^channels\ =\ ([0-9]{1,4}) ]]; then
      channels=${BASH_REMATCH[1]}
    elif [[ $line =~ ^\"([^\"]+)\"\ =\ ([0-9]{1,9})$ ]]; then
      name=${BASH_REMATCH[1]} records=${BASH_REMATCH[2]} files=$((files + 1))
      size=$(stat -c %s -- "$1/$name" 2>/dev/null) || { printf '%s is missing' "$name"; return; }
      [ "$size" -ge $((records * ${channels:-0} * ${grid:-0} * 4)) ] || { printf '%s is cut short' "$name"; return; }
    fi
  done <"$1/dataset.toml"
  [ $files -gt 0 ] && [ -n "$grid" ] && [ -n "$channels" ] || printf 'dataset.toml names no files, or no grid'
}

doctor_data() {
  local sheet found='' folder name problem kind
  for sheet in "$prefix"/data/*/dataset.toml; do
    [ -f "$sheet" ] || continue
    found=1
    folder=${sheet%/*}
    name=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$sheet")
    kind='not synthetic'
    ! has_line "$sheet" 'synthetic = true' || kind=synthetic
    problem=$(data_problem "$folder")
    [ -z "$problem" ] || row data missing "${name:-$folder}: $problem" "remove $folder; the next run makes it again"
    [ -n "$problem" ] || row data ok "$name, $(megabytes "$(du -sb "$folder" | cut -f1)"), $kind, files have their size"
  done
  [ -n "$found" ] || row data note "no data set yet" "the first run makes the embedded one (585 MB, some seconds)"
}

doctor_ranks() {
  if [ -n "${SLURM_JOB_ID:-}" ]; then
    if [ -n "${SLURM_STEP_ID:-}" ]; then
      row slurm ok "job $SLURM_JOB_ID, rank ${SLURM_PROCID:-?} of ${SLURM_NTASKS:-?}"
    else
      row slurm ok "job $SLURM_JOB_ID, in its batch shell" "ranks start with srun"
    fi
  elif type -P sbatch >/dev/null; then
    row slurm ok "its commands are here; this is no job"
  else
    row slurm note "not seen: one machine"
  fi
  if [ -n "${RANK:-}${WORLD_SIZE:-}" ]; then row ranks ok "RANK=${RANK:-not set}, WORLD_SIZE=${WORLD_SIZE:-not set}"; else row ranks ok "none set: one process"; fi
}

doctor_lessons() {
  local sheet lesson
  for sheet in "$home"/lessons/*/lesson.toml; do
    [ -f "$sheet" ] || continue
    lesson=${sheet%/*} lesson=${lesson##*/}
    if has_line "$sheet" 'needs = "cuda"' && ! driver_here; then
      row "$lesson" note "needs an NVIDIA GPU" "./isobar show $lesson --recorded shows a run of another machine"
    elif [ -x "$build/bin/$lesson" ] && have_libtorch; then
      row "$lesson" ok "ready: ./isobar run $lesson"
    elif [ -n "$can_set_up" ]; then
      row "$lesson" note "not built yet" "./isobar run $lesson does all of it"
    else
      row "$lesson" missing "cannot be set up here" "see the missing packages above"
    fi
  done
}

# tell_machine: what is not of this build, and is known in a bundle too (submit/bundle_run.sh).
tell_machine() {
  section Machine
  doctor_system
  doctor_processor
  doctor_cores
  doctor_memory
  doctor_disk
  doctor_gpu
  doctor_rates
}

doctor() {
  json='' json_open=''
  [ $# = 0 ] || [ "$*" = --json ] || die "doctor does not know \"$*\"" "./isobar doctor" "./isobar doctor [--json]" 2
  [ $# = 0 ] || json=1
  can_set_up=yes
  have_debian || (check_other_system) 2>/dev/null || can_set_up=
  [ "$(uname -m)" = x86_64 ] || can_set_up=
  [ -z "$json" ] || printf '{'
  tell_machine
  section Set-up
  doctor_packages
  doctor_libtorch
  doctor_cuda
  doctor_window
  doctor_data
  doctor_ranks
  section Lessons
  doctor_lessons
  [ -z "$json" ] || printf '], "can_set_up": %s}\n' "$([ -n "$can_set_up" ] && echo true || echo false)"
  [ -n "$can_set_up" ]
}
