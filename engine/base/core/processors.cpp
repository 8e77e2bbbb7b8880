#include "core/processors.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/clock.h"
#include "core/control_groups.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr int kMostThreads = 4096;  // the bound of run.threads too
constexpr std::int64_t kWhole = 100;

/// The whole numbers of a list "8,2"; empty when something else is in it.
std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> out;
  for (const std::string& part : split(list, ',')) {
    const std::string_view word = trimmed(part);
    int number = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (code != std::errc() || end != word.data() + word.size() || number < 1 || number > kMostThreads)
      return {};
    out.push_back(number);
  }
  return out;
}

/// The first number in a variable, 0 where it is not set; `note` gets what is none.
int number_in(const char* name, const char* text, std::string& note) {
  if (text == nullptr || trimmed(text).empty()) return 0;
  const std::vector<int> numbers = numbers_of(text);
  if (!numbers.empty()) return numbers.front();
  note += fmt::format("{}{} is \"{}\", which is no number of threads from 1 to {}, and is left out",
                      note.empty() ? "" : "; ", name, printable(text, 40), kMostThreads);
  return 0;
}

int processors_by_affinity() {
  std::array<cpu_set_t, 64>
      set{};  // 65536 processors: the call fails where the machine could have more than fit
  if (sched_getaffinity(0, sizeof(set), set.data()) != 0) return 1;
  return std::max(1, CPU_COUNT_S(sizeof(set), set.data()));
}

}  // namespace

ThreadChoice Processors::threads(std::int64_t wanted, std::int64_t sharers) const {
  if (wanted > 0) return {static_cast<int>(wanted), "run.threads"};
  if (of_process > 0) return {of_process, "OMP_NUM_THREADS"};
  const bool is_task = of_task > 0 && of_task <= count;
  const std::int64_t shared = is_task ? of_task : count;
  return {static_cast<int>(std::max<std::int64_t>(1, shared / std::max<std::int64_t>(1, sharers))),
          is_task ? "SLURM_CPUS_PER_TASK" : why};
}

std::optional<std::int64_t> processor_quota(const fs::path& root) {
  std::optional<std::int64_t> least;
  for (const fs::path& group : control_groups("cpu", root)) {
    std::int64_t quota_us = 0;  // stays 0 at "max"; -1 is version 1's word for it
    std::int64_t period_us = 0;
    if (std::ifstream both(group / "cpu.max"); both) {
      both >> quota_us >> period_us;
    } else {
      std::ifstream(group / "cpu.cfs_quota_us") >> quota_us;
      std::ifstream(group / "cpu.cfs_period_us") >> period_us;
    }
    if (quota_us <= 0 || period_us <= 0) continue;
    const std::int64_t share = quota_us * kWhole / period_us;
    least = std::min(least.value_or(share), share);
  }
  return least;
}

Processors processors_of(int affinity, const fs::path& root,
                         const std::function<const char*(const char*)>& get) {
  Processors out;
  out.count = affinity;
  out.time = affinity;
  const std::optional<std::int64_t> quota = processor_quota(root);
  if (quota && *quota < affinity * kWhole) {
    // More threads than the quota has whole processors would wait for one another until its next period.
    out.count = static_cast<int>(std::max<std::int64_t>(1, *quota / kWhole));
    out.time = static_cast<double>(*quota) / kWhole;
    out.why = fmt::format("quota of {:.2f} processors", out.time);
  }
  for (const auto& [name, number] :
       {std::pair{"OMP_NUM_THREADS", &out.of_process}, {"SLURM_CPUS_PER_TASK", &out.of_task}})
    *number = number_in(name, get(name), out.note);
  return out;
}

Processors processors_here() {
  return processors_of(processors_by_affinity(), "/", [](const char* name) { return std::getenv(name); });
}

double processors_at_work(const std::string& before, const std::string& after) {
  constexpr std::size_t kIdle = 3, kWaits = 4;  // fields of the line of all processors
  const auto times = [](const std::string& text, double& idle, double& processors) {
    std::istringstream lines(text);
    double sum = 0;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      if (name.rfind("cpu", 0) != 0) continue;
      if (name != "cpu") ++processors;
      double ticks = 0;
      for (std::size_t i = 0; name == "cpu" && i < 8 && words >> ticks; ++i) {
        sum += ticks;
        if (i == kIdle || i == kWaits) idle += ticks;
      }
    }
    return sum;
  };
  double idle_before = 0, idle_after = 0, processors = 0, ignored = 0;
  const double sum = times(after, idle_after, processors) - times(before, idle_before, ignored);
  return sum > 0 ? std::max(0.0, processors * (1 - (idle_after - idle_before) / sum)) : 0;
}

double processors_at_work() {
  constexpr std::int64_t kSpan_us = 200'000;
  const auto now = [] {
    std::ostringstream out;
    out << std::ifstream("/proc/stat").rdbuf();
    return out.str();
  };
  const std::string before = now();
  sleep_us(kSpan_us);
  return processors_at_work(before, now());
}

int usable_cores() { return processors_here().count; }

}  // namespace isobar
