#include "run/rank_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "config/keys.h"
#include "config/toml_text.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/text.h"
#include "device/device.h"
#include "device/load_cuda.h"

namespace isobar {
namespace {

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::pair<std::string, std::string> name_and_value(const std::string& line) {
  const std::size_t at = line.find(" = ");
  if (at == std::string::npos) return {line.empty() ? "nothing" : line, "there"};
  return {line.substr(0, at), line.substr(at + 3)};
}

}  // namespace

std::string first_difference(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> all;
  std::size_t most = 0;
  for (const std::string& text : texts) {
    all.push_back(lines_of(text));
    most = std::max(most, all.back().size());
  }
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<std::pair<std::string, std::vector<int>>> kinds;  // a line, and the ranks that have it
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const std::string line = i < all[rank].size() ? all[rank][i] : "";
      auto found =
          std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == line; });
      if (found == kinds.end()) found = kinds.insert(kinds.end(), {line, {}});
      found->second.push_back(static_cast<int>(rank));
    }
    if (kinds.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [line, ranks] : kinds)
      parts.push_back(printable(name_and_value(line).second, 80) + " on " + ranks_text(ranks));
    return printable(name_and_value(kinds.front().first).first, 80) + " is " + join(parts, " and ");
  }
  return "";
}

void check_same_on_ranks(Comm& comm, std::string_view what, const std::string& lines) {
  if (comm.size() == 1) return;
  const auto sum = static_cast<double>(crc32c(std::as_bytes(std::span(lines))));
  const std::vector<double> sums = comm.all_gather_numbers(sum, what);
  if (std::all_of(sums.begin(), sums.end(), [&](double other) { return other == sum; })) return;
  const std::string difference = first_difference(comm.all_gather_text(lines, what));
  throw Error(fmt::format("the ranks have different {}: {}", what, difference), "all ranks compared theirs",
              "start all of them with the same command, program and files");
}

std::string comparable_lines(const Config& config) {
  constexpr std::array<std::string_view, 3> kOwn = {"run.device", "run.threads", "data.root"};
  Config copy = config;
  std::string out;
  for (const Key& key : keys_of(copy)) {
    if (std::find(kOwn.begin(), kOwn.end(), key.name) == kOwn.end())
      out += key.name + " = " + toml_value(key.place) + "\n";
  }
  return out;
}

c10::Device rank_device(const std::string& name, const RankEnvironment& ranks) {
  const c10::Device device = choose_device(name);
  if (ranks.world == 1 || device.is_cpu() || name.find(':') != std::string::npos) return device;
  const auto count = static_cast<int>(cuda_plugin().facts().devices.size());
  if (ranks.local_world <= count) return choose_device(fmt::format("cuda:{}", ranks.local_rank));
  if (count == 1 && ranks.launched_by == LaunchedBy::slurm) return device;  // each task sees its own
  throw Error(fmt::format("{} ranks of this machine want a CUDA device each, and there {} {}",
                          ranks.local_world, count == 1 ? "is" : "are", count),
              "run.device = " + name, "run.device=cpu trains them on the processor, or take fewer ranks");
}

}  // namespace isobar
