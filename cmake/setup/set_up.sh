# The set-up: what it will bring, asking, and bringing the parts beside each other. Sourced by ./isobar.
# shellcheck shell=bash

# shellcheck source=/dev/null
. "${BASH_SOURCE[0]%/*}/lock.sh"

# is_ready: nothing that decides the set-up changed since it was finished for this prefix. Forks nothing.
is_ready() {
  local file part
  read_ready
  [ -n "$ready_parts" ] && [ "$ready_prefix" = "$prefix" ] || return 1
  for part in $parts; do [[ " $ready_parts " = *" $part "* ]] || return 1; done
  cuda_wanted
  case $cuda_wish in
    no) [ "$ready_cuda" = "$cuda_choice" ] || return 1 ;;
    try) [ -n "$taken_as_it_is" ] || return 1 ;;
    *) [ "$ready_cuda" = yes ] && [ -f "$prefix/libtorch-$libtorch_version/.complete-cuda" ] || return 1 ;;
  esac
  [ -z "$torch" ] || { [ "$ready_torch" = ON ] && [ -f "$prefix/libtorch-$libtorch_version/.complete" ]; } || return 1
  for file in "$home/isobar" "$setup"/*; do [ ! "$file" -nt "$build/.ready" ] || return 1; done
}

# confirm: shows the plan (in $plan), asks where a person is there.
confirm() {
  local answer
  say "To set this machine up once, Isobar will"
  say "$plan"
  if [ -z "$yes" ] && [ -t 0 ] && [ -t 1 ]; then
    printf 'Go on? [Y/n] '
    read -r answer || answer=n
    case $answer in '' | [yY]*) ;; *) die "stopped; nothing was installed" "" "./isobar doctor says what is there" ;; esac
  fi
}

lock_setup() {
  local owner status=0
  exec 9>>"$prefix/.lock"
  try_lock 9 || status=$?
  case $status in
    1)
      [ -z "${wants_help:-}" ] || { usage; exit 0; }
      read -r owner <"$prefix/.lock" || owner='?'
      say "another set-up (process $owner) is at work in $prefix; waiting for it ..."
      await_lock 9 ;;
    2) report_no_locks "$prefix" ;;
  esac
  printf '%s\n' "$$" >"$prefix/.lock"
}

# find_missing: sets missing (package names), first (those that fetching libtorch takes) and packages_by (root, user).
find_missing() {
  local lacking units
  missing='' first='' packages_by=root
  if ! have_debian; then
    check_other_system
    return
  fi
  read_missing
  missing=$lacking
  [ -n "$missing" ] || return 0
  if can_be_root; then
    if [ -n "$torch" ] && ! have_libtorch; then
      read_missing fetch
      first=$lacking
    fi
    refresh_lists "$missing"
    read_missing  # the lists may lack some
    missing=$lacking
    [ -n "$missing" ] || return 0
    package_sizes "$missing"
    plan="  - install $package_count Debian packages${package_sentence:+ ($package_sentence)}: $missing"$'\n'
    find_services
    [ -z "$units" ] || plan="$plan  - mask their services, so that none starts: $units"$'\n'
  else
    packages_by=user
    plan_system "$missing"
    [ "$package_count" -gt 0 ] || die "Debian packages are missing, you are not root, and apt knows no way to bring them: $missing" \
      "log: $prefix/logs/apt.log" "ask an administrator for: apt-get install --no-install-recommends $missing"
    plan="  - fetch $package_count Debian packages${package_sentence:+ ($package_sentence)} and unpack them as you, without root,"
    plan="$plan in $prefix/system: $missing"$'\n'
  fi
}

# bring_packages: the few that fetching takes first, the others beside the fetching.
bring_packages() {
  local lacking
  read_missing fetch
  [ -n "$lacking" ] || begin_libtorch
  : >>"$prefix/logs/apt.log"
  packages_from=$(($(wc -l <"$prefix/logs/apt.log") + 1))  # the log continues from one set-up to the next
  if [ "$packages_by" = user ]; then
    start_part packages bring_system
    join packages
    use_system
  else
    ask_sudo
    if [ -n "$first" ]; then
      start_part packages install_packages "$first"
      join packages
    fi
    begin_libtorch
    read_missing
    if [ -n "$lacking" ]; then
      start_part packages install_packages "$lacking"
      build_meanwhile
      join packages
    fi
  fi
}

# build_meanwhile: what an earlier set-up configured takes none of the packages that are missing.
build_meanwhile() {
  [[ " ${targets[*]} " = *" all "* ]] && [ "$ready_prefix" = "$prefix" ] && [ "$ready_torch" = ON ] && have_libtorch || return 0
  [ "$(ninja -C "$build" -n build.ninja 2>/dev/null | tail -n 1)" = "ninja: no work to do." ] || return 0
  build_targets all
}

begin_libtorch() {
  [ -n "$torch" ] && ! have_libtorch && [[ " ${part_names[*]-} " != *" libtorch "* ]] || return 0
  start_part libtorch bring_part cpu
}

# bring_parts: packages, and libtorch beside them; what needs no libtorch is built until it is there.
bring_parts() {
  local target
  local -a early=()
  [ -z "$missing" ] || bring_packages
  begin_libtorch
  part_at_work libtorch || return 0
  for target in "${targets[@]}"; do
    case $target in
      isobar-run | isobar-cli | isobar-gui | isobar-browser | make_fields) early+=("$target") ;;
      all) early+=(isobar-run make_fields) ;;
    esac
  done
  if [ ${#early[@]} -gt 0 ]; then
    show_parts configuring
    rm -f "$build/.ready"  # for another prefix it may have been: its targets are gone now
    configure OFF OFF
    build_targets "${early[@]}"
    [[ " ${early[*]} " != *' make_fields '* ]] || begin_data
  fi
  join libtorch
}

set_up() {
  local missing first packages_by plan='' with_torch=OFF to_fetch here
  [ "$(uname -m)" = x86_64 ] || die "the pinned libtorch files are for x86_64, this machine is $(uname -m)" "cmake/setup/wheels.txt" "" 1
  mkdir -p "$prefix/logs" 2>/dev/null && [ -w "$prefix" ] ||
    die "the folder for cached files cannot be written" "$prefix" "export ISOBAR_PREFIX=/a/folder/of/yours"
  lock_setup
  drop_leftovers
  find_missing
  if [ -n "$torch" ] && ! have_libtorch; then
    read_to_fetch cpu
    plan="$plan  - fetch libtorch $libtorch_version ($(megabytes "$to_fetch")) and unpack its CPU part"
    plan="$plan ($(megabytes "${unpacked_bytes[cpu]}")) in $prefix"$'\n'
  fi
  [ -f "$build/build.ninja" ] || plan="$plan  - build (about 200 MB, in $build)"$'\n'
  ! data_wanted || plan="$plan  - make a synthetic weather data set (585 MB) in $prefix/data"$'\n'
  cuda_wanted
  [ "$cuda_wish" = no ] || find_nvcc
  [ "$cuda_wish" != yes ] && [ "$cuda_wish" != keep ] || plan="$plan$(cuda_plan)"
  [ -z "$plan" ] || confirm
  [ "$cuda_wish" != try ] || ask_for_cuda
  [ -z "$torch" ] || have_libtorch || need_part_space cpu  # before anything begins
  need_space "$build" 400000000 "the build"
  bring_parts
  if [ "$cuda_wish" != no ]; then bring_cuda; fi
  ! have_libtorch || with_torch=ON
  [ "$cuda_wish" != no ] && [ "$cuda_choice" = yes ] || configure $with_torch OFF
  drop_fetched
  exec 9>&-
  find_here
  printf '%s\n%s\n%s\n%s\n' "$prefix" "$here" "$cuda_choice" $with_torch >"$build/.ready"
  ready_cuda=$cuda_choice
}

# data_grid: the data set that this ./isobar run makes if it is not there: that of the preset which the lesson picks
# on a machine without a GPU. Nothing where words of the call may change that.
data_grid() {
  local word preset
  [ "$command" = run ] && [ -n "${lesson:-}" ] && [ -z "$wants_help" ] && ! driver_here || return 0
  for word in "${args[@]}"; do
    case $word in
      *preset* | *config* | *resume* | *data.* | *run.measure* | *run.device* | *cuda* | --mine) return 0 ;;
    esac
  done
  ! has_line "$home/lessons/$lesson/lesson.toml" needs || return 0
  preset=$(sed -n 's/^cpu = "\([a-z0-9_]*\)".*/\1/p' "$home/lessons/$lesson/lesson.toml" | head -n 1)
  sed -n 's/^grid = \[\([0-9]*\), *\([0-9]*\)\].*/\1x\2/p' "$home/lessons/presets/${preset:-none}.toml" 2>/dev/null | head -n 1
}

# data_wanted: 1 where it is there, or at work. Sets grid.
data_wanted() {
  grid=
  [[ " ${part_names[*]-} " != *" data "* ]] || return 1
  ! compgen -G "$prefix/data/fields-72x144-v*/dataset.toml" >/dev/null || return 1  # asked first: it forks nothing
  grid=$(data_grid)
  [ "$grid" = 72x144 ]  # the one that cpu_tiny trains on; others are left to the program
}

begin_data() { ! data_wanted || start_part data make_data; }

make_data() {
  local line pid
  exec 9>&-  # the set-up continues without it
  report "data set 0 %"
  exec 4< <(hand_over "$build/bin/make_fields" --grid 72x144)
  pid=$!
  while IFS= read -r line <&4; do
    [[ ! $line =~ ([0-9]+)\ % ]] || report "data set ${BASH_REMATCH[1]} %"
  done
  wait "$pid"
}

# build_command: what this call needs, set up and built; the data set is made beside it.
build_command() {
  if [ -n "$taken_as_it_is" ]; then
    use_as_it_is
    return
  fi
  is_ready || set_up
  [ -z "$takes_plugin" ] || [ "$ready_cuda" != yes ] || targets+=(isobar_cuda)
  if data_wanted; then
    build_targets make_fields
    begin_data
  fi
  build_targets "${targets[@]}"
  join ${part_names[@]+"${part_names[@]}"}
  close_parts
}
