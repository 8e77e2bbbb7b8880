# The libtorch files: fetched by name and hash, checked, unpacked aside, and only then named. Sourced by ./isobar.
# In three parts: cpu; cuda (the CUDA libraries of torch and what they are linked to); nvcc (the CUDA compiler).
# shellcheck shell=bash

libtorch_version=2.11.0

libtorch_folder() { printf '%s' "$prefix/libtorch-$libtorch_version"; }

# wheel_list FILE: lines of FILE BYTES NAME==VERSION SHA256
wheel_list() {
  local first second third file='' bytes=''
  while read -r first second third; do
    case $first in
      '#file') file=$second bytes=$third ;;
      [a-z]*) printf '%s %s %s %s\n' "$file" "$bytes" "$first" "${second#--hash=sha256:}" ;;
    esac
  done <"$setup/$1"
}

# wheels [PART]: what a part, or another set of packages with a list NAME.txt, is unpacked from, in the form of
# wheel_list.
wheels() {
  case ${1:-cpu} in
    cpu) wheel_list wheels.txt ;;
    cuda) wheel_list wheels.txt | awk '$1 ~ /^torch-/'; wheel_list wheels_cuda.txt ;;
    nvcc) wheel_list wheels_nvcc.txt ;;
    *) [ ! -f "$setup/$1.txt" ] || wheel_list "$1.txt" ;;
  esac
}

# unpacked_bytes PART: what it takes on the disk.
unpacked_bytes() {
  case $1 in
    cpu) printf 560000000 ;;
    cuda) printf 3050000000 ;;
    nvcc) printf 210000000 ;;
  esac
}

# name_mark PART: sets mark_file, which is written last, when all of the part is in place.
name_mark() {
  mark_file=$prefix/libtorch-$libtorch_version/.complete
  [ "$1" = cpu ] || mark_file+=-$1
}
part_hashes() {
  local hash all=''
  while read -r _ _ _ hash; do all+=${all:+ }$hash; done < <(wheels "$1")
  printf '%s\n' "$all"
}

# have_part PART: unpacked whole from the files that are pinned now.
have_part() {
  local mark mark_file
  name_mark "$1"
  [ -f "$mark_file" ] && read -r mark <"$mark_file" && [ "$mark" = "$(part_hashes "$1")" ]
}
have_libtorch() { have_part cpu; }

# bytes_to_fetch PART...: of the files that are not in downloads/ yet; a file of two parts counts once.
bytes_to_fetch() {
  local part file bytes sum=0 rest
  while read -r file bytes rest; do
    [ -f "$prefix/downloads/$file" ] && [ "$(stat -c %s "$prefix/downloads/$file")" = "$bytes" ] || sum=$((sum + bytes))
  done < <(for part in "$@"; do wheels "$part"; done | sort -u)
  printf '%s' "$sum"
}

# wheel_is_good FILE SHA256
wheel_is_good() {
  [ -f "$1" ] && printf '%s  %s\n' "$2" "$1" | sha256sum --check --status
}

# fetch_wheel FILE BYTES REQUIREMENT SHA256: into $prefix/downloads; a file that is there already is checked and used.
fetch_wheel() {
  local file=$1 bytes=$2 requirement=$3 sha=$4 target=$prefix/downloads/$1 work size pid percent name=${3%%==*}
  if wheel_is_good "$target" "$sha"; then
    say "  $file: there already"
    return
  fi
  [ ! -e "$target" ] || { say "  $file: the one in downloads/ is damaged or another; fetching it again"; rm -f "$target"; }
  work=$prefix/downloads/.part-$$
  rm -rf "$work"
  mkdir -p "$work"
  printf '%s --hash=sha256:%s\n' "$requirement" "$sha" >"$work/wanted.txt"
  TMPDIR=$work PYTHONPATH=$pip_path${PYTHONPATH:+${pip_path:+:}$PYTHONPATH} python3 -m pip download --quiet --no-deps --no-cache-dir --require-hashes --only-binary=:all: \
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
    report "${name/#torch/libtorch} $percent % of $(megabytes "$bytes")"
  done
  background=
  if ! wait "$pid"; then
    live_end
    rm -rf "$work"
    if grep -qi 'hash' "$prefix/logs/pip.log"; then
      die "what was sent as $requirement has another sha256 than the one pinned here; it was thrown away" \
        "cmake/setup/wheels*.txt" "try again; if it stays, the source of your Python packages is not to be trusted"
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
  printf '%s\n' "$file" >>"$prefix/downloads/.fetched-$$"
  live_end
}

# unpack_wheel FILE FOLDER PATTERN...: refuses members that would leave the folder.
unpack_wheel() {
  local file=$1 folder=$2
  shift 2
  # Read to the end: a grep that stops at the first hit would end unzip, and so look like no hit.
  if [ "$(unzip -Z1 "$file" | grep -cE '^/|(^|/)\.\.(/|$)')" != 0 ]; then
    die "the archive holds names that lead outside of it; it was not unpacked" "$file" ""
  fi
  unzip -q "$file" "$@" -d "$folder" || die "the archive cannot be unpacked" "$file" "run the same command again"
}

# left_out FILE: members of a CUDA wheel that nothing here is linked to, as a pattern.
left_out() {
  case $1 in
    nvidia_cublas-*) printf '*/libnvblas*' ;;
    nvidia_cuda_nvrtc-*) printf '*.alt.*' ;;
    nvidia_cufft-*) printf '*/libcufftw*' ;;
    nvidia_cufile-*) printf '*/libcufile_rdma*' ;;
    nvidia_cusolver-*) printf '*/libcusolverMg*' ;;
    nvidia_nvshmem_*) printf '*/libnvshmem_device*' ;;
    nvidia_nvvm-*) printf '*/libnvvm.so*' ;;
  esac
}

# unpack_for PART FILE FOLDER: what the part needs of one wheel.
unpack_for() {
  local part=$1 wheel=$prefix/downloads/$2 folder=$3 without
  without=$(left_out "$2")
  case $part/$2 in
    cpu/torch-*) unpack_wheel "$wheel" "$folder" 'torch/include/*' torch/lib/libc10.so torch/lib/libtorch_cpu.so 'torch/lib/libgomp*' ;;
    cpu/*) unpack_wheel "$wheel" "$folder" 'nvidia/cu13/lib/*' ;;
    cuda/torch-*) unpack_wheel "$wheel" "$folder" 'torch/lib/libtorch_cuda*.so' torch/lib/libc10_cuda.so torch/lib/libcaffe2_nvrtc.so torch/lib/libtorch_nvshmem.so ;;
    cuda/nvidia_cuda_runtime-*) unpack_wheel "$wheel" "$folder" 'nvidia/cu13/include/*' ;;
    *) unpack_wheel "$wheel" "$folder" 'nvidia/*' ${without:+-x "$without"} ;;
  esac
}

# fit_nvcc FOLDER: the wheels lack the names under which nvcc and the linker look for libraries, and some run bits.
fit_nvcc() {
  local cu=$1/nvidia/cu13
  mkdir -p "$cu/lib"
  ln -s lib "$cu/lib64"
  ln -s libcudart.so.13 "$cu/lib/libcudart.so"
  chmod -R a+rX "$cu"
  chmod a+x "$cu"/bin/* "$cu"/nvvm/bin/*
}

# move_in PART FOLDER: into the libtorch folder, each file replaced in one step, so that programs that run go on. Which files came is kept in a
# list beside the mark, for ./isobar clean.
move_in() {
  local part=$1 from=$2 to name
  to=$(libtorch_folder)
  (cd "$from" && find . \( -type f -o -type l \) -printf '%P\n') >"$to/.files-$part"
  while IFS= read -r name; do
    mkdir -p "$to/$name"
    find "$from/$name" -mindepth 1 -maxdepth 1 ! -type d -exec mv -f -t "$to/$name" {} +
  done < <(cd "$from" && find . -type d -printf '%P\n')
  rm -rf "$from"
}

# drop_leftovers: of a set-up that was killed; call it with the lock held.
drop_leftovers() {
  local folder
  rm -rf "$prefix"/downloads/.part-* "$prefix"/downloads/.fetched-* "$prefix"/libtorch-*.part-* "$prefix"/system.part-*
  for folder in "$prefix"/logs/.parts-*; do  # a build beside this set-up has one too
    kill -0 "${folder##*-}" 2>/dev/null || rm -rf "$folder"
  done
}

need_part_space() {
  local fetch unpacked
  fetch=$(bytes_to_fetch "$1")
  unpacked=$(unpacked_bytes "$1")
  need_space "$prefix" $((fetch + unpacked + 100000000)) \
    "the libtorch files, part $1 ($(megabytes "$fetch") to fetch, $(megabytes "$unpacked") unpacked)"
}

# bring_part PART: fetches, checks, unpacks aside, moves in, writes the mark. Call drop_fetched after the last part:
# two are made of the torch wheel.
bring_part() {
  local part=$1 file bytes requirement sha aside count=0 total mark_file
  mkdir -p "$prefix/downloads"
  need_part_space "$part"
  while read -r file bytes requirement sha; do
    fetch_wheel "$file" "$bytes" "$requirement" "$sha"
  done < <(wheels "$part")
  aside=$(libtorch_folder).part-$$
  rm -rf "$aside"
  mkdir -p "$aside"
  total=$(wheels "$part" | wc -l)
  while read -r file bytes requirement sha; do
    count=$((count + 1))
    report "libtorch unpacking $count of $total"
    wheel_is_good "$prefix/downloads/$file" "$sha" || die "$file changed after it was checked" "$prefix/downloads" "run the same command again"
    unpack_for "$part" "$file" "$aside"
  done < <(wheels "$part")
  live_end
  if [ "$part" = cpu ]; then
    rm -f "$(libtorch_folder)"/.complete*
    rm -rf "$(libtorch_folder)"
    part_hashes cpu >"$aside/.complete"
    mv -T "$aside" "$(libtorch_folder)"
    return
  fi
  name_mark "$part"
  rm -f "$mark_file"
  [ "$part" != nvcc ] || fit_nvcc "$aside"
  move_in "$part" "$aside"
  part_hashes "$part" >"$mark_file.part"
  mv "$mark_file.part" "$mark_file"
}

# drop_fetched: what this call fetched is unpacked now; a file somebody brought by hand stays.
drop_fetched() {
  local file list=$prefix/downloads/.fetched-$$
  [ -f "$list" ] || return 0
  while IFS= read -r file; do rm -f "$prefix/downloads/$file"; done <"$list"
  rm -f "$list"
}
