#include "cli/follow_run.h"

#include "cli/run_lines.h"
#include "core/clock.h"
#include "core/waiting.h"

namespace isobar {
namespace {

constexpr std::int64_t kLookEvery_us = 100'000;
constexpr std::int64_t kLineEvery_us = 2'000'000;  // where nothing can be overwritten

}  // namespace

bool is_over(const RunView& view) { return view.state != RunState::running && view.state != RunState::empty; }

void RunTeller::look() {
  bool changed = false;
  while (reader_.update()) changed = true;
  const RunView& view = reader_.view();
  for (; told_ < view.scores.size(); ++told_) console_.line(indent_ + scores_line(view.scores[told_]));
  const bool is_time = !shown_us_ || steady_us() - *shown_us_ >= every_us_;
  if (!changed || view.summary.steps == 0 || !is_time) return;
  console_.progress(indent_ + live_line(view));
  shown_us_ = steady_us();
}

bool follow_run(RunReader& reader, Console& console, const FollowUntil& until) {
  RunTeller teller(reader, console, console.is_terminal() ? kLookEvery_us : kLineEvery_us);
  while (true) {
    const bool more =
        until.more_comes && until.more_comes();  // before the look, which then sees the last of it
    teller.look();
    if (!more && is_over(reader.view())) return true;
    if (until.stop && until.stop()) return false;
    sleep_us(kLookEvery_us);
  }
}

}  // namespace isobar
