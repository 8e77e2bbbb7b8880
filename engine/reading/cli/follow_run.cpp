#include "cli/follow_run.h"

#include <cstddef>
#include <cstdint>

#include "cli/run_lines.h"
#include "core/clock.h"
#include "core/waiting.h"

namespace isobar {
namespace {

constexpr std::int64_t kLookEvery_us = 100'000;
constexpr std::int64_t kLineEvery_us = 2'000'000;  // where nothing can be overwritten

}  // namespace

bool is_over(const RunView& view) { return view.state != RunState::running && view.state != RunState::empty; }

bool follow_run(RunReader& reader, Console& console, const FollowUntil& until) {
  const std::int64_t every_us = console.is_terminal() ? kLookEvery_us : kLineEvery_us;
  std::size_t told = 0;
  std::int64_t shown_us = steady_us() - every_us;
  while (true) {
    const bool more =
        until.more_comes && until.more_comes();  // before the look, which then sees the last of it
    bool changed = false;
    while (reader.update()) changed = true;
    const RunView& view = reader.view();
    for (; told < view.scores.size(); ++told) console.line(scores_line(view.scores[told]));
    if (changed && view.summary.steps > 0 && steady_us() - shown_us >= every_us) {
      console.progress(live_line(view));
      shown_us = steady_us();
    }
    if (!more && is_over(view)) return true;
    if (until.stop && until.stop()) return false;
    sleep_us(kLookEvery_us);
  }
}

}  // namespace isobar
