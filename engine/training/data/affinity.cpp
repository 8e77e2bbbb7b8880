#include "data/affinity.h"

#include <fmt/format.h>
#include <sched.h>

#include <charconv>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr int kMostCpu = CPU_SETSIZE - 1;

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(reason, "data.cpu_affinity", "processors and ranges of them, such as \"0-3,8\", or none");
}

int number(std::string_view text) {
  int value = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || value < 0 || value > kMostCpu)
    refuse("\"" + printable(text, 40) + "\" is no processor");
  return value;
}

cpu_set_t own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) CPU_ZERO(&set);
  return set;
}

}  // namespace

std::vector<int> parse_affinity(const std::string& text) {
  if (text == "none") return {};
  if (text.ends_with(',')) refuse("after the last comma no processor is named");
  const cpu_set_t own = own_cpus();
  std::set<int> cpus;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t dash = word.find('-');
    const int first = number(std::string_view(word).substr(0, dash));
    const int last = dash == std::string::npos ? first : number(std::string_view(word).substr(dash + 1));
    if (last < first) refuse("the range \"" + printable(word, 40) + "\" runs backwards");
    for (int cpu = first; cpu <= last; ++cpu) {
      if (!CPU_ISSET(static_cast<std::size_t>(cpu), &own))
        refuse(fmt::format("processor {} is not one that this process may use", cpu));
      cpus.insert(cpu);
    }
  }
  if (cpus.empty()) refuse("no processor is named");
  return {cpus.begin(), cpus.end()};
}

void run_on(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  sched_setaffinity(0, sizeof(set),
                    &set);  // they were there when the list was read; if not, it runs anywhere
}

}  // namespace isobar
