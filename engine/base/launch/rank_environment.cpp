#include "launch/rank_environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "launch/node_list.h"

namespace isobar {
namespace {

constexpr int kMostRanks = 65'536;

using Get = std::function<const char*(const char*)>;

const char* required(const Get& get, const char* name) {
  const char* const text = get(name);
  if (text != nullptr) return text;
  const bool slurm = std::strncmp(name, "SLURM", 5) == 0;
  throw Error(
      std::string("the environment says that several processes train together, and ") + name + " is not set",
      name,
      slurm ? "srun sets it in every task of a step"
            : "a launcher sets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
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

/// The same for one that need not be there.
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
  out.rank = number(get, "RANK", 0, out.world - 1);
  out.local_rank = number(get, "LOCAL_RANK", 0, out.world - 1);
  if (const char* const file = get("ISOBAR_MEETING"); file != nullptr && *file != '\0') {
    out.launched_by = LaunchedBy::isobar;
    out.local_world = out.world;
    out.meeting_file = file;
    return out;
  }
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

/// In a job, and not in a step of it.
RankEnvironment alone_in_job(const Get& get) {
  RankEnvironment out;
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

}  // namespace

int port_of_step(std::int64_t job, std::uint32_t step) {
  constexpr std::int64_t kFirst = 15'000;  // below the ports that systems give to whoever asks
  constexpr std::int64_t kCount = 17'000;
  return static_cast<int>(kFirst + (job * 61 + step) % kCount);
}

RankEnvironment read_rank_environment(const Get& get) {
  for (const char* const name : {"RANK", "WORLD_SIZE", "LOCAL_RANK"}) {
    if (get(name) != nullptr) return of_variables(get);
  }
  const std::optional<std::uint32_t> step = srun_step(get);
  return step ? of_slurm_step(get, *step) : alone_in_job(get);
}

RankEnvironment read_rank_environment() {
  return read_rank_environment([](const char* name) { return std::getenv(name); });
}

}  // namespace isobar
