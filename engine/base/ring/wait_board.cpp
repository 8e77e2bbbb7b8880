#include "ring/wait_board.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "core/waiting.h"

namespace isobar {
namespace {

constexpr std::uint64_t kPage = 4096;  // size of the header; the rows lie behind it
constexpr std::size_t kMostText = 1000;
constexpr int kThingBit = 32;
constexpr int kSentenceLooks = 1000;  // for the rest of a sentence: its rank may have been killed over it
constexpr std::int64_t kSentenceLook_us = 100;

}  // namespace

struct WaitBoard::Header {
  enum class Sentence : std::uint32_t { nothing, about_to, all };
  std::atomic<Sentence> state;
  std::array<char, kMostText> text;  ///< ends with a zero
};

struct WaitBoard::Row {
  alignas(64) std::atomic<std::int64_t> since_us;  ///< 0: it waits for nobody
  std::atomic<std::uint64_t> what;                 ///< the thing, and whose: read as one
  std::atomic<std::int64_t> come;                  ///< to how many meetings
};

std::uint64_t WaitBoard::bytes(int size) {
  return kPage + (static_cast<std::uint64_t>(size) * sizeof(Row) + kPage - 1) / kPage * kPage;
}

WaitBoard::Header& WaitBoard::header() const { return *reinterpret_cast<Header*>(place_); }
WaitBoard::Row& WaitBoard::row(int rank) const {
  static_assert(sizeof(Header) <= kPage);
  return reinterpret_cast<Row*>(place_ + kPage)[rank];
}

void WaitBoard::begin(AwaitedThing thing, int other, std::int64_t since_us) noexcept {
  Row& own = row(rank_);
  own.what.store(static_cast<std::uint64_t>(thing) << kThingBit | static_cast<std::uint32_t>(other));
  own.since_us.store(std::max<std::int64_t>(1, since_us));
}

void WaitBoard::end() noexcept { row(rank_).since_us.store(0); }
void WaitBoard::come(std::int64_t number) noexcept { row(rank_).come.store(number); }

std::optional<WaitBoard::Wait> WaitBoard::wait_of(int rank) const {
  const Row& waits = row(rank);
  const std::int64_t since_us = waits.since_us.load();
  if (since_us == 0) return std::nullopt;
  const std::uint64_t what = waits.what.load();
  Wait out{.rank = rank,
           .thing = static_cast<AwaitedThing>(what >> kThingBit),
           .other = static_cast<std::int32_t>(static_cast<std::uint32_t>(what)),
           .since_us = since_us};
  if (out.thing == AwaitedThing::meeting) {
    const std::int64_t number = waits.come.load();
    for (int other = 0; other < size_; ++other) {
      if (row(other).come.load() < number) {
        out.other = other;
        break;
      }
    }
  }
  return out;
}

WaitBoard::Wait WaitBoard::cause() const {
  std::vector<Wait> chain;
  int rank = rank_;
  for (;;) {
    const auto met = std::find_if(chain.begin(), chain.end(), [&](const Wait& w) { return w.rank == rank; });
    if (met != chain.end())
      return *std::min_element(met, chain.end(),
                               [](const Wait& a, const Wait& b) { return a.since_us < b.since_us; });
    const std::optional<Wait> next = wait_of(rank);
    if (!next) return chain.empty() ? Wait{.rank = rank_, .other = rank_} : chain.back();
    chain.push_back(*next);
    if (next->thing == AwaitedThing::link) return chain.back();
    rank = next->other;
  }
}

std::string WaitBoard::blame(const std::string& text) {
  auto state = Header::Sentence::nothing;
  if (header().state.compare_exchange_strong(state, Header::Sentence::about_to)) {
    const std::size_t length = std::min(text.size(), kMostText - 1);
    std::memcpy(header().text.data(), text.data(), length);
    header().text[length] = '\0';
    header().state.store(Header::Sentence::all);
    return text;
  }
  for (int look = 0; look < kSentenceLooks && header().state.load() != Header::Sentence::all; ++look)
    pause_us(kSentenceLook_us);
  return blamed().value_or(text);
}

std::optional<std::string> WaitBoard::blamed() const {
  if (header().state.load(std::memory_order_acquire) != Header::Sentence::all) return std::nullopt;
  return std::string(header().text.data());
}

}  // namespace isobar
