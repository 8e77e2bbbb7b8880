#include "comm/replica_hash.h"

#include <ATen/ops/arange.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "comm/rank_words.h"
#include "core/error.h"

namespace isobar {
namespace {

constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15;  // odd
constexpr std::uint64_t kNext = 0xbf58476d1ce4e5b8;   // even, so that kFirst + i * kNext stays odd
constexpr std::int64_t kChunk = 1 << 22;

std::uint64_t hash_on_host(const float* values, std::int64_t n) {
  std::uint64_t sum = 0, factor = kFirst;
  for (std::int64_t i = 0; i < n; ++i, factor += kNext) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, values + i, sizeof(bits));
    sum += bits * factor;
  }
  return sum;
}

/// Hashes of every tensor, a line each.
std::string hash_lines(const std::vector<NamedValues>& tensors) {
  std::string out;
  for (const NamedValues& tensor : tensors)
    out += fmt::format("{:016x} {}\n", replica_hash(tensor.values), tensor.name);
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

struct Difference {
  std::string tensor;
  int tensors = 0;
  std::vector<int> odd;  ///< ranks that hold what fewest hold of the first; empty where sides are even
};

Difference difference_of(const std::vector<std::string>& texts, const std::vector<int>& members) {
  std::vector<std::vector<std::string>> lines;
  std::size_t most = 0;
  for (const std::string& text : texts) {
    lines.push_back(lines_of(text));
    most = std::max(most, lines.back().size());
  }
  Difference out;
  for (std::size_t i = 0; i < most; ++i) {
    std::map<std::string, std::vector<int>> sides;
    for (std::size_t rank = 0; rank < lines.size(); ++rank)
      sides[i < lines[rank].size() ? lines[rank][i] : ""].push_back(members[rank]);
    if (sides.size() == 1 || ++out.tensors > 1) continue;
    const std::string& line = sides.rbegin()->first;
    out.tensor = line.substr(std::min(line.size(), line.find(' ') + 1));
    for (const auto& [text, ranks] : sides) {
      if (2 * ranks.size() < members.size()) out.odd.insert(out.odd.end(), ranks.begin(), ranks.end());
    }
  }
  return out;
}

}  // namespace

std::uint64_t replica_hash_by_operations(const at::Tensor& values) {
  const std::int64_t n = values.numel();
  const at::Tensor bits = values.view({-1}).view(at::kInt);
  const auto options = at::TensorOptions(at::kLong).device(values.device());
  std::uint64_t sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += kChunk) {
    const std::int64_t count = std::min(kChunk, n - begin);
    const at::Tensor factors = at::arange(begin, begin + count, options)
                                   .mul_(static_cast<std::int64_t>(kNext))
                                   .add_(static_cast<std::int64_t>(kFirst));
    const at::Tensor part =
        bits.narrow(0, begin, count).to(at::kLong).bitwise_and_(0xffffffffL).mul_(factors);
    sum += static_cast<std::uint64_t>(part.sum().item<std::int64_t>());
  }
  return sum;
}

std::uint64_t replica_hash(const at::Tensor& values) {
  if (values.scalar_type() != at::kFloat || !values.is_contiguous())
    throw Error("only contiguous float32 values are hashed", "replica_hash", "", Exit::failed);
  if (values.device().is_cpu()) return hash_on_host(values.const_data_ptr<float>(), values.numel());
  return replica_hash_by_operations(values);
}

void compare_replicas(Comm& comm, const at::Tensor& values,
                      const std::function<std::vector<NamedValues>()>& tensors, const std::string& when) {
  if (comm.size() == 1) return;
  const std::string mine = fmt::format("{:016x}", replica_hash(values));
  const std::vector<std::string> all = comm.all_gather_text(mine, "hash of the weights, " + when);
  if (std::all_of(all.begin(), all.end(), [&](const std::string& other) { return other == all[0]; })) return;
  const std::vector<std::string> texts = comm.all_gather_text(hash_lines(tensors()), "hashes of all tensors");
  const Difference found = difference_of(texts, comm.members());
  const std::string tensor = found.tensors == 0 ? "what lies between the tensors"
                             : found.tensors == 1
                                 ? found.tensor
                                 : fmt::format("{} and {} more", found.tensor, found.tensors - 1);
  const std::string whose =
      found.odd.empty()
          ? ""
          : fmt::format(": rank{} {} is the odd one", found.odd.size() > 1 ? "s" : "", rank_list(found.odd));
  throw Error(fmt::format("the replicas are no longer equal in {}{}", tensor, whose), when,
              "a gradient that was not averaged, a lost broadcast, another seed on a rank, or a bit that "
              "flipped; the last checkpoint "
              "whose weights were compared is good",
              Exit::failed);
}

void flip_bit(const at::Tensor& values, std::int64_t index, int bit) {
  const at::Tensor place = values.view({-1}).narrow(0, index, 1).view(at::kInt);
  place.bitwise_xor_(static_cast<std::int64_t>(1) << bit);
}

}  // namespace isobar
