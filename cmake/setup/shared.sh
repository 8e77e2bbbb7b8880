# A checkout that this user cannot write: another user built it, or it is read-only. It is used as it is, and nothing is
# written there. Sourced by ./isobar.
# shellcheck shell=bash

# may_build: whether this user can write what a build writes.
may_build() {
  if [ -e "$build" ]; then
    [ -w "$build" ] && { [ ! -e "$build/.lock" ] || [ -w "$build/.lock" ]; }
  else
    [ -w "$home" ]
  fi
}

taken_as_it_is=
# take_as_it_is: what was fetched for the build stays where its owner has it; data, rates and logs go to a prefix of this
# user's own, exercises to ~/isobar/my.
take_as_it_is() {
  local folder name own=$prefix
  taken_as_it_is=1
  read_ready
  [ -n "$ready_prefix" ] || return 0  # which use_as_it_is refuses
  if [ -e "$own" ] && [ ! -w "$own" ]; then own=${XDG_CACHE_HOME:-${HOME:-}/.cache}/isobar; fi
  prefix=$ready_prefix
  name_folders
  export ISOBAR_PREFIX=$own
  [ -z "${HOME:-}" ] || export ISOBAR_MY=${ISOBAR_MY:-$HOME/isobar/my}
  [ "$own" != "$prefix" ] || return 0
  for folder in "$prefix"/data/fields-*; do  # its data sets, where one's own prefix has none
    name=$own/data/${folder##*/}
    [[ $folder =~ -v[0-9]+$ ]] && [ -r "$folder/dataset.toml" ] && [ ! -e "$name" ] || continue
    mkdir -p "$own/data" && ln -sfn "$folder" "$name" || true
  done
}

# stand_elsewhere: runs/ is made where one stands, and that may be the checkout. Words of args that name files stay true.
stand_elsewhere() {
  local i here=$PWD
  [ -n "$ready_prefix" ] && [ ! -w . ] && [ -n "${HOME:-}" ] && mkdir -p "$HOME/isobar" 2>/dev/null && cd "$HOME/isobar" || return 0
  printf 'note: %s cannot be written: runs are kept in %s/runs\n' "$here" "$PWD" >&2
  for ((i = 0; i < ${#args[@]}; ++i)); do
    [[ ${args[i]} != */* || ${args[i]} = /* || ! -e $here/${args[i]} ]] || args[i]=$here/${args[i]}
  done
}

# refuse_as_it_is WHAT COMMAND: COMMAND is what its owner runs.
refuse_as_it_is() {
  local owner
  owner=$(stat -c %U "$home")
  [ ! -O "$home" ] || die "$1, and it is read-only" "$home" "$2  where it can be written"
  die "$1, and you cannot write it" "$home, of $owner" "ask $owner to run  $2  there, or clone Isobar into a folder of yours"
}

# use_as_it_is: instead of the set-up and the build.
use_as_it_is() {
  local again="./isobar $command${args[0]:+ ${args[0]}}"
  [ -n "$ready_prefix" ] || [ -z "$wants_help" ] || { usage; exit 0; }
  [ -n "$ready_prefix" ] || refuse_as_it_is "nothing is built in this checkout" "./isobar setup"
  case $command in
    test | bundle | first-gpu) refuse_as_it_is "./isobar $command writes into the checkout" "./isobar setup" ;;
  esac
  if [ -n "$torch" ] && [ "$ready_torch" = ON ] && [ ! -r "$libtorch_folder/.complete" ]; then
    die "you cannot read what this checkout was built with" "$prefix" "ask $(stat -c %U "$home") to set it up where all may read: ISOBAR_PREFIX=/a/shared/folder ./isobar setup"
  fi
  is_ready || refuse_as_it_is "this checkout is not set up for that" "$again"
  [ -z "$takes_plugin" ] || [ "$ready_cuda" != yes ] || targets+=(isobar_cuda)
  need_not_build "${targets[@]}" || refuse_as_it_is "this checkout has changed since it was built, or that was never built" "$again"
}
