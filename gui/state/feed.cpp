#include "state/feed.h"

#include <span>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/waiting.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kPause_us = 200'000;
constexpr auto kBudget = std::chrono::milliseconds(60);
constexpr std::uintmax_t kMostConsoleBytes = 64 << 10;
constexpr std::size_t kMostConsoleLines = 1000;
constexpr std::size_t kMostLineBytes = 400;
constexpr std::uintmax_t kMostFieldBytes = 1'000'000'000;

std::vector<std::string> lines_of(std::string_view text, bool begins_inside) {
  std::vector<std::string> out = split(text, '\n');
  if (out.back().empty()) out.pop_back();
  if (begins_inside && out.size() > 1) out.erase(out.begin());
  if (out.size() > kMostConsoleLines)
    out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(kMostConsoleLines));
  for (std::string& line : out) {
    // A live line that was overwritten on a terminal: its last form counts.
    const std::size_t last = line.rfind('\r') + 1;
    line = printable(line.substr(last < line.size() ? last : 0), kMostLineBytes);
  }
  return out;
}

std::shared_ptr<const FieldSet> load_fields(const std::string& run, std::int64_t step) {
  auto set = std::make_shared<FieldSet>(FieldSet{{}, run, step});
  try {
    const std::filesystem::path file = RunFolder{run}.fields_file(step);
    if (fs::file_size(file) > kMostFieldBytes)
      throw Error("the file is too large to be drawn", file.string(), "");
    static_cast<Fields&>(*set) = isobar::read_fields(file);
  } catch (const std::exception& error) {
    set->problem = printable(error.what(), 300);
  }
  return set;
}

}  // namespace

Feed::Feed(std::vector<fs::path> places, std::function<void()> on_change)
    : store_(std::move(places)), on_change_(std::move(on_change)), thread_([this] { run(); }) {}

Feed::~Feed() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

FeedState Feed::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Feed::wish(const FeedWishes& wishes) {
  {
    const std::lock_guard lock(mutex_);
    if (wishes == wishes_) return;
    wishes_ = wishes;
    changed_wishes_ = true;
  }
  wake_.notify_all();
}

void Feed::add_place(const fs::path& place) {
  {
    const std::lock_guard lock(mutex_);
    new_places_.push_back(place);
    changed_wishes_ = true;
  }
  wake_.notify_all();
}

bool Feed::read_fields(const FeedWishes& wishes) {
  if (wishes.fields_run.empty()) return false;
  std::shared_ptr<const FieldSet> have;
  {
    const std::lock_guard lock(mutex_);
    have = state_.fields;
  }
  if (have && have->run == wishes.fields_run && have->step == wishes.fields_step) return false;
  std::shared_ptr<const FieldSet> set = load_fields(wishes.fields_run, wishes.fields_step);
  const std::lock_guard lock(mutex_);
  state_.fields = std::move(set);
  return true;
}

bool Feed::follow(const fs::path& file, Followed& last, Lines& lines) {
  const Followed now{file, file.empty() ? Stamp{} : stamp_of(file)};
  if (now == last) return false;
  last = now;
  auto read = std::make_shared<std::vector<std::string>>();
  try {
    if (now.stamp.size > 0) {
      const FileDescriptor opened = open_for_reading(file);
      const auto size = static_cast<std::uint64_t>(now.stamp.size);
      const std::uint64_t from = size > kMostConsoleBytes ? size - kMostConsoleBytes : 0;
      std::string bytes(size - from, '\0');
      pread_exactly(opened, file, from, std::as_writable_bytes(std::span(bytes)));
      *read = lines_of(bytes, from > 0);
    }
  } catch (const std::exception&) {
    // It shrank or vanished between two calls; the next look sees what is there then.
  }
  const std::lock_guard lock(mutex_);
  lines = std::move(read);
  return true;
}

void Feed::run() {
  while (true) {
    FeedWishes wishes;
    std::vector<fs::path> places;
    bool wished = false;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      wishes = wishes_;
      places.swap(new_places_);
      wished = changed_wishes_;
    }
    for (const fs::path& place : places) store_.add_place(place);
    if (wished) store_.open(wishes.open);
    bool changed = false;
    bool failed = false;
    try {
      changed = store_.update(kBudget);
      changed = read_fields(wishes) || changed;
      changed = follow(wishes.console, console_, state_.console) || changed;
      changed = follow(wishes.log, log_, state_.log) || changed;
    } catch (const std::exception&) {
      // Memory ran out or a file system failed in an unforeseen way: the next look may go better.
      failed = true;
    }
    const bool idle = store_.is_idle();
    {
      const std::lock_guard lock(mutex_);
      if (wished && wishes == wishes_) changed_wishes_ = false;
      if (!state_.first_look_done && idle) {
        state_.first_look_done = true;
        changed = true;
      }
      if (changed) state_.runs = store_.snapshot();
    }
    if (changed && on_change_) on_change_();
    if (!idle && !failed) continue;  // more waits to be read
    std::unique_lock lock(mutex_);
    wait_until(lock, wake_, steady_us() + kPause_us, [this] { return stopping_ || changed_wishes_; });
  }
}

}  // namespace isobar
