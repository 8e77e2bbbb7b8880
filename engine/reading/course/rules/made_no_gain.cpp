// Two runs of the learner's: twice the ranks, and no more samples a second.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analyse/run_files.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// What the number of ranks changes by itself: the processors are shared among them.
bool follows_ranks(const KeyRow& row) {
  return row.is_label() || row.key == "run.ranks" || row.key == "run.threads" || row.key == "comm.backend" ||
         row.key == "environment.threads" || row.key == "environment.threads_by";
}

/// Why the pair is none; "" = it is.
std::string why_no_pair(const NamedRun& few, const NamedRun& many) {
  const std::int64_t less = few.view().summary.world, more = many.view().summary.world;
  if (more != 2 * less)
    return fmt::format("they have {} and {}, not twice as many", counted(less, "rank"), more);
  std::vector<std::string> also;
  for (const KeyRow& row : key_rows({&few.run->config, &many.run->config})) {
    if (row.differs && !follows_ranks(row)) also.push_back(row.key);
  }
  return also.empty() ? "" : "they differ in " + joined(also) + " too";
}

/// Of runs that repeat each other, the one beside which most repeats were found.
std::vector<NamedRun> without_repeats(const std::vector<RunCase>& made) {
  std::vector<NamedRun> out;
  for (const RunCase& one : made) {
    const NamedRun named{one.folder.filename().string(), &one};
    const auto same = std::find_if(out.begin(), out.end(), [&](const NamedRun& other) {
      return one.view().lesson == other.run->view().lesson && is_repeat(one.config, other.run->config);
    });
    if (same == out.end()) {
      out.push_back(named);
    } else if (one.repeats.size() > same->run->repeats.size()) {
      *same = named;
    }
  }
  return out;
}

}  // namespace

Truth made_no_gain_truth(const RuleInput& input) {
  const std::vector<NamedRun> made = without_repeats(input.made);
  if (made.size() != 2) {
    const std::string repeats = made.size() < input.made.size() ? ", with repeats" : "";
    throw Cannot{fmt::format("runs with two settings are needed, there {} {}{}",
                             made.size() == 1 ? "is" : "are", made.size(), repeats)};
  }
  NamedRun few = made[0], many = made[1];
  if (few.view().summary.world > many.view().summary.world) std::swap(few, many);
  for (const NamedRun* const run : {&few, &many}) check_made(input, *run);
  Truth out;
  out.source = source_of(few);
  const Spread of_few = rates_of(few), of_many = rates_of(many);
  out.figures = {{"few_rate", figure_text(of_few.median())},
                 {"many_rate", figure_text(of_many.median())},
                 {"few_ranks", std::to_string(few.view().summary.world)},
                 {"many_ranks", std::to_string(many.view().summary.world)}};
  out.text = why_no_pair(few, many);
  if (!out.text.empty()) return out;
  check_timed(few);
  check_timed(many);
  const Compared compared = compare_runs(few, of_few, many, of_many);
  if (compared.direction != Direction::more) out.accepted = {"yes"};
  out.text = fmt::format("{} samples/s with {}, {} with {}: {}", out.figures["few_rate"],
                         counted(few.view().summary.world, "rank"), out.figures["many_rate"],
                         many.view().summary.world, ratio_sentence(compared));
  return out;
}

}  // namespace isobar
