#include "run/rank_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "comm/rank_words.h"
#include "config/keys.h"
#include "config/toml_text.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/text.h"
#include "device/device.h"
#include "device/load_cuda.h"

namespace isobar {
namespace {

std::pair<std::string, std::string> name_and_value(const std::string& line) {
  const std::size_t at = line.find(" = ");
  if (at == std::string::npos) return {line, "there"};
  return {line.substr(0, at), line.substr(at + 3)};
}

}  // namespace

std::string first_difference(const std::vector<std::string>& texts) {
  std::vector<int> ranks(texts.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  const std::optional<LineDifference> first = first_difference(texts, ranks);
  if (!first) return "";
  std::vector<std::string> parts;
  for (const Side& side : first->sides)
    parts.push_back(printable(name_and_value(side.text).second, 80) + " on " + ranks_text(side.ranks));
  return printable(name_and_value(first->sides.front().text).first, 80) + " is " + joined(parts, " and ");
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
