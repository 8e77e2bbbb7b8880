# The rows of ./isobar doctor about the machine: processor, cores, memory, disk, GPU. Sourced by doctor.sh.
# shellcheck shell=bash

# kernels_of FLAGS: which of its builds of every operation torch picks on such a processor.
kernels_of() {
  local flags=" $1 " feature
  for feature in avx512vl avx512bw avx512dq fma; do [[ $flags = *" $feature "* ]] || break; done
  if [[ $flags = *" $feature "* ]]; then printf AVX512; elif [[ $flags = *' avx2 '* && $flags = *' fma '* ]]; then printf AVX2; else printf DEFAULT; fi
}

# kernels_row KERNELS: which of its kernels torch takes, and who holds it to less.
kernels_row() {
  local own=${ISOBAR_CPU_CAPABILITY:-} aten=${ATEN_CPU_CAPABILITY:-}
  if [ -n "$own" ] && ! is_capability "$own"; then
    row kernels missing "ISOBAR_CPU_CAPABILITY is \"$own\", which is no set of instructions" "default, avx2 or avx512; or unset it"
  elif [ -n "$aten" ] && ! is_capability "$aten"; then
    row kernels note "ATEN_CPU_CAPABILITY is \"$aten\", which torch does not know and leaves out; it takes $1 here" "default, avx2 or avx512; or unset it"
  elif [ -n "$own" ]; then
    row kernels note "torch, MKL, oneDNN and Isobar's own are held to $own by ISOBAR_CPU_CAPABILITY; without it torch takes $1 here" "unset ISOBAR_CPU_CAPABILITY"
  elif [ -n "$aten" ]; then
    row kernels note "torch is told to take $aten by ATEN_CPU_CAPABILITY; by itself it takes $1 here" "unset ATEN_CPU_CAPABILITY"
  else
    row kernels ok "torch takes its $1 ones here; ISOBAR_CPU_CAPABILITY=avx2 holds all to AVX2"
  fi
}

# sixteen_bits_row MODE FLAGS: how products in 16 bits are made; a variable may take the instructions away.
sixteen_bits_row() {
  local mode=$1 flags=$2 held='' limits=" ${ISOBAR_CPU_CAPABILITY:-} ${ATEN_CPU_CAPABILITY:-} ${ONEDNN_MAX_CPU_ISA:-} "
  if [[ $limits =~ ' '(avx2|default|AVX2|SSE41|AVX512_CORE)' ' && " $flags " =~ ' '(amx|avx512)_$mode' ' ]]; then held=1 flags=; fi
  case "$mode $flags " in
    bf16*' amx_bf16 '*) row bf16 ok "AMX: matrix products in bf16 are several times faster than in fp32" ;;
    bf16*' avx512_bf16 '*) row bf16 ok "AVX512-BF16: matrix products in bf16 are up to twice as fast as in fp32" ;;
    fp16*' avx512_fp16 '*) row fp16 ok "AVX512-FP16: matrix products in fp16 are up to twice as fast as in fp32" ;;
    bf16*) row bf16 note "neither AMX nor AVX512-BF16${held:+ is allowed}: bf16 is emulated, about as fast as fp32" ;;
    *) row fp16 note "no AVX512-FP16${held:+ is allowed}: fp16 is emulated, about as fast as fp32" ;;
  esac
}

doctor_processor() {
  local flags name
  flags=$(sed -n '/^flags[^:]*: /{s///p;q}' "$machine/proc/cpuinfo" 2>/dev/null || true)
  name=$(sed -n '/^model name[^:]*: /{s///p;q}' "$machine/proc/cpuinfo" 2>/dev/null || true)
  case " $flags " in
    *' avx2 '*) row processor ok "${name:-unknown}" ;;
    *) row processor note "${name:-unknown}, without AVX2" "training works, some times slower than with AVX2" ;;
  esac
  kernels_row "$(kernels_of "$flags")"
  sixteen_bits_row bf16 "$flags"
  sixteen_bits_row fp16 "$flags"
}

# threads_here: how many threads a run takes here and what decides it, as the program prints it; then, on a line of its own,
# what is set and is no number of threads. Where it is not built, the first number of OMP_NUM_THREADS, if it has one.
threads_here() {
  local line='' program=${build:-}/bin/isobar-run
  [ ! -x "$program" ] || line=$(timeout 10 "$program" threads 2>/dev/null) || line=''
  if [[ $line =~ ^[1-9][0-9]{0,4}\ [[:print:]]+ ]]; then
    printf '%s\n' "$line"
  elif [[ ${OMP_NUM_THREADS:-} =~ ^[[:space:]]*([1-9][0-9]{0,3})[[:space:]]*(,|$) ]]; then
    printf '%s OMP_NUM_THREADS\n' "${BASH_REMATCH[1]}"
  fi
}

doctor_cores() {
  local present allowed line count quota cores threads why note fact state=ok hint=''
  read_line "$machine/sys/devices/system/cpu/online"
  read_count "$line"
  present=$count
  [ "$present" -gt 0 ] || present=$(grep -c '^processor' "$machine/proc/cpuinfo" 2>/dev/null || true)
  read_affinity
  allowed=$count
  read_quota
  fact="${present:-an unknown number}"
  if [ "$allowed" -gt 0 ] && [ "$allowed" -lt "${present:-0}" ]; then
    state=note fact="$allowed of $present may be used here (affinity)" hint="under Slurm ask for more: --cpus-per-task"
  fi
  if [ -n "$quota" ] && [ "$quota" -lt $(((allowed > 0 ? allowed : 9999) * 100)) ]; then
    state=note fact="$fact, and the control group allows the time of $((quota / 100)).$(printf '%02d' $((quota % 100)))"
  fi
  { read -r threads why; read -r note; } < <(threads_here; echo; echo) || true
  [ -z "$threads" ] || fact="$fact; a run takes $threads thread$([ "$threads" = 1 ] || printf s): $why"
  [ -z "$note" ] || state=note fact="$fact; $note"
  read_cores
  if [ "${threads:-0}" -gt "$cores" ]; then
    state=note hint="more threads than processors wait for each other: unset OMP_NUM_THREADS, or export OMP_NUM_THREADS=$cores"
  fi
  row cores $state "$fact" "$hint"
}

# rates_kept FILE: the line about what formula/machine_rates keeps, of the most threads.
rates_kept() {
  awk -F' = ' '
    /^\[threads\./ { for (key in peak) delete peak[key]; threads = $0; gsub(/[^0-9]/, "", threads) }
    $1 == "measured" { measured = substr($2, 2, 10) }
    $1 == "read_bytes_per_s" { reading = $2 }
    $1 == "latency_us" { latency = $2 }
    $1 == "bytes_per_us" { link = $2 }
    $1 == "memory_bytes_per_s" { memory = $2 }
    $1 ~ /\.peak_flops_per_s$/ { type = $1; sub(/\..*/, "", type); peak[type] = $2 }
    END {
      for (i = split("fp32 bf16 fp16", types, " "); i > 0; i--)
        if (types[i] in peak) products = sprintf("%s %.0f", types[i], peak[types[i]] / 1e9) (products == "" ? "" : ", ") products
      printf "products %s GFLOP/s with %d threads, memory %.1f GB/s, reading %.1f GB/s, two ranks %.0f us and %.1f GB/s; measured %s",
        products, threads, memory / 1e9, reading / 1e9, latency, link / 1e3, measured
    }' "$1"
}

doctor_rates() {
  local file=$prefix/rates.toml whose name waited again="./isobar predict 01_baseline --measure measures them again"
  if [ ! -f "$file" ]; then
    row rates note "not measured yet" "./isobar predict 01_baseline measures them once, in half a minute"
    return
  fi
  whose=$(sed -n 's/^machine = "\(.*\)"$/\1/p' "$file")
  waited=$(sed -n 's/^processor_wait = 0\.\([0-9][0-9]\).*/\1/p' "$file")
  name=$(sed -n 's/^model name[^:]*: //p' "$machine/proc/cpuinfo" 2>/dev/null | head -n 1 || true)
  if [ -z "$whose" ]; then
    row rates missing "$file is no file of rates" "$again"
  elif [ "${whose%, *}" != "${name:-unknown processor}" ]; then
    row rates note "of another machine: $whose" "$again"
  elif [ $((10#${waited:-0})) -gt 10 ]; then
    row rates note "$(rates_kept "$file"), beside other programs: too low" "$again, when it is quiet"
  else
    row rates ok "$(rates_kept "$file")"
  fi
}

doctor_memory() {
  local total free bytes memory_limit memory_used memory_room
  read_meminfo MemTotal
  total=$bytes
  read_meminfo MemAvailable
  free=$bytes
  if [ -z "$total" ] || [ -z "$free" ]; then
    row memory note "unknown: /proc/meminfo cannot be read"
    return
  fi
  read_allowed
  if [ -n "$memory_limit" ] && [ "$memory_limit" -lt "$total" ]; then
    row memory note "$(gigabytes "$memory_limit") allowed by the control group, $(gigabytes "$memory_used") of it used (the machine has $(gigabytes "$total"))" \
      "a run that needs more is ended by the system"
  elif [ "$free" -lt 2000000000 ]; then
    row memory note "$(gigabytes "$total"), $(gigabytes "$free") free" "a file that includes libtorch takes up to 1.3 GB to compile; close something"
  else
    row memory ok "$(gigabytes "$total"), $(gigabytes "$free") free"
  fi
}

doctor_disk() {
  local space
  read_space "$prefix"
  if [ "$space" -lt 2000000000 ]; then
    row disk note "$(gigabytes "$space") free for $prefix" "./isobar clean frees some, or export ISOBAR_PREFIX=/another/folder"
  else
    row disk ok "$(gigabytes "$space") free for $prefix"
  fi
}

# gpu_lines: lines of NAME, MEMORY, COMPUTE CAPABILITY as nvidia-smi gives them, else the names that the driver states.
# nvidia-smi writes its errors where its answers stand, and an old one knows no compute capability.
gpu_lines() {
  local answer
  answer=$(timeout -k 5 20 nvidia-smi --query-gpu=name,memory.total,compute_cap --format=csv,noheader 2>/dev/null) &&
    [ -n "$answer" ] && ! grep -qvE '^[[:print:]]+, ([0-9]+ MiB|\[[[:print:]]+\]), ([0-9]+\.[0-9]+|\[[[:print:]]+\])$' <<<"$answer" && printf '%s\n' "$answer" ||
    sed -n 's/^Model:[[:space:]]*//p' "$machine"/proc/driver/nvidia/gpus/*/information 2>/dev/null || true
}

doctor_gpu() {
  local version line name memory capability count=0
  if ! driver_here; then
    row gpu note "no NVIDIA driver: lessons run on the processor"
    return
  fi
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    count=$((count + 1))
    IFS=, read -r name memory capability <<<"$line"
    capability=${capability//[[:space:]]/}
    if [[ $capability =~ ^[0-9]+\. ]] && [ "${capability%%.*}" -lt 8 ]; then
      row gpu missing "$name,$memory, compute capability $capability" "Isobar needs 8.0 or later (Ampere); this one is not used"
    else
      row gpu ok "$name${memory:+,$memory}${capability:+, compute capability $capability}"
    fi
  done < <(gpu_lines)
  [ $count -gt 0 ] || row gpu missing "an NVIDIA driver is there, but no GPU answers" "nvidia-smi says more; in a container or job, ask for a GPU"
  version=$(driver_version || true)
  if [ -z "$version" ]; then
    row driver note "its version cannot be read" "nvidia-smi says it; CUDA 13 needs $least_driver or later"
  elif [ "${version%%.*}" -lt "$least_driver" ]; then
    row driver missing "$version is too old for CUDA 13" "bring driver $least_driver or later"
  else
    row driver ok "$version (CUDA 13 needs $least_driver or later)"
  fi
}
