#include "analyse/case_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analyse/case_tables.h"
#include "core/text.h"

namespace isobar {
namespace {

/// "still running: figures of 12 steps so far", "failed after 12 steps: no memory is left".
std::string state_text(const RunView& view) {
  const std::string steps = counted(view.summary.steps, "step");
  if (view.state == RunState::running) return "still running: figures of " + steps + " so far";
  return state_name(view.state) + (view.summary.steps > 0 ? " after " + steps : "") +
         (view.reason.empty() ? "" : ": " + view.reason);
}

std::vector<std::string> warnings_of(const RunCase& one) {
  std::vector<std::string> out;
  const RunView& view = one.view();
  if (!view.provenance.empty()) out.push_back(provenance_text(view));
  if (view.state != RunState::done) out.push_back(state_text(view));
  for (const std::string& mark : marks_of(view)) out.push_back(mark);
  if (view.summary.is_crowded()) out.push_back(crowded_sentence(view.summary.processor_wait));
  if (view.summary.peak_is_too_low())
    out.push_back("its MFU is not known: the peak was measured beside other programs, and too low");
  for (const std::string& sentence : view.left_out.sentences()) out.push_back(sentence);
  for (const std::string& remark : view.remarks) out.push_back(remark);
  for (const std::string& sentence : one.series.left_out().sentences()) out.push_back(sentence);
  if (one.crowded > 0)
    out.push_back(fmt::format("{} left out, beside which other programs ran",
                              counted(static_cast<std::int64_t>(one.crowded), "repeat")));
  return out;
}

/// How noisy a case of few repeats is by itself, in per cent; nullopt where its blocks do not show it.
std::optional<double> noise_of(const RunCase& one) {
  const Spread& blocks = one.repeats.front().blocks;
  if (one.repeats.size() >= kLeastRepeats || blocks.values.size() <= 2 || !(blocks.relative() > 0))
    return std::nullopt;
  return 100 * blocks.relative();
}

/// "A, C to E" of 0, 2, 3, 4.
std::string labels_text(const std::vector<std::size_t>& cases) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < cases.size();) {
    std::size_t end = i + 1;
    while (end < cases.size() && cases[end] == cases[end - 1] + 1) ++end;
    const bool is_range = end - i > 2;
    out.push_back(case_label(cases[i]) + (is_range ? " to " + case_label(cases[end - 1]) : ""));
    i = is_range ? end : i + 1;
  }
  return joined(out);
}

/// One line for all cases that are noisy by themselves.
void add_noise(const std::vector<RunCase>& cases, std::vector<std::string>& out) {
  std::vector<std::size_t> of;
  std::vector<double> percents;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (const std::optional<double> percent = noise_of(cases[i])) {
      of.push_back(i);
      percents.push_back(*percent);
    }
  }
  if (of.empty()) return;
  const Spread all(percents);
  const std::string span = of.size() == 1 ? fmt::format("{:.1f}", all.least())
                                          : fmt::format("{:.1f} to {:.1f}", all.least(), all.most());
  out.push_back(
      fmt::format("{}: within {} run the middle half of its blocks of steps spans {} %, which says "
                  "nothing of the next run",
                  labels_text(of), of.size() == 1 ? "this" : "each", span));
}

}  // namespace

std::vector<std::string> case_warnings(const std::vector<RunCase>& cases) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> found;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::string& warning : warnings_of(cases[i])) {
      const auto same = std::ranges::find_if(found, [&](auto& one) { return one.first == warning; });
      if (same == found.end())
        found.push_back({std::move(warning), {i}});
      else
        same->second.push_back(i);
    }
  }
  // What the same cases have in common is one line.
  std::vector<std::string> out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].second.empty()) continue;
    std::string line = labels_text(found[i].second) + ": " + found[i].first;
    for (std::size_t j = i + 1; j < found.size(); ++j) {
      if (found[j].second != found[i].second) continue;
      line += "; " + found[j].first;
      found[j].second.clear();
    }
    out.push_back(line);
  }
  add_noise(cases, out);
  return out;
}

}  // namespace isobar
