#include "launch/rank_status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"

namespace isobar {

namespace fs = std::filesystem;

/// What lies in the file. `version` is odd while it is being changed.
struct StatusSlot::Page {
  std::uint64_t magic;
  std::atomic<std::uint64_t> version;
  std::int64_t rank, pid, step, collective, since_ns;
  RankPhase phase;
  std::array<char, 64> host;
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
  page_->step = page_->collective = -1;
  page_->since_ns = wall_ns();
  gethostname(page_->host.data(), page_->host.size() - 1);
  page_->magic = 0x52414e4b;
}

StatusSlot::~StatusSlot() {
  if (page_ != nullptr) munmap(page_, sizeof(Page));
}
StatusSlot::StatusSlot(StatusSlot&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
StatusSlot& StatusSlot::operator=(StatusSlot&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
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
  std::strncpy(page_->what.data(), what, page_->what.size() - 1);
  page_->phase = RankPhase::in_collective;
  page_->since_ns = wall_ns();
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

std::optional<RankStatus> read_rank_status(const fs::path&, int) { return std::nullopt; }

std::vector<std::string> status_lines(const std::vector<RankStatus>&, std::int64_t) { return {}; }

}  // namespace isobar
