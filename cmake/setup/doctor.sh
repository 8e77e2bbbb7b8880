# ./isobar doctor: what was found, and what is missing for which lesson. It installs nothing. Sourced by ./isobar.
# shellcheck shell=bash

row() { printf '  %-10s %s\n' "$1" "$2"; }

doctor_machine() {
  local flags isa='' feature system='' name
  [ ! -r /etc/os-release ] || system=$(. /etc/os-release && printf '%s' "$PRETTY_NAME")
  row system "${system:-unknown}, $(uname -m)"
  flags=$(grep -m1 '^flags' /proc/cpuinfo || true)
  for feature in avx2 avx512f avx512_bf16 amx_bf16; do [[ $flags != *" $feature"* ]] || isa="$isa $feature"; done
  name=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
  row processor "${name:-unknown}, $(nproc) cores,${isa:- no AVX2}"
  row memory "$(awk '/^MemTotal:/ { t = $2 } /^MemAvailable:/ { a = $2 } END { printf "%.1f GB, %.1f GB free", t / 1e6, a / 1e6 }' /proc/meminfo)"
  row disk "$(megabytes "$(free_bytes "$prefix")") free for $prefix"
  if [ -e /dev/nvidiactl ]; then
    row gpu "an NVIDIA driver is there; this build has no CUDA plugin yet, so lessons run on the processor"
  else
    row gpu "no NVIDIA driver: lessons run on the processor"
  fi
}

doctor_parts() {
  local missing
  if ! have_debian; then
    row packages "this is no Debian or Ubuntu: bring what cmake/setup/packages_*.txt lists by other means"
  else
    missing=$(missing_packages | paste -sd' ')
    if [ -z "$missing" ]; then
      row packages "ok, all $(wanted_packages | wc -l)"
    else
      row packages "missing: $missing"
      can_set_up=$(can_be_root && echo yes || true)
      [ -n "$can_set_up" ] || row '' "as root: apt-get install --no-install-recommends $missing"
    fi
  fi
  if have_libtorch; then
    row libtorch "ok, $libtorch_version (CPU part), in $(libtorch_folder)"
  else
    row libtorch "missing: $libtorch_version, $(megabytes "$(wheels | awk '{ s += $2 } END { print s }')") to fetch"
  fi
  if [ -f "$build/build.ninja" ]; then row build "configured in $build"; else row build "missing: not configured"; fi
}

doctor_window() {
  local here missing
  here=$(parts_here)
  if [[ $here == *gui* ]]; then
    row window "ok: ./isobar gui"
  elif have_debian; then
    missing=$(missing_packages gui | paste -sd' ')
    row window "not here yet; ./isobar gui brings: $missing"
  else
    row window "imgui, glfw3, md4c or freetype2 is missing (pkg-config looks for them)"
  fi
  if [ -f /usr/share/fonts/opentype/inter/Inter-Regular.otf ] && [ -f /usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf ]; then
    row fonts "ok, Inter and JetBrains Mono"
  else
    row fonts "Inter or JetBrains Mono is missing: the window uses the one of Dear ImGui"
  fi
  [[ $here == *display* ]] || row display "no Xvfb: pictures of the window bring it (./isobar gui --screenshot FILE.png)"
}

doctor_data() {
  local sheet found=''
  for sheet in "$prefix"/data/*/dataset.toml; do
    [ -f "$sheet" ] || continue
    found=1
    row data "$(sed -n 's/^name = "\(.*\)"$/\1/p' "$sheet"), $(megabytes "$(du -sb "$(dirname "$sheet")" | cut -f1)"), synthetic"
  done
  [ -n "$found" ] || row data "no data set yet: the embedded one is made by the first run (585 MB, some seconds)"
}

doctor_lessons() {
  local sheet lesson
  for sheet in "$home"/lessons/*/lesson.toml; do
    lesson=$(basename "$(dirname "$sheet")")
    if [ -x "$build/bin/$lesson" ] && have_libtorch; then
      row "$lesson" "  ready: ./isobar run $lesson"
    elif [ -n "$can_set_up" ]; then
      row "$lesson" "  not built yet; ./isobar run $lesson does all of it"
    else
      row "$lesson" "  cannot be set up here: see the missing packages above"
    fi
  done
}

doctor() {
  can_set_up=yes
  [ "$(uname -m)" = x86_64 ] || can_set_up=
  say "Machine"
  doctor_machine
  say "Set-up"
  doctor_parts
  doctor_window
  doctor_data
  say "Lessons"
  doctor_lessons
  [ -n "$can_set_up" ]
}
