#include "launch/rank_environment.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/proc.h"
#include "core/text.h"
#include "launch/node_list.h"

namespace isobar {
namespace {

constexpr int kMostRanks = 65'536;

using Get = std::function<const char*(const char*)>;

std::string hint_for(std::string_view name) {
  if (name.starts_with("SLURM")) return "srun sets it in every task of a step";
  if (name.starts_with("OMPI") || name.starts_with("PMI") || name.starts_with("MPI"))
    return "mpirun sets it in every process";
  if (name == "LOCAL_RANK") return "where each machine has one process: export LOCAL_RANK=0";
  return "a launcher sets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT";
}

const char* required(const Get& get, const char* name) {
  const char* const text = get(name);
  if (text != nullptr) return text;
  throw Error(std::string("the environment describes several processes that train together, and ") + name +
                  " is not set",
              name, hint_for(name));
}

int number(const Get& get, const char* name, int least, int most) {
  const char* const text = required(get, name);
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < least || value > most) {
    throw Error(std::string(name) + " is \"" + printable(text, 40) + "\"", "environment",
                "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

/// Reads a number that need not be there.
int number_or(const Get& get, const char* name, int least, int most, int otherwise) {
  return get(name) == nullptr ? otherwise : number(get, name, least, most);
}

std::string checked_host(const Get& get, const char* name) {
  const std::string host = required(get, name);
  const bool is_address = host.find(':') != std::string::npos;  // IPv6
  const bool good = !host.empty() && host.size() <= 253 && host.front() != '-' &&
                    std::all_of(host.begin(), host.end(), [&](char c) {
                      return is_name_letter(c) || (is_address && (c == ':' || c == '%'));
                    });
  if (!good) {
    throw Error(std::string(name) + " is \"" + printable(host, 40) + "\"", "environment",
                "the name or address of the host of rank 0: letters, digits, '.', '_' and '-'");
  }
  return host;
}

RankEnvironment of_variables(const Get& get) {
  RankEnvironment out;
  out.world = number(get, "WORLD_SIZE", 1, kMostRanks);
  if (out.world == 1) {  // in a pod or a notebook, where the others need not be there
    number_or(get, "RANK", 0, 0, 0);
    number_or(get, "LOCAL_RANK", 0, 0, 0);
  } else {
    out.rank = number(get, "RANK", 0, out.world - 1);
    out.local_rank = number(get, "LOCAL_RANK", 0, out.world - 1);
  }
  if (const char* const file = get("ISOBAR_MEETING"); file != nullptr && *file != '\0') {
    out.launched_by = LaunchedBy::isobar;
    out.local_world = out.world;
    out.meeting_file = file;
    return out;
  }
  if (out.world == 1 && (get("MASTER_ADDR") == nullptr || get("MASTER_PORT") == nullptr)) return out;
  out.launched_by = LaunchedBy::torchrun;
  out.address = checked_host(get, "MASTER_ADDR");
  out.port = number(get, "MASTER_PORT", 1, 65535);
  const bool here = out.address == "localhost" || out.address.rfind("127.", 0) == 0;
  out.local_world = number_or(get, "LOCAL_WORLD_SIZE", out.local_rank + 1, out.world,
                              here ? out.world : out.local_rank + 1);
  return out;
}

/// Tasks on this node from "4(x2),3", a count for each node of the step.
int tasks_on_node(const Get& get, int world) {
  const char* const text = get("SLURM_STEP_TASKS_PER_NODE");
  if (text == nullptr) return 1;
  const int node = number_or(get, "SLURM_NODEID", 0, kMostRanks, 0);
  int nodes = 0;
  for (const char *at = text, *const end = text + std::strlen(text); at < end; ++at) {
    int tasks = 0;
    int times = 1;
    auto parsed = std::from_chars(at, end, tasks);
    bool good = parsed.ec == std::errc();
    if (good && end - parsed.ptr > 2 && parsed.ptr[0] == '(' && parsed.ptr[1] == 'x') {
      parsed = std::from_chars(parsed.ptr + 2, end, times);
      good = parsed.ec == std::errc() && parsed.ptr < end && *parsed.ptr++ == ')';
    }
    good = good && tasks >= 1 && tasks <= world && times >= 1 && (parsed.ptr == end || *parsed.ptr == ',');
    if (!good) {
      throw Error("SLURM_STEP_TASKS_PER_NODE is \"" + printable(text, 40) + "\"", "environment",
                  "counts of tasks such as 4(x2),3, as srun sets them");
    }
    if (node < nodes + times) return tasks;
    nodes += times;
    at = parsed.ptr;
  }
  return 1;
}

/// Steps of Slurm that are none of srun's: the batch script, the shell of salloc, and their like.
constexpr std::uint32_t kFirstSpecialStep = 0xfffffff0;

/// The number of the step that srun started; nothing outside one.
std::optional<std::uint32_t> srun_step(const Get& get) {
  const char* const text = get("SLURM_STEP_ID");
  if (text == nullptr) return std::nullopt;
  std::uint32_t step = 0;
  const char* const end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, step);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    throw Error("SLURM_STEP_ID is \"" + printable(text, 40) + "\"", "environment",
                "the number of a job step, as srun sets it");
  }
  if (step >= kFirstSpecialStep) return std::nullopt;
  return step;
}

/// One process, of a job perhaps, and not of a step of it.
RankEnvironment alone(const Get& get) {
  RankEnvironment out;
  if (get("PMIX_RANK") != nullptr) {
    out.note =
        "a launcher of PMIx started this and names no number of ranks, so this runs alone: start with srun "
        "or mpirun, or set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT";
  }
  const int tasks = number_or(get, "SLURM_NTASKS", 1, kMostRanks, 1);
  if (tasks > 1) {
    out.note = "Slurm allocated " + std::to_string(tasks) +
               " tasks, and this is not one of them: start with srun, or this runs alone";
  }
  return out;
}

RankEnvironment of_slurm_step(const Get& get, std::uint32_t step) {
  RankEnvironment out;
  out.launched_by = LaunchedBy::slurm;
  const char* const tasks = get("SLURM_STEP_NUM_TASKS") != nullptr ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  out.world = number(get, tasks, 1, kMostRanks);
  out.rank = number(get, "SLURM_PROCID", 0, out.world - 1);
  out.local_rank = number(get, "SLURM_LOCALID", 0, out.world - 1);
  out.local_world = std::max(out.local_rank + 1, tasks_on_node(get, out.world));
  out.cores_of_task = number_or(get, "SLURM_CPUS_PER_TASK", 1, 65536, 0);
  const int job = number(get, "SLURM_JOB_ID", 1, std::numeric_limits<int>::max());
  if (get("MASTER_ADDR") != nullptr) {
    out.address = checked_host(get, "MASTER_ADDR");
  } else {
    const char* const name =
        get("SLURM_STEP_NODELIST") != nullptr ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
    out.address = expand_node_list(required(get, name), name).front();
  }
  out.port = number_or(get, "MASTER_PORT", 1, 65535, port_of_step(job, step));
  return out;
}

/// The variables that an mpirun sets for its processes.
struct MpiNames {
  const char* world;
  const char* rank;
  const char* local_rank;
  const char* local_world;
};
constexpr MpiNames kOpenMpi = {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                               "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr MpiNames kPmi = {"PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

/// The variables of an mpirun that started this process, null where none did. An srun with PMI sets PMI_* as
/// well: then the step's are better.
const MpiNames* mpi_names(const Get& get, bool in_step) {
  if (get(kOpenMpi.world) != nullptr) return &kOpenMpi;
  if (get(kPmi.world) == nullptr) return nullptr;
  const auto same = [&](const char* one, const char* other) {
    const char* const left = get(one);
    const char* const right = get(other);
    return left != nullptr && right != nullptr && std::strcmp(left, right) == 0;
  };
  const char* const tasks = get("SLURM_STEP_NUM_TASKS") != nullptr ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  const bool of_step = in_step && same(kPmi.world, tasks) && same(kPmi.rank, "SLURM_PROCID");
  return of_step ? nullptr : &kPmi;
}

RankEnvironment of_mpi(const Get& get, const MpiNames& names, const std::function<std::string()>& launcher) {
  RankEnvironment out;
  out.world = number(get, names.world, 1, kMostRanks);
  if (out.world == 1) return out;
  out.launched_by = LaunchedBy::mpi;
  out.rank = number(get, names.rank, 0, out.world - 1);
  out.local_rank = number(get, names.local_rank, 0, out.world - 1);
  out.local_world = number_or(get, names.local_world, out.local_rank + 1, out.world, out.local_rank + 1);
  const bool on_one_machine = out.local_world == out.world;
  if (!on_one_machine && get("MASTER_ADDR") == nullptr) {
    throw Error(
        "mpirun started ranks on several machines, and MASTER_ADDR does not name the host of rank 0",
        "MASTER_ADDR",
        "mpirun -x MASTER_ADDR=HOST (Open MPI), or mpiexec -genv MASTER_ADDR HOST -genv MASTER_PORT 29500");
  }
  out.address = get("MASTER_ADDR") == nullptr ? "127.0.0.1" : checked_host(get, "MASTER_ADDR");
  const char* const job = get("PMIX_NAMESPACE");
  out.port =
      job == nullptr && !on_one_machine
          ? number(get, "MASTER_PORT", 1, 65535)
          : number_or(get, "MASTER_PORT", 1, 65535, port_of_launcher(job == nullptr ? launcher() : job));
  return out;
}

/// The process that started all ranks of this machine: the nearest above that is part of an mpirun, for a
/// shell may stand between; the one above where none has such a name.
std::string launcher_above() {
  constexpr int kMost = 32;
  pid_t process = getppid();
  for (int i = 0; i < kMost && process > 1; ++i) {
    const std::vector<std::string> facts = stat_of(proc_folder(process));
    if (facts.empty()) break;
    const std::string& name = facts[kName];
    if (name.find("hydra") != std::string::npos || name.starts_with("mpi") || name.starts_with("ort") ||
        name.starts_with("prte"))
      return std::to_string(process);
    process = std::atoi(facts[kParent].c_str());
  }
  return std::to_string(getppid());
}

constexpr std::int64_t kFirstPort = 15'000;  // below the ports that systems give to programs that ask for one
constexpr std::int64_t kPorts = 17'000;

}  // namespace

std::string_view name_of(LaunchedBy launcher) {
  constexpr std::string_view kNames[] = {"nobody", "./isobar run --ranks", "a launcher such as torchrun",
                                         "srun", "mpirun"};
  return kNames[static_cast<std::size_t>(launcher)];
}

int port_of_step(std::int64_t job, std::uint32_t step) {
  return static_cast<int>(kFirstPort + (job * 61 + step) % kPorts);
}

int port_of_launcher(const std::string& common) {
  return static_cast<int>(kFirstPort + crc32c(std::as_bytes(std::span(common))) % kPorts);
}

RankEnvironment read_rank_environment(const Get& get, const std::function<std::string()>& launcher) {
  for (const char* const name : {"RANK", "WORLD_SIZE", "LOCAL_RANK"}) {
    if (get(name) != nullptr) return of_variables(get);
  }
  const std::optional<std::uint32_t> step = srun_step(get);
  if (const MpiNames* const names = mpi_names(get, step.has_value())) return of_mpi(get, *names, launcher);
  return step ? of_slurm_step(get, *step) : alone(get);
}

RankEnvironment read_rank_environment() {
  return read_rank_environment([](const char* name) { return std::getenv(name); }, launcher_above);
}

void check_takes_ranks(const RankEnvironment& ranks, const std::string& lesson, bool takes_ranks) {
  if (ranks.world == 1 || takes_ranks) return;
  throw Error(lesson + " trains in one process, and " + std::string(name_of(ranks.launched_by)) +
                  " started " + std::to_string(ranks.world) + ", each of which would train all of it",
              "environment", "start one, or a lesson that takes --ranks");
}

}  // namespace isobar
