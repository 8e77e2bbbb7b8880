# The libtorch files: fetched by name and hash, checked, unpacked aside, and only then named. Sourced by ./isobar.
# In three parts: cpu; cuda (the CUDA libraries of torch and what they are linked to); nvcc (the CUDA compiler).
# shellcheck shell=bash

libtorch_version=2.11.0

declare -A unpacked_bytes=([cpu]=560000000 [cuda]=3050000000 [nvcc]=210000000)  # what a part takes on the disk

# name_folders: what stands in $prefix.
name_folders() {
  libtorch_folder=$prefix/libtorch-$libtorch_version
  peers_folder=$prefix/peers-$libtorch_version
}

# read_list LIST PATTERN: adds to wheels the files of a list that match, each once, as FILE BYTES NAME==VERSION SHA256.
read_list() {
  local first second third file='' bytes=''
  while read -r first second third; do
    if [ "$first" = '#file' ]; then
      file=$second bytes=$third
    elif [[ $first = [a-z]* && " ${wheels[*]-}" != *" $file "* ]]; then
      # shellcheck disable=SC2053  # a pattern
      [[ $file != $2 ]] || wheels+=("$file $bytes $first ${second#--hash=sha256:}")
    fi
  done <"$setup/$1"
}

# read_wheels PART...: sets wheels to what these parts, or other sets of packages with a list NAME.txt, are unpacked from.
read_wheels() {
  local part
  wheels=()
  for part in "$@"; do
    case $part in
      cpu) read_list wheels.txt '*' ;;
      cuda)
        read_list wheels.txt 'torch-*'
        read_list wheels_cuda.txt '*' ;;
      nvcc) read_list wheels_nvcc.txt '*' ;;
      *) [ ! -f "$setup/$part.txt" ] || read_list "$part.txt" '*' ;;
    esac
  done
}

# name_mark PART: sets mark_file, which is written last, when all of the part is in place.
name_mark() {
  mark_file=$libtorch_folder/.complete
  [ "$1" = cpu ] || mark_file+=-$1
}
# read_hashes PART: sets hashes to those of its files.
read_hashes() {
  local -a wheels
  read_wheels "$1"
  wheels=("${wheels[@]##* }")
  hashes=${wheels[*]}
}

# have_part PART: unpacked whole from the files that are pinned now.
have_part() {
  local mark mark_file hashes
  name_mark "$1"
  [ -f "$mark_file" ] && read -r mark <"$mark_file" && read_hashes "$1" && [ "$mark" = "$hashes" ]
}
have_libtorch() { have_part cpu; }

# read_to_fetch PART...: sets to_fetch to the bytes of the files that are not in downloads/ yet; a file of two parts
# counts once.
read_to_fetch() {
  local wheel file bytes
  local -a wheels
  to_fetch=0
  read_wheels "$@"
  for wheel in ${wheels[@]+"${wheels[@]}"}; do
    read -r file bytes _ <<<"$wheel"
    [ -f "$prefix/downloads/$file" ] && [ "$(stat -c %s "$prefix/downloads/$file")" = "$bytes" ] || to_fetch=$((to_fetch + bytes))
  done
}

# wheel_is_good FILE SHA256
wheel_is_good() {
  [ -f "$1" ] && sha256sum --check --status <<<"$2  $1"
}

# fetch_wheel FILE BYTES REQUIREMENT SHA256: into $prefix/downloads; a file that is there already is checked and used.
fetch_wheel() {
  local file=$1 bytes=$2 requirement=$3 sha=$4 target=$prefix/downloads/$1 work size pid percent name=${3%%==*} whole
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
  whole=$(megabytes "$bytes")
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.3
    read -r size _ < <(exec du -sb "$work" 2>/dev/null) || true  # files come and go there
    percent=$((${size:-0} * 100 / bytes))
    [ "$percent" -le 100 ] || percent=100
    report "${name/#torch/libtorch} $percent % of $whole"
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

# name_left_out FILE: sets without to members of a CUDA wheel that nothing here is linked to, as a pattern.
name_left_out() {
  case $1 in
    nvidia_cublas-*) without='*/libnvblas*' ;;
    nvidia_cuda_nvrtc-*) without='*.alt.*' ;;
    nvidia_cufft-*) without='*/libcufftw*' ;;
    nvidia_cufile-*) without='*/libcufile_rdma*' ;;
    nvidia_cusolver-*) without='*/libcusolverMg*' ;;
    nvidia_nvshmem_*) without='*/libnvshmem_device*' ;;
    nvidia_nvvm-*) without='*/libnvvm.so*' ;;
    *) without='' ;;
  esac
}

# unpack_for PART FILE FOLDER: what the part needs of one wheel.
unpack_for() {
  local part=$1 wheel=$prefix/downloads/$2 folder=$3 without
  name_left_out "$2"
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

# move_in PART FOLDER: into the libtorch folder, each file replaced in one step, so that running programs continue. Which files came is kept in a
# list beside the mark, for ./isobar clean.
move_in() {
  local part=$1 from=$2 to=$libtorch_folder name
  local -A folders=()
  (cd "$from" && exec find . \( -type f -o -type l \) -printf '%P\n') >"$to/.files-$part"
  while IFS= read -r name; do
    case $name in */*) folders[${name%/*}]=1 ;; *) folders[.]=1 ;; esac
  done <"$to/.files-$part"
  (cd "$to" && exec mkdir -p "${!folders[@]}")
  for name in "${!folders[@]}"; do
    find "$from/$name" -mindepth 1 -maxdepth 1 ! -type d -exec mv -f -t "$to/$name" {} +
  done
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
  local to_fetch
  read_to_fetch "$1"
  need_space "$prefix" $((to_fetch + ${unpacked_bytes[$1]} + 100000000)) "the libtorch files, part $1, fetched and unpacked"
}

# bring_part PART: fetches, checks, unpacks aside, moves in, writes the mark. Call drop_fetched after the last part:
# two are made of the torch wheel.
bring_part() {
  local part=$1 wheel file bytes requirement sha aside=$libtorch_folder.part-$$ count=0 mark_file hashes
  local -a wheels
  read_hashes "$part"
  read_wheels "$part"
  mkdir -p "$prefix/downloads"
  need_part_space "$part"
  for wheel in "${wheels[@]}"; do
    read -r file bytes requirement sha <<<"$wheel"
    fetch_wheel "$file" "$bytes" "$requirement" "$sha"
  done
  rm -rf "$aside"
  mkdir "$aside"
  for wheel in "${wheels[@]}"; do
    read -r file bytes requirement sha <<<"$wheel"
    count=$((count + 1))
    report "libtorch unpacking $count of ${#wheels[@]}"
    wheel_is_good "$prefix/downloads/$file" "$sha" || die "$file changed after it was checked" "$prefix/downloads" "run the same command again"
    unpack_for "$part" "$file" "$aside"
  done
  live_end
  if [ "$part" = cpu ]; then
    rm -f "$libtorch_folder"/.complete*
    rm -rf "$libtorch_folder"
    printf '%s\n' "$hashes" >"$aside/.complete"
    mv -T "$aside" "$libtorch_folder"
    return
  fi
  name_mark "$part"
  rm -f "$mark_file"
  [ "$part" != nvcc ] || fit_nvcc "$aside"
  move_in "$part" "$aside"
  printf '%s\n' "$hashes" >"$mark_file.part"
  mv "$mark_file.part" "$mark_file"
}

# drop_fetched: what this call fetched is unpacked now; a file somebody brought by hand stays.
drop_fetched() {
  local file list=$prefix/downloads/.fetched-$$
  [ -f "$list" ] || return 0
  while IFS= read -r file; do rm -f "$prefix/downloads/$file"; done <"$list"
  rm -f "$list"
}
