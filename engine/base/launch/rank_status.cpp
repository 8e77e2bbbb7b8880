#include "launch/rank_status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/machine.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {
constexpr std::uint64_t kMagic = 0x52414e4d;
}  // namespace

/// What lies in the file. `version` is odd while it is being changed.
struct StatusSlot::Page {
  std::uint64_t magic;
  std::atomic<std::uint64_t> version;
  std::int64_t rank, pid, step, collective, reached, exchange, since_ns;
  RankPhase phase;
  std::uint64_t launch;
  std::array<char, 64> host, view;
  std::array<char, 24> stage;
  std::array<char, 96> what;
};

StatusSlot::StatusSlot(const fs::path& folder, int rank) {
  const fs::path path = status_file(folder, rank);
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open() || posix_fallocate(file.number(), 0, sizeof(Page)) != 0)
    throw system_error("cannot make the file", path.string(), errno);
  void* const memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (memory == MAP_FAILED) throw system_error("cannot map the file", path.string(), errno);
  page_ = new (memory) Page{};
  page_->rank = rank;
  page_->pid = getpid();
  page_->step = page_->collective = page_->reached = page_->exchange = -1;
  page_->since_ns = wall_ns();
  host_name().copy(page_->host.data(), page_->host.size() - 1);
  process_view().copy(page_->view.data(), page_->view.size() - 1);
  page_->magic = kMagic;
}

StatusSlot::~StatusSlot() {
  if (page_ != nullptr) munmap(page_, sizeof(Page));
}
StatusSlot::StatusSlot(StatusSlot&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
StatusSlot& StatusSlot::operator=(StatusSlot&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

void StatusSlot::join(std::uint64_t launch) noexcept {
  if (page_ == nullptr) return;
  ++page_->version;
  page_->launch = launch;
  ++page_->version;
}

void StatusSlot::stage(std::int64_t step, const char* name) noexcept {
  if (page_ == nullptr) return;
  ++page_->version;
  page_->step = step;
  std::strncpy(page_->stage.data(), name, page_->stage.size() - 1);
  page_->phase = RankPhase::working;
  page_->since_ns = wall_ns();
  ++page_->version;
}

void StatusSlot::enter(std::int64_t collective, const char* what) noexcept {
  if (page_ == nullptr) return;
  ++page_->version;
  page_->collective = collective;
  page_->reached = std::max(page_->reached, collective);  // an older one may be waited for
  std::strncpy(page_->what.data(), what, page_->what.size() - 1);
  page_->phase = RankPhase::in_collective;
  page_->since_ns = wall_ns();
  ++page_->version;
}

void StatusSlot::begin_exchange(std::int64_t number) noexcept {
  if (page_ == nullptr) return;
  ++page_->version;
  page_->exchange = number;
  ++page_->version;
}

void StatusSlot::leave() noexcept {
  if (page_ == nullptr) return;
  ++page_->version;
  page_->phase = RankPhase::working;
  page_->since_ns = wall_ns();
  ++page_->version;
}

void StatusSlot::end(RankPhase phase) noexcept {
  if (page_ == nullptr) return;
  ++page_->version;
  page_->phase = phase;
  page_->since_ns = wall_ns();
  ++page_->version;
}

fs::path status_file(const fs::path& folder, int rank) {
  return folder / fmt::format("rank-{:04}.status", rank);
}

namespace {

template <std::size_t N>
std::string text_of(const std::array<char, N>& letters) {
  return printable({letters.data(), strnlen(letters.data(), N)});
}

RankProcess process_of(std::int64_t pid) {
  const std::optional<ProcessFacts> facts = process_facts(pid);
  if (!facts || facts->has_ended()) return RankProcess::gone;
  return facts->state == 'T' ? RankProcess::stopped : RankProcess::runs;
}

const char* process_words(RankProcess process) {
  return process == RankProcess::stopped ? "; its process is stopped"
         : process == RankProcess::gone  ? "; its process is gone"
                                         : "";
}

const char* end_words(RankPhase phase) {
  return phase == RankPhase::done       ? "done"
         : phase == RankPhase::followed ? "ended after another rank, "
                                        : "failed, ";
}

}  // namespace

std::optional<RankStatus> read_rank_status(const fs::path& folder, int rank) {
  const FileDescriptor file(
      open(status_file(folder, rank).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file.is_open()) return std::nullopt;
  using Page = StatusSlot::Page;
  Page page{};
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    std::array<char, sizeof(Page)> bytes{};
    std::uint64_t version_after = 0;
    if (pread(file.number(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()) ||
        pread(file.number(), &version_after, sizeof version_after, offsetof(Page, version)) !=
            sizeof version_after)
      return std::nullopt;
    std::memcpy(static_cast<void*>(&page), bytes.data(), bytes.size());
    const bool whole = page.version % 2 == 0 && page.version == version_after;
    if (!whole) continue;
    if (page.magic != kMagic || page.rank != rank || page.phase > RankPhase::followed) return std::nullopt;
    RankStatus out{.rank = rank,
                   .pid = page.pid,
                   .host = text_of(page.host),
                   .phase = page.phase,
                   .step = page.step,
                   .stage = text_of(page.stage),
                   .collective = page.collective,
                   .what = text_of(page.what),
                   .reached = page.reached,
                   .exchange = page.exchange,
                   .since_ns = page.since_ns,
                   .launch = page.launch};
    static const std::string kHere = process_view();
    if (text_of(page.view) == kHere) out.process = process_of(out.pid);
    return out;
  }
  return std::nullopt;
}

std::string place_text(const RankStatus& rank) {
  if (rank.phase == RankPhase::starting || (rank.stage.empty() && rank.step < 0)) return "the start";
  const std::string step = rank.step < 0 ? "" : fmt::format("step {}, ", rank.step + 1);
  if (rank.phase == RankPhase::in_collective) {
    return step + (rank.collective < 0 ? "" : fmt::format("collective {}: ", rank.collective)) + rank.what;
  }
  return rank.stage.empty() ? step + "between stages" : step + "stage " + rank.stage;
}

std::vector<std::string> status_lines(const std::vector<RankStatus>& ranks, std::int64_t now_ns) {
  std::vector<std::string> out;
  for (const RankStatus& rank : ranks) {
    const std::int64_t passed_ns = std::max<std::int64_t>(0, now_ns - rank.since_ns);
    const std::string time = human_seconds(static_cast<double>(passed_ns) * 1e-9);
    const std::string where = rank.phase == RankPhase::done ? "" : place_text(rank);
    out.push_back(
        rank.phase >= RankPhase::done
            ? fmt::format("rank {}  {}{}, {} ago", rank.rank, end_words(rank.phase), where, time)
            : fmt::format("rank {}  {}, for {}{}", rank.rank, where, time, process_words(rank.process)));
  }
  return out;
}

}  // namespace isobar
