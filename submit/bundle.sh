#!/usr/bin/env bash
# bundle.sh OUT.tar.xz [--replace] [--build FOLDER] [--dry-run]: packs the built programs, the CUDA plugin, the libraries they need besides torch and
# CUDA, and what they read, for a machine that has PyTorch 2.11 but neither a network nor these packages. There:
#   tar xf OUT.tar.xz && isobar-bundle/run.sh 01_baseline
# A name that ends in .gz is packed by gzip, which sees no likeness between programs and needs twice the room.
# --dry-run: only refuses what it would refuse.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=cmake/setup/say.sh
. "$home/cmake/setup/say.sh"
most_bytes=64000000

out=
replace=
dry=
build=$home/build
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=${2:?--build needs a folder}; shift ;;
    --replace) replace=1 ;;
    --dry-run) dry=1 ;;
    -*) die "bundle does not know \"$1\"" "./isobar bundle" "./isobar bundle OUT.tar.gz" 2 ;;
    *) [ -z "$out" ] || die "one file to write is enough, not \"$out\" and \"$1\"" "./isobar bundle" "" 2; out=$1 ;;
  esac
  shift
done
[ -n "$out" ] || die "which file shall be written?" "./isobar bundle" "./isobar bundle isobar.tar.xz" 2
[ -d "$(dirname "$out")" ] || die "the folder of that file does not exist" "$out" "mkdir -p $(dirname "$out")" 2
[ ! -d "$out" ] || die "that is a folder, not a file to write" "$out" "./isobar bundle $out/isobar.tar.xz" 2
# The rule of the programs (engine/base/core/named_file.h).
[ ! -L "$out" ] || [ -e "$out" ] || die "it is a link that leads nowhere" "$out" "name another file" 2
[ ! -e "$out" ] || [ -f "$out" ] || die "it exists and is not a file" "$out" "name another file" 2
first_of() { { tar -tf "$1" || python3 -m tarfile -l "$1"; } 2>/dev/null | head -n 1; }  # tar reads .xz where there is xz
[ ! -e "$out" ] || [ -n "$replace" ] || [[ $(first_of "$out") = isobar-bundle/* ]] ||
  die "the file is there, and is no bundle of ours" "$out" "name another file; --replace writes over it" 2
[ -z "$dry" ] || exit 0
[ ! -L "$out" ] || out=$(readlink -f "$out")
compgen -G "$build/bin/*" >/dev/null || die "nothing is built here" "$build/bin" "./isobar bundle builds and packs"

work=$(mktemp -d)
trap 'rm -rf "${work:?}" "$out.part-$$"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
bundle=$work/isobar-bundle
mkdir -p "$bundle"/{bin,lib,glibc,tests}

is_elf() { [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; }

# What runs there, and the tests whose outcome depends on that machine: its kernels, its libtorch, its ranks.
tests="gpu kernels fused model golden train comm ring data products"
travels() { # travels PROGRAM
  case $1 in
    isobar-gui | isobar-browser | bench_gui | bench_gui_tab | bench_telemetry* | bench_emulated | bench_compress | bench_zero | bench_pipeline | bench_context) return 1 ;;  # these need a display's libraries, or measure what needs no GPU
    test_*) [[ " $tests " = *" ${1#test_} "* ]] ;;
    isobar-* | make_fields | bench_* | [0-9][0-9]_*) ;;
    *) return 1 ;;
  esac
}
for program in "$build"/bin/*; do
  if travels "${program##*/}" && is_elf "$program"; then strip -s -o "$bundle/bin/${program##*/}" "$program"; fi
done
for library in "$build"/lib/*.so; do
  [ ! -f "$library" ] || strip --strip-unneeded -o "$bundle/lib/${library##*/}" "$library"
done

# One line for each library that the programs are linked to: NAME PATH.
needed=$(for file in "$bundle"/bin/* "$bundle"/lib/*.so; do ldd "$file" 2>/dev/null || true; done | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 } $1 ~ /^\/.*ld-linux/ { n = split($1, p, "/"); print p[n], $1 }' | sort -u)
while read -r name path; do
  case $name in
    libtorch* | libc10* | libgomp.so* | libcud* | libcublas* | libcufft* | libcufile* | libcupti* | libcurand* | libcusolver* | libcusparse* | libnv* | libnccl* | libcaffe2* | libshm* | nvshmem*) ;;
    ld-linux* | libc.so.6 | libm.so.6 | libdl.so.2 | librt.so.1 | libpthread.so.0 | libresolv.so.2 | libutil.so.1) cp -L "$path" "$bundle/glibc/$name" ;;
    *) [ -e "$bundle/lib/$name" ] || cp -L "$path" "$bundle/lib/$name" ;;
  esac
done <<<"$needed"
readelf -VW "$bundle"/bin/* "$bundle"/lib/*.so* 2>/dev/null | grep -oE 'GLIBC_[0-9]+\.[0-9]+' | sed 's/GLIBC_//' | sort -Vu | tail -n 1 >"$bundle/glibc/needed"

cp "$home/submit/bundle_run.sh" "$bundle/run.sh"
cp "$home/submit/bundle_start.sh" "$bundle/glibc/start"
chmod +x "$bundle/run.sh" "$bundle/glibc/start"
for program in "$bundle"/bin/*; do ln -s start "$bundle/glibc/${program##*/}"; done
cp "$home/submit/README.md" "$bundle/"
mkdir "$bundle/submit"
cp -r "$home/submit/profiles" "$home/submit/job.sbatch" "$home/submit/first_gpu.sh" "$home/submit/rebuild_plugin.sh" "$bundle/submit/"
(cd "$home" && find engine/base/{core,config,ring,vector} engine/training/{cuda,kernels,device,comm} -name '*.[hc]*' -print0 | xargs -0 cp --parents -t "$bundle")  # to mend the plugin there
(cd "$home" && find cmake/setup -type f \( -name '*.sh' -o -name systems.txt \) -print0 | xargs -0 cp --parents -t "$bundle")  # for its doctor
(cd "$home" && find lessons -name recorded -prune -o -type f -print0 | xargs -0 cp --parents -t "$bundle")
cp -r "$home/tests/reference" "$bundle/tests/"
mkdir "$bundle/tests/bench"
cp -r "$home/tests/bench/peers" "$bundle/tests/bench/"
find "$bundle/tests" -name __pycache__ -prune -exec rm -rf {} +
commit=$(timeout -k 5 20 git -C "$home" rev-parse HEAD 2>/dev/null) && [[ $commit =~ ^[0-9a-f]{40,64}$ ]] || commit=unknown
echo "$commit" >"$bundle/commit"

# Programs hold much the same code: a dictionary longer than the largest one finds it again in the next.
pack() {
  if [[ $out = *.gz ]]; then
    gzip
  elif command -v xz >/dev/null; then
    xz -T1 --lzma2=preset=1,dict=32MiB
  else
    python3 -c 'import lzma, shutil, sys
with lzma.open(sys.stdout.buffer, "wb", filters=[{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 25}]) as out:
    shutil.copyfileobj(sys.stdin.buffer, out)'
  fi
}
tar -C "$work" --owner=0 --group=0 --sort=name -cf - isobar-bundle | pack >"$out.part-$$"
size=$(stat -c %s "$out.part-$$")
[ "$size" -lt $most_bytes ] || die "the bundle would have $(megabytes "$size"); at most $(megabytes $most_bytes) are meant to travel" "$out" "$([[ $out != *.gz ]] || echo "a name in .tar.xz, or ")leave programs out of $build/bin"
mv "$out.part-$$" "$out"
say "$out: $(megabytes "$size"), $(find "$bundle/bin" -type f | wc -l) programs, $(find "$bundle/lib" -type f | wc -l) libraries$([ -e "$bundle/lib/libisobar_cuda.so" ] || printf ', no CUDA plugin (./isobar --cuda bundle packs it)')"
