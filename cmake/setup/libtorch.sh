# The libtorch files: fetched by name and hash, checked, unpacked aside, and only then named. Sourced by ./isobar.
# shellcheck shell=bash

libtorch_version=2.11.0
libtorch_bytes=560000000  # what the CPU part takes unpacked

libtorch_folder() { printf '%s' "$prefix/libtorch-$libtorch_version"; }

# wheels [LIST]: lines of FILE BYTES NAME==VERSION SHA256 of cmake/setup/LIST.txt
wheels() {
  awk '$1 == "#file" { file = $2; bytes = $3 }
       /^[a-z]/ { sub(/--hash=sha256:/, "", $2); print file, bytes, $1, $2 }' "$setup/${1:-wheels}.txt"
}

libtorch_mark() { wheels | awk '{ print $4 }' | paste -sd' '; }

have_libtorch() {
  local mark=""
  [ -f "$(libtorch_folder)/.complete" ] && read -r mark <"$(libtorch_folder)/.complete" && [ "$mark" = "$(libtorch_mark)" ]
}

# wheel_is_good FILE SHA256
wheel_is_good() {
  [ -f "$1" ] && printf '%s  %s\n' "$2" "$1" | sha256sum --check --status
}

# fetch_wheel FILE BYTES REQUIREMENT SHA256: into $prefix/downloads; a file that is there already is checked and used.
fetch_wheel() {
  local file=$1 bytes=$2 requirement=$3 sha=$4 target=$prefix/downloads/$1 work size pid shown=0 percent
  if wheel_is_good "$target" "$sha"; then
    say "  $file: there already"
    return
  fi
  [ ! -e "$target" ] || { say "  $file: the one in downloads/ is damaged or another; fetching it again"; rm -f "$target"; }
  work=$prefix/downloads/.part-$$
  rm -rf "$work"
  mkdir -p "$work"
  printf '%s --hash=sha256:%s\n' "$requirement" "$sha" >"$work/wanted.txt"
  TMPDIR=$work python3 -m pip download --quiet --no-deps --no-cache-dir --require-hashes --only-binary=:all: \
    --implementation cp --python-version 3.11 --abi cp311 --abi none --platform manylinux_2_28_x86_64 \
    --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux_2_18_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --platform manylinux2010_x86_64 \
    --dest "$work/out" --requirement "$work/wanted.txt" >"$prefix/logs/pip.log" 2>&1 &
  pid=$!
  background=$pid
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.3
    size=$(du -sb "$work" 2>/dev/null | cut -f1) || true  # files come and go there
    percent=$((${size:-0} * 100 / bytes))
    [ "$percent" -le 100 ] || percent=100
    if [ -t 1 ] || [ $percent -ge $((shown + 25)) ]; then
      live "  $requirement: $percent % of $(megabytes "$bytes")"
      shown=$percent
    fi
  done
  background=
  if ! wait "$pid"; then
    live_end
    rm -rf "$work"
    if grep -qi 'hash' "$prefix/logs/pip.log"; then
      die "what was sent as $requirement has another sha256 than the one pinned here; it was thrown away" \
        "cmake/setup" "try again; if it stays, the source of your Python packages is not to be trusted"
    fi
    tail -n 3 "$prefix/logs/pip.log" >&2
    die "$requirement could not be fetched" "log: $prefix/logs/pip.log" \
      "with a network, run the same command again; without one, bring $file (sha256 ${sha:0:12}...) to $prefix/downloads/"
  fi
  wheel_is_good "$work/out/$file" "$sha" || {
    rm -rf "$work"
    die "the fetched $file is not the pinned one; it was thrown away" "$prefix/downloads" "run the same command again"
  }
  mv "$work/out/$file" "$target"
  rm -rf "$work"
  fetched="$fetched $target"
  live_end
}

# unpack_wheel FILE FOLDER PATTERN...: refuses members that would leave the folder.
unpack_wheel() {
  local file=$1 folder=$2
  shift 2
  if unzip -Z1 "$file" | grep -qE '^/|(^|/)\.\.(/|$)'; then
    die "the archive holds names that lead outside of it; it was not unpacked" "$file" ""
  fi
  unzip -q "$file" "$@" -d "$folder" || die "the archive cannot be unpacked" "$file" "run the same command again"
}

bring_libtorch() {
  local file bytes requirement sha part
  mkdir -p "$prefix/downloads"
  need_space "$prefix" 1200000000 "the libtorch files (544 MB to fetch, 560 MB unpacked)"
  fetched=
  while read -r file bytes requirement sha; do
    fetch_wheel "$file" "$bytes" "$requirement" "$sha"
  done < <(wheels)
  say "  unpacking ..."
  rm -rf "$prefix"/libtorch-*.part-*
  part=$(libtorch_folder).part-$$
  mkdir -p "$part"
  while read -r file bytes requirement sha; do
    wheel_is_good "$prefix/downloads/$file" "$sha" || die "$file changed after it was checked" "$prefix/downloads" "run the same command again"
    case $file in
      torch-*) unpack_wheel "$prefix/downloads/$file" "$part" 'torch/include/*' torch/lib/libc10.so torch/lib/libtorch_cpu.so 'torch/lib/libgomp*' ;;
      *) unpack_wheel "$prefix/downloads/$file" "$part" 'nvidia/cu13/lib/*' ;;
    esac
  done < <(wheels)
  libtorch_mark >"$part/.complete"
  rm -rf "$(libtorch_folder)"
  mv "$part" "$(libtorch_folder)"
  # What this call fetched is unpacked now; a file somebody brought by hand stays.
  # shellcheck disable=SC2086
  rm -f $fetched
}
