// Messages of ranks between hosts.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "comm/comm_core.h"
#include "comm/rank_words.h"
#include "core/error.h"

namespace isobar {
namespace {

template <std::size_t N>
void copy_text(std::array<char, N>& to, std::string_view from) {
  std::memcpy(to.data(), from.data(), std::min(from.size(), N - 1));
}

Frame frame_at(const at::Tensor& frames, std::size_t index) {
  Frame out{};
  std::memcpy(&out, frames.const_data_ptr<std::uint8_t>() + index * sizeof(Frame), sizeof(Frame));
  out.what.back() = '\0';
  return out;
}

}  // namespace

CommCore::Exchange CommCore::begin_exchange(std::string_view what, std::string_view data) {
  Frame frame{};
  copy_text(frame.what, what);
  frame.bytes = static_cast<std::int64_t>(data.size());
  copy_text(frame.data, data);
  const at::Tensor in = at::empty({static_cast<std::int64_t>(sizeof(Frame))}, at::kByte);
  std::memcpy(in.mutable_data_ptr<std::uint8_t>(), &frame, sizeof(Frame));
  return begin_gather(in, what);
}

CommCore::Exchange CommCore::begin_gather(const at::Tensor& in, std::string_view what) {
  throw_if_broken();
  check_member(std::string(what));
  const Waited waited{next_exchange_++, std::string(what), /*is_exchange=*/true};
  if (shared->status != nullptr && is_world()) shared->status->begin_exchange(waited.number);
  const at::Tensor out = at::empty({size() * in.numel()}, at::kByte);
  return {started(waited, [&] { return control->all_gather(out, in); }), in, out, waited};
}

std::vector<std::string> CommCore::end_exchange(const Exchange& exchange) {
  await(*exchange.pending, exchange.waited);
  std::vector<std::string> out;
  std::vector<std::string> whats;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Frame frame = frame_at(exchange.out, i);
    whats.emplace_back(frame.what.data());
    const auto bytes = static_cast<std::size_t>(std::clamp<std::int64_t>(frame.bytes, 0, Frame::kRoom - 1));
    out.emplace_back(frame.data.data(), bytes);
  }
  const std::vector<Side> sides = sides_of(whats, members);
  if (sides.size() > 1) refuse_different(sides_text(sides));
  return out;
}

void CommCore::refuse_different(const std::string& sides) {
  const Error error("ranks do not do the same, and nothing was sent: " + sides, place(),
                    "all ranks call the same collectives, in one order, with equal shapes and types",
                    Exit::failed);
  break_off(std::make_exception_ptr(error), Blame::all);
  throw error;
}

void CommCore::check_same_groups(const std::string& group_name, const std::string& lines) {
  const std::string what = "groups " + group_name;
  const std::optional<LineDifference> first = first_difference(exchange_text(lines, what), members);
  if (first) refuse_different(fmt::format("{}, number {}: {}", what, first->line, sides_text(first->sides)));
}

void CommCore::compare(const Collective& job, std::int64_t number, const std::string& text) {
  const std::string what = fmt::format("collective {}: {}", number, text);
  if (job.op != Op::all_to_all) {
    exchange(what, "");
    return;
  }
  const auto n = static_cast<std::size_t>(size());
  std::string mine(2 * n * sizeof(std::int64_t), '\0');
  std::memcpy(mine.data(), job.sends.data(), mine.size() / 2);
  std::memcpy(mine.data() + mine.size() / 2, job.receives.data(), mine.size() / 2);
  const std::vector<std::string> all = exchange_text(mine, what);
  const auto at = [&](std::size_t rank, std::size_t index) {
    std::int64_t out = 0;
    std::memcpy(&out, all[rank].data() + index * sizeof(out), sizeof(out));
    return out;
  };
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      const std::int64_t sent = at(from, to), expected = at(to, n + from);
      if (sent == expected) continue;
      refuse_different(fmt::format("{}: rank {} sends {} elements to rank {}, which expects {}", what,
                                   members[from], sent, members[to], expected));
    }
  }
}

std::vector<std::string> CommCore::exchange(std::string_view what, std::string_view data) {
  return end_exchange(begin_exchange(what, data));
}

std::vector<std::string> CommCore::exchange_text(const std::string& mine, const std::string& what) {
  constexpr std::size_t kInline = Frame::kRoom - 1 - sizeof(std::int64_t);
  std::string head(sizeof(std::int64_t), '\0');
  const auto mine_bytes = static_cast<std::int64_t>(mine.size());
  std::memcpy(head.data(), &mine_bytes, sizeof(mine_bytes));
  head += mine.substr(0, kInline);
  std::vector<std::string> texts = exchange(what, head);
  std::vector<std::size_t> lengths;
  for (std::string& text : texts) {
    std::int64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof(bytes));
    lengths.push_back(static_cast<std::size_t>(bytes));
    text.erase(0, sizeof(bytes));
  }
  const std::size_t most = *std::max_element(lengths.begin(), lengths.end());
  if (most <= kInline) return texts;
  const at::Tensor in = at::zeros({static_cast<std::int64_t>(most)}, at::kByte);
  std::memcpy(in.mutable_data_ptr<std::uint8_t>(), mine.data(), mine.size());
  const Exchange whole = begin_gather(in, what);
  await(*whole.pending, whole.waited);
  const auto* const all = reinterpret_cast<const char*>(whole.out.const_data_ptr<std::uint8_t>());
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].assign(all + i * most, lengths[i]);
  return texts;
}

}  // namespace isobar
