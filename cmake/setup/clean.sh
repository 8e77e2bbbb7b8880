# ./isobar clean: removes what Isobar fetched, made and built, and knows by its own marks; never runs, never what somebody
# else put there. Sourced by ./isobar.
# shellcheck shell=bash

# shellcheck source=/dev/null
. "${BASH_SOURCE[0]%/*}/lock.sh"

clean_kinds='build downloads logs parts peers data system cuda libtorch'

clean_usage() {
  cat <<'TEXT'
./isobar clean [WHAT...] [--all] [--yes] [--dry-run]

  Lists what is cached with its size, asks, and removes it. Without a name: what costs least to get back, that is
  build, downloads, logs and parts. Runs are never touched: ./isobar runs delete RUN. What somebody else put into one of
  these folders is listed, and stays.

  build       the build folder
  downloads   files that were fetched and not unpacked yet, or brought by hand
  logs        logs of the set-up and of the window's runs
  parts       what a broken-off set-up left
  peers       Python environments of the benches
  data        synthetic data sets (the next run makes them again); data that you brought stays
  system      Debian packages that were unpacked without root
  cuda        the CUDA part of libtorch and its compiler (2.6 GB to fetch again)
  libtorch    libtorch, the CUDA part too

  --all       everything above
  --yes       do not ask
  --dry-run   only list
TEXT
}

# check_clean_prefix: a folder that holds other things than Isobar's is refused, however it was named.
check_clean_prefix() {
  local real above hint="export ISOBAR_PREFIX=/the/folder/of/isobar"
  local -a names
  mapfile -d '' -t names < <(exec readlink -mz "$prefix" / "${HOME:-/}" "$home" /tmp /var /usr /home /root /opt /etc)
  real=${names[0]}
  for above in "${names[@]:1}"; do
    [ "$real" != "$above" ] || die "this folder is not Isobar's alone, so nothing in it is removed" "$prefix" "$hint" 2
  done
  case "${HOME:-/}/ $home/" in
    "$real"/* | *" $real"/*) die "this folder holds more than Isobar's files, so nothing in it is removed" "$prefix" "$hint" 2 ;;
  esac
  prefix=$real
  name_folders
}

# found KIND PATH: remembers one thing that may go. A symbolic link, and what stands behind one, is somebody's choice and stays.
found() {
  [ -e "$2" ] || [ -L "$2" ] || return 0
  if [ "$(readlink -f "$2")" = "$2" ]; then
    clean_list+=("$1 $2")
  else
    say "  (left alone, there is a symbolic link in $2)"
  fi
}

# own_names KIND FOLDER: what Isobar puts into a folder of this kind, as a regular expression of paths in it. What has
# another name was put there by somebody, and stays.
own_names() {
  case $1 in
    data)  # files_of_set (datasets/make_fields/make_fields.h), and what is being written
      printf '%s' '(dataset\.toml|train|train/200[12]\.h5|valid|valid/2003\.h5|test|test/2004\.h5|stats|stats/(global_means|global_stds|time_means)\.npy)(\.part-[0-9]+)?' ;;
    build)
      printf '%s' '(\.[^/]+|CMake(Cache\.txt|Files)|CTestTestfile\.cmake|DartConfiguration\.tcl|Testing|bin|build\.ninja|cmake|cmake_install\.cmake|compile_commands\.json|data|datasets|engine|gui|lessons|lib|lib[^/]*\.a|tests|[a-z0-9_]+\.log)(/.*)?' ;;
    system)
      printf '%s' '(\.complete|bin|certificates\.crt|etc|lib|lib32|lib64|libs|libx32|opt|run|sbin|srv|tools|usr|var)(/.*)?' ;;
    libtorch) printf '%s' '(\.complete[^/]*|\.files-[^/]*|nvidia|torch)(/.*)?' ;;
    peers)  # what its wheels brought, by their own lists
      printf '%s(/.*)?' "($(cat "$2"/*.dist-info/RECORD 2>/dev/null | cut -d, -f1 | cut -d/ -f1 | sort -u | sed 's/[^A-Za-z0-9_-]/\\&/g' | tr '\n' '|')\.complete|__pycache__)" ;;
  esac
}

# foreign_in KIND FOLDER: what stays, a line each.
foreign_in() {
  local names
  names=$(own_names "$1" "$2")
  [ -z "$names" ] || find "$2" -xdev -mindepth 1 -regextype posix-extended ! -regex "$(regex_of "$2")/($names)" -prune -print
}

# regex_of TEXT: that stands for itself.
regex_of() { printf '%s' "$1" | sed 's/[^A-Za-z0-9_/ -]/\\&/g'; }

# The marks by which each kind is known.
find_build() {
  [ -f "$build/.ready" ] || grep -qsFx "CMAKE_HOME_DIRECTORY:INTERNAL=$home" "$build/CMakeCache.txt" || [ -f "$build/configure.log" ] || return 0
  found build "$(readlink -f "$home")/build"
}
find_downloads() {
  local file name
  local -a wheels
  read_wheels cpu cuda nvcc peers
  for file in "$prefix"/downloads/*.whl; do
    name=${file##*/}
    # Files of today's lists, or of another version's: these are names that only a set-up gives.
    if [[ " ${wheels[*]} " = *" $name "* || $name =~ ^(torch|nvidia_[a-z0-9_]+)-[0-9][^/]*-manylinux[^/]*\.whl$ ]]; then found downloads "$file"; fi
  done
}
find_logs() {
  local file
  for file in "$prefix"/logs/apt.log "$prefix"/logs/pip.log "$prefix"/logs/peers.log "$prefix"/window/start-*.log; do found logs "$file"; done
}
find_parts() {
  local file
  for file in "$prefix"/downloads/.part-* "$prefix"/libtorch-*.part-* "$prefix"/peers-*.part-* "$prefix"/system.part-* "$prefix"/data/fields-*.part-*; do
    [[ $file =~ \.part-[0-9]+$ ]] && found parts "$file"
  done
  [ ! -d "$prefix/apt/state/lists" ] || [ ! -d "$prefix/apt/cache/archives" ] || found parts "$prefix/apt"
}
find_peers() {
  local folder
  for folder in "$prefix"/peers-*; do
    [[ ! $folder =~ \.part-[0-9]+$ ]] && [ -f "$folder/.complete" ] && found peers "$folder"
  done
  return 0
}
find_data() {
  local sheet
  for sheet in "$prefix"/data/*/dataset.toml; do
    [ -f "$sheet" ] && grep -qs '^synthetic = true' "$sheet" && grep -qs '^generator = ' "$sheet" && found data "${sheet%/dataset.toml}"
  done
  return 0
}
find_system() {
  [ ! -f "$prefix/system/.complete" ] || [ ! -d "$prefix/system/tools" ] || found system "$prefix/system"
}
find_cuda() {
  [[ " $wanted " != *' libtorch '* ]] || return 0
  [ ! -f "$libtorch_folder/.files-cuda" ] || found cuda "$libtorch_folder/.files-cuda"
  [ ! -f "$libtorch_folder/.files-nvcc" ] || found cuda "$libtorch_folder/.files-nvcc"
}
find_libtorch() {
  local folder
  for folder in "$prefix"/libtorch-[0-9]*; do
    [[ ! $folder =~ \.part-[0-9]+$ ]] && [ -f "$folder/.complete" ] && found libtorch "$folder"
  done
  return 0
}

# listed_files LIST: the files that a part brought, as paths that cannot leave the folder of the list.
listed_files() {
  local folder=${1%/*} name
  while IFS= read -r name; do
    [[ $name = /* || /$name/ = */../* || -z $name ]] || printf '%s/%s\0' "$folder" "$name"
  done <"$1"
}

# size_of KIND PATH: in bytes, without what stays.
size_of() {
  case $2 in
    */.files-*) listed_files "$2" | du -cb --files0-from=- 2>/dev/null | tail -n 1 | cut -f1 ;;
    *) echo $(($(sum_of <<<"$2") - $(foreign_in "$1" "$2" | sum_of))) ;;
  esac
}
sum_of() { tr '\n' '\0' | du -scbx --files0-from=- 2>/dev/null | tail -n 1 | cut -f1; }

# remove KIND PATH
remove() {
  local names
  case $2 in
    */.files-*)
      rm -f "${2/.files-/.complete-}"
      listed_files "$2" | xargs -0 -r rm -f --
      find "${2%/*}/nvidia" -xdev -mindepth 1 -type d -empty -delete 2>/dev/null || true
      rm -f "$2" ;;
    *)
      names=$(own_names "$1" "$2")
      [ -n "$names" ] || { rm -rf --one-file-system -- "$2"; return; }
      rm -f "$2"/.complete* "$2"/dataset.toml  # from here on it is not believed, even if this is broken off
      find "$2" -xdev -depth -mindepth 1 -regextype posix-extended -regex "$(regex_of "$2")/($names)" \( ! -type d -o -empty \) -delete
      rmdir "$2" 2>/dev/null || true ;;
  esac
}

clean_arguments() {
  local word kind
  for word in "$@"; do
    case $word in
      --all) wanted=$clean_kinds ;;
      --dry-run) dry_run=1 ;;
      --help | -h) clean_usage; exit 0 ;;
      *)
        kind=
        [[ " $clean_kinds " = *" $word "* && $word != *' '* && -n $word ]] || {
          # shellcheck disable=SC2086  # one word a kind
          kind=$(nearest "$word" $clean_kinds --all --yes --dry-run)
          die "there is nothing called \"$word\" to clean" "./isobar clean" "${kind:+did you mean $kind? }./isobar clean --help lists them" 2
        }
        wanted="$wanted $word" ;;
    esac
  done
  wanted=${wanted:-build downloads logs parts}
}

# lock_folder FOLDER WHAT: until ./isobar ends; where no lock has been made there was nothing at work.
lock_folder() {
  local status=0 descriptor
  [ -e "$1/.lock" ] || return 0
  [ -w "$1/.lock" ] || die "this folder cannot be written" "$1" "it belongs to somebody else"
  exec {descriptor}>>"$1/.lock"
  try_lock "$descriptor" || status=$?
  [ $status != 1 ] || die "$2 is at work in this folder" "$1" "run the same command when it has ended"
  [ $status != 2 ] || report_no_locks "$1"
}
lock_for_clean() {
  lock_folder "$prefix" "a set-up"
  lock_folder "$build" "a build"
}

# list_clean: a line a folder, and one for all loose files of a kind; sets clean_bytes.
list_clean() {
  local entry kind path bytes foreign
  local -A count=() loose=()
  clean_bytes=0
  for entry in "${clean_list[@]}"; do
    kind=${entry%% *} path=${entry#* }
    bytes=$(size_of "$kind" "$path")
    clean_bytes=$((clean_bytes + ${bytes:-0}))
    if [[ $kind = downloads || $kind = logs ]]; then
      count[$kind]=$((${count[$kind]:-0} + 1)) loose[$kind]=$((${loose[$kind]:-0} + ${bytes:-0}))
      continue
    fi
    [[ $path != */.files-* ]] || path="part ${path##*/.files-} of ${path%/*}"
    printf '  %-10s %9s  %s\n' "$kind" "$(megabytes "${bytes:-0}")" "$path"
    while IFS= read -r foreign; do
      [ -z "$foreign" ] || printf '  %-10s %9s  %s\n' stays '' "$foreign"
    done < <(foreign_in "$kind" "$path")
  done
  for kind in "${!count[@]}"; do
    printf '  %-10s %9s  %s files in %s\n' "$kind" "$(megabytes "${loose[$kind]}")" "${count[$kind]}" "$prefix"
  done
  say "  together $(megabytes $clean_bytes)"
}

clean() {
  local wanted='' dry_run='' entry kind answer
  local -a clean_list=()
  clean_arguments "$@"
  check_clean_prefix
  lock_for_clean
  for kind in $clean_kinds; do [[ " $wanted " != *" $kind "* ]] || "find_$kind"; done
  [ ${#clean_list[@]} -gt 0 ] || { say "nothing to clean: $(printf '%s' "$wanted" | xargs | sed 's/ /, /g')"; return; }
  list_clean
  [ -z "$dry_run" ] || return 0
  if [ -z "$yes" ]; then
    { [ -t 0 ] && [ -t 1 ]; } || die "nobody is here to ask, so nothing was removed" "./isobar clean" "./isobar clean --yes" 2
    printf 'Remove all of this? [y/N] '
    read -r answer || answer=n
    case $answer in [yY]*) ;; *) say "nothing was removed"; return ;; esac
  fi
  for entry in "${clean_list[@]}"; do remove "${entry%% *}" "${entry#* }"; done
  # What the build stands on is gone, so the next command looks again.
  [[ " $wanted " != *' libtorch '* && " $wanted " != *' cuda '* && " $wanted " != *' system '* ]] || rm -f "$build/.ready"
  [[ " $wanted " != *' system '* ]] || rm -f "$build/CMakeCache.txt"  # which names what was in there
  say "removed, $(megabytes $clean_bytes)"
}
