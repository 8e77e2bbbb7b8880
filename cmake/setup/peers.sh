# The Python packages that a bench compares with: fetched by name and hash, unpacked aside, and only then named. A folder for
# PYTHONPATH instead of a virtual environment, which Debian's python3 cannot make. Sourced by ./isobar.
# shellcheck shell=bash

peers_bytes=3930000000  # what they take unpacked

have_peers() {
  local mark='' hashes
  [ -f "$peers_folder/.complete" ] && read -r mark <"$peers_folder/.complete" && read_hashes peers && [ "$mark" = "$hashes" ]
}

# bring_peers: prints what it will fetch and asks, unless they are there. Each file is unpacked and thrown away before the next.
bring_peers() {
  local wheel file bytes requirement sha part=$peers_folder.part-$$ plan sum=0 hashes
  local -a wheels
  ! have_peers || return 0
  python3 -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
    die "the pinned packages are for Python 3.11, this is $(python3 --version 2>&1)" "python3" \
      "put Python 3.11 first in PATH as python3 (pyenv, conda, a module); ./isobar bench telemetry needs none of them" 1
  read_hashes peers
  read_wheels peers
  for wheel in "${wheels[@]}"; do
    read -r file bytes _ <<<"$wheel"
    sum=$((sum + bytes))
  done
  plan="  - fetch PyTorch $libtorch_version for Python with what it needs ($(megabytes $sum)) and unpack it ($(megabytes $peers_bytes)) in $prefix: what Isobar is compared with"$'\n'
  lock_setup
  have_peers || {
    confirm
    need_space "$prefix" 4600000000 "the packages to compare with (3.9 GB, and room for the largest file while it is unpacked)"
    mkdir -p "$prefix/downloads" "$prefix/logs"
    rm -rf "$prefix"/peers-*.part-*
    mkdir -p "$part"
    for wheel in "${wheels[@]}"; do
      read -r file bytes requirement sha <<<"$wheel"
      fetch_wheel "$file" "$bytes" "$requirement" "$sha"
      unpack_wheel "$prefix/downloads/$file" "$part"
      drop_fetched
    done
    say "  compiling ..."  # an installation does it too; else the first import would
    python3 -m compileall -q -j 0 "$part" >"$prefix/logs/peers.log" 2>&1 || true  # some tests in there are for other Pythons
    printf '%s\n' "$hashes" >"$part/.complete"
    rm -rf "$peers_folder"
    mv "$part" "$peers_folder"
  }
  exec 9>&-
}
