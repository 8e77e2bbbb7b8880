#include <fmt/format.h>

#include <algorithm>

#include "bench/comparison.h"
#include "core/text.h"

namespace isobar {
namespace {

using Json = nlohmann::ordered_json;

const char* word(ChangeVerdict verdict) {
  switch (verdict) {
    case ChangeVerdict::none:
      return "";
    case ChangeVerdict::same:
      return "same";
    case ChangeVerdict::better:
      return "better";
    case ChangeVerdict::worse:
      return "worse";
    case ChangeVerdict::few:
      return "few repeats";
    case ChangeVerdict::another_peer:
      return "another peer";
  }
  return "";
}

const char* word(Machines machines) {
  switch (machines) {
    case Machines::alike:
      return "alike";
    case Machines::other:
      return "other";
    case Machines::not_known:
      return "not known";
  }
  return "";
}

/// To the hundredth, of large ones to three digits.
std::string ratio_text(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string ratio_text(const RecordedFigure& ratio) {
  if (ratio.spread == SpreadFrom::none) return ratio_text(ratio.at.value) + " (no spread)";
  return fmt::format("{} ({} to {})", ratio_text(ratio.at.value), ratio_text(ratio.at.least),
                     ratio_text(ratio.at.most));
}

bool rests_on_range(const Change& change) {
  return change.recorded.spread == SpreadFrom::range || change.now.spread == SpreadFrom::range;
}

std::string change_text(const Change& change) {
  if (!change.change) {
    const bool then = change.recorded.spread == SpreadFrom::none;
    const bool now = change.now.spread == SpreadFrom::none;
    if (!then && !now) return "no ratio: 0 is in an interval";
    return fmt::format("no ratio: no spread {}", then && now ? "then and now" : then ? "then" : "now");
  }
  const Compared& at = *change.change;
  const char* const verdict = word(change.verdict);
  return fmt::format("{:.3f}x ({:.3f} to {:.3f}){}{}{}", at.ratio, at.low, at.high,
                     rests_on_range(change) ? " *" : "", *verdict == '\0' ? "" : "  ", verdict);
}

void add_peer_table(const Comparison& comparison, std::vector<std::string>& out) {
  const auto has_peer = [](const ComparedRow& row) { return row.to_peer.has_value(); };
  if (std::none_of(comparison.rows.begin(), comparison.rows.end(), has_peer)) return;
  const auto line = [&](const std::string& name, const std::string& then, const std::string& now,
                        const std::string& change) {
    out.push_back(fmt::format("  {:<34} {:<21} {:<21} {}", name, then, now, change));
  };
  line("ratio to the peer", "recorded", "now", "now / recorded");
  for (const ComparedRow& row : comparison.rows) {
    if (!row.to_peer) continue;
    line(row.name, ratio_text(row.to_peer->recorded), ratio_text(row.to_peer->now),
         change_text(*row.to_peer));
  }
  std::vector<std::string> told;
  for (const ComparedRow& row : comparison.rows) {
    const std::string words = fmt::format("  another peer: {} then, {} now", row.recorded_peer, row.peer);
    const bool said = std::find(told.begin(), told.end(), words) != told.end();
    if (!row.to_peer || row.recorded_peer == row.peer || said) continue;
    told.push_back(words);
  }
  out.insert(out.end(), told.begin(), told.end());
  out.emplace_back();
}

/// Where the machines differ, what the table of our own figures is worth.
std::string mixes(const Comparison& comparison) {
  const bool has_peer = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                                    [](const ComparedRow& row) { return row.to_peer.has_value(); });
  return std::string("  The machines differ: these ratios mix two machines; ") +
         (has_peer ? "the ratio to the peer is what compares." : "no row has a peer that would compare.");
}

void add_own_table(const Comparison& comparison, std::vector<std::string>& out) {
  if (comparison.rows.empty()) return;
  out.push_back(fmt::format("  {:<46} {:>9} {:>9} {:<5} {}", "ours", "recorded", "now", "",
                            "recorded / now, of rates now / recorded"));
  for (const ComparedRow& row : comparison.rows) {
    out.push_back(fmt::format("  {:<46} {:>9.4g} {:>9.4g} {:<5} {}", row.name, row.ours.recorded.at.value,
                              row.ours.now.at.value, row.unit, change_text(row.ours)));
  }
  if (comparison.machines == Machines::other) out.push_back(mixes(comparison));
  out.emplace_back();
}

void add_remarks(const Comparison& comparison, std::vector<std::string>& out) {
  bool few = false;
  bool range = false;
  for (const ComparedRow& row : comparison.rows) {
    few = few || row.ours.verdict == ChangeVerdict::few ||
          (row.to_peer && row.to_peer->verdict == ChangeVerdict::few);
    range = range || (row.ours.change && rests_on_range(row.ours));
  }
  if (!comparison.rows.empty())
    out.emplace_back(
        "  Above 1 now is better. The 95 % interval holds what varied within each run; two runs may differ "
        "by more.");
  if (few) out.emplace_back("  few repeats: under three, then or now; no interval can be made of them.");
  if (range)
    out.emplace_back("  * without a recorded interval; the least and the greatest repeat stand for it.");
  if (!comparison.complete) out.emplace_back("  The recorded bench was cut off: rows may be missing.");
  for (const std::string& row : comparison.only_recorded) out.push_back("  only recorded: " + row);
  for (const std::string& row : comparison.only_now) out.push_back("  only now: " + row);
}

void add_differences(const Comparison& comparison, std::vector<std::string>& out) {
  out.emplace_back();
  out.emplace_back(comparison.differences.empty() ? "nothing that is told of both differs"
                                                  : "what differs, recorded -> now");
  for (const Difference& one : comparison.differences)
    out.push_back(fmt::format("  {}: {} -> {}", one.what, one.recorded, one.now));
  if (!comparison.not_recorded.empty())
    out.push_back("  not recorded then: " + joined(comparison.not_recorded));
  if (comparison.machines == Machines::not_known)
    out.emplace_back("  Whether it is the same kind of machine is not known: not all of it was recorded.");
}

Json figure_json(const RecordedFigure& figure) {
  const bool has = figure.spread != SpreadFrom::none;
  return {{"value", figure.at.value},
          {"min", has ? Json(figure.at.least) : Json(nullptr)},
          {"max", has ? Json(figure.at.most) : Json(nullptr)}};
}

Json change_json(const Change& change) {
  const bool has = change.change.has_value();
  const Compared at = change.change.value_or(Compared{});
  return {{"recorded", figure_json(change.recorded)},
          {"now", figure_json(change.now)},
          {"ratio", has ? Json(at.ratio) : Json(nullptr)},
          {"ratio_min", has ? Json(at.low) : Json(nullptr)},
          {"ratio_max", has ? Json(at.high) : Json(nullptr)},
          {"verdict", change.verdict == ChangeVerdict::none ? Json(nullptr) : Json(word(change.verdict))}};
}

}  // namespace

std::vector<std::string> comparison_lines(const Comparison& comparison) {
  std::vector<std::string> out;
  if (comparison.rows.empty()) out.emplace_back("  no row of now was recorded there");
  add_peer_table(comparison, out);
  add_own_table(comparison, out);
  add_remarks(comparison, out);
  add_differences(comparison, out);
  return out;
}

Json comparison_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const ComparedRow& row : comparison.rows) {
    Json one = {{"case", row.name}, {"unit", row.unit}, {"ours", change_json(row.ours)}};
    one["to_peer"] = row.to_peer ? change_json(*row.to_peer) : Json(nullptr);
    if (row.to_peer) one["recorded_peer"] = row.recorded_peer;
    rows.push_back(std::move(one));
  }
  Json differences = Json::array();
  for (const Difference& one : comparison.differences)
    differences.push_back({{"what", one.what}, {"recorded", one.recorded}, {"now", one.now}});
  return {{"commit", comparison.commit},
          {"date", comparison.date},
          {"complete", comparison.complete},
          {"machines", word(comparison.machines)},
          {"rows", rows},
          {"only_recorded", comparison.only_recorded},
          {"only_now", comparison.only_now},
          {"differences", differences},
          {"not_recorded", comparison.not_recorded}};
}

}  // namespace isobar
