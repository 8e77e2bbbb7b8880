#include "cluster/profile.h"

#include <cmath>
#include <limits>

#include "cluster/terms.h"
#include "config/toml_keys.h"
#include "core/error.h"
#include "core/find.h"

namespace isobar {
namespace {

using Entry = const TomlEntry&;

std::vector<std::string> known_keys() {
  std::vector<std::string> out = {"name",           "gpu",        "rates", "gpus_per_node", "gpus_per_nic",
                                  "busbw_by_nodes", "unknown.KEY"};
  for (const std::string& name : machine_numbers()) out.push_back(name);
  return out;
}

/// [least, most] of a term.
UnknownTerm unknown_in(Entry entry, std::string_view key) {
  double most_allowed = std::numeric_limits<double>::max(), least_allowed = 1e-9;
  ClusterMachine machine;
  if (number_of(machine, key) == nullptr || key == "jitter") {
    const auto* const term = find_where(term_ranges(), [&](const TermRange& one) { return key == one.name; });
    if (term == nullptr) refuse_key(entry, "[machine.unknown]", known_keys());
    least_allowed = term->least;
    most_allowed = term->most;
  }
  const auto* const whole = std::get_if<std::vector<std::int64_t>>(&entry.value);
  const auto* const broken = std::get_if<std::vector<double>>(&entry.value);
  std::vector<double> range = broken != nullptr ? *broken : std::vector<double>();
  if (whole != nullptr) range.assign(whole->begin(), whole->end());
  if (range.size() != 2 || !(range[0] >= least_allowed) || !(range[1] > range[0]) ||
      !(range[1] <= most_allowed))
    refuse_value(entry, "the least and the greatest value of the term: [0.01, 0.05]");
  return {.key = std::string(key), .least = range[0], .most = range[1]};
}

}  // namespace

ClusterMachine read_cluster(const std::filesystem::path& file) {
  constexpr std::string_view kTable = "machine.", kUnknown = "machine.unknown.";
  ClusterMachine out;
  bool is_there = false;
  for (const TomlEntry& entry : read_toml(file)) {
    const std::string_view key = entry.key;
    if (!key.starts_with(kTable)) continue;
    is_there = true;
    if (key.starts_with(kUnknown)) {
      out.unknown.push_back(unknown_in(entry, key.substr(kUnknown.size())));
    } else if (!take_machine_key(out, entry, key.substr(kTable.size()))) {
      refuse_key({std::string(key.substr(kTable.size())), entry.value, entry.origin}, "[machine]",
                 known_keys());
    }
  }
  if (!is_there)
    throw Error("the profile has no table [machine]", file.string(),
                "gpus_per_node, inside_gb_s, between_gb_s, .. as in submit/profiles/leonardo.toml; ./isobar "
                "import makes it from a log of nccl-tests");
  out.name = file.stem().string();
  return out;
}

}  // namespace isobar
