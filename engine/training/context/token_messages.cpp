#include "context/token_messages.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "config/fault.h"
#include "formula/vit_counts.h"

namespace isobar {
namespace {

std::vector<TokenShare> as_long_as_the_first(const std::vector<TokenShare>& shares) {
  std::vector<TokenShare> out;
  for (std::size_t rank = 0; rank < shares.size(); ++rank)
    out.push_back({static_cast<std::int64_t>(rank) * shares.front().count, shares.front().count});
  return out;
}

bool is_shorter(const TokenShare& a, const TokenShare& b) { return a.count < b.count; }

/// [n, M] -> [rows, M], zeros behind.
at::Tensor padded(const at::Tensor& rows, std::int64_t wanted) {
  if (rows.size(0) == wanted) return rows.contiguous();
  const at::Tensor out = at::zeros({wanted, rows.size(1)}, rows.options());
  out.narrow(0, 0, rows.size(0)).copy_(rows);
  return out;
}

}  // namespace

TokenMessages::TokenMessages(Comm& comm, const Config& config)
    : RankMessages(comm, config, kContextTracks),
      tokens_(
          VitShape{.height = config.data.grid[0], .width = config.data.grid[1], .patch = config.model.patch}
              .tokens()),
      shares_(token_shares(tokens_, comm.size())),
      even_(as_long_as_the_first(shares_)) {}

const std::vector<TokenShare>& TokenMessages::shares() const {
  return has_fault(Fault::assume_even) ? even_ : shares_;
}

std::int64_t TokenMessages::largest() const {
  return std::max_element(shares().begin(), shares().end(), is_shorter)->count;
}

std::int64_t TokenMessages::smallest() const {
  return std::min_element(shares().begin(), shares().end(), is_shorter)->count;
}

at::Tensor TokenMessages::gather(const at::Tensor& rows, std::string_view what) {
  const std::int64_t most = largest();
  const at::Tensor gathered = all_gather(padded(rows, most), what);
  if (shares().front().count == most)  // only the last one is padded
    return gathered.narrow(0, 0, all());
  std::vector<at::Tensor> parts;
  for (std::size_t rank = 0; rank < shares().size(); ++rank)
    parts.push_back(gathered.narrow(0, static_cast<std::int64_t>(rank) * most, shares()[rank].count));
  return at::concat(parts);
}

at::Tensor TokenMessages::sum_back(const at::Tensor& rows, std::string_view what) {
  const std::int64_t most = largest();
  at::Tensor message = rows;
  if (shares().front().count == most) {
    message = padded(rows, most * count());
  } else {
    message = at::zeros({most * count(), rows.size(1)}, rows.options());
    for (std::size_t rank = 0; rank < shares().size(); ++rank) {
      const TokenShare& share = shares()[rank];
      message.narrow(0, static_cast<std::int64_t>(rank) * most, share.count)
          .copy_(rows.narrow(0, share.begin, share.count));
    }
  }
  return reduce_scatter(message, what).narrow(0, 0, own().count);
}

RankMessages::Moving TokenMessages::start_shift(const at::Tensor& rows, int holder, std::string_view what) {
  const int c = count();
  const auto next = static_cast<std::size_t>((index() + 1) % c);
  const auto before = static_cast<std::size_t>((index() + c - 1) % c);
  const std::int64_t coming = shares()[static_cast<std::size_t>((holder + c - 1) % c)].count;
  const at::Tensor out = at::empty({coming, rows.size(1)}, rows.options());
  std::vector<std::int64_t> sends(static_cast<std::size_t>(c), 0), receives = sends;
  sends[next] = rows.numel();
  receives[before] = out.numel();
  return start_all_to_all(out, rows, receives, sends, what);
}

std::vector<std::int64_t> TokenMessages::by_share(std::int64_t values) const {
  std::vector<std::int64_t> out;
  for (const TokenShare& share : shares()) out.push_back(share.count * values);
  return out;
}

std::vector<std::int64_t> TokenMessages::own_to_all(std::int64_t values) const {
  return std::vector<std::int64_t>(static_cast<std::size_t>(count()), own().count * values);
}

at::Tensor TokenMessages::to_each(const at::Tensor& pieces, std::string_view what) {
  const std::int64_t values = pieces.size(2);
  const at::Tensor out = at::empty({all(), values}, pieces.options());
  return finish(start_all_to_all(out, pieces, by_share(values), own_to_all(values), what));
}

at::Tensor TokenMessages::from_each(const at::Tensor& rows, std::string_view what) {
  const std::int64_t values = rows.size(1);
  const at::Tensor out = at::empty({count(), own().count, values}, rows.options());
  return finish(start_all_to_all(out, rows, own_to_all(values), by_share(values), what));
}

at::Tensor tokens_of(const at::Tensor& x, const TokenShare& share) {
  const std::int64_t tokens = x.size(1);
  if (share.begin + share.count <= tokens) return x.narrow(1, share.begin, share.count);
  const at::Tensor places =
      at::arange(share.begin, share.begin + share.count, x.options().dtype(at::kLong).requires_grad(false));
  return x.index_select(1, places.clamp_max(tokens - 1));
}

}  // namespace isobar
