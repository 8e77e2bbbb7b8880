#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analyse/ranks.h"
#include "core/text.h"
#include "log/table.h"

namespace isobar {

namespace {

constexpr std::size_t kMostRankRows = 16;

Row row_of(const RankFigures& rank, const RanksView& view) {
  const char* const state = rank.has_stream ? state_name(rank.state) : "no stream";
  Row out;
  out.add("rank", "rank", std::to_string(rank.rank), rank.rank)
      .add("host", "host", rank.host.empty() ? "-" : printable(rank.host, 16), rank.host)
      .add("state", "state", state, state);
  add_members(out.json, ISOBAR_NAMED(rank.reason, rank.followed, rank.doing, rank.steps));
  for (const auto& [key, figure] : kStepComm) {
    const bool is_of_few = key.starts_with("pipe_") || key.starts_with("cp_") || key.starts_with("ens_") ||
                           key.starts_with("read_");
    const bool is_there = (rank.*figure).has_value() || !is_of_few;
    if (is_there && !key.starts_with("tp_")) out.json[key] = rank.*figure;
  }
  for (const RankColumn& column : kRankColumns)
    out.add(column.key, column.head, column.quantity, rank.*column.figure);
  if (rank.pipe_idle) out.add("pipe_idle", "pipe idle", Quantity::share, rank.pipe_idle);
  if (rank.pipe_kept) out.add("pipe_kept", "keeps", Quantity::count, view.kept_by(rank));
  if (view.straggler) out.cell("", view.straggler->rank == rank.rank ? "<" : "");
  out.json["stages"] = Json::object();
  for (const auto& [stage, time_us] : rank.stages_us) out.json["stages"][stage + "_us"] = time_us;
  return out;
}

Json straggler_json(const RanksView& view) {
  if (!view.straggler) return {};
  const Straggler& found = *view.straggler;
  const std::string sentence = straggler_sentence(view);
  return ISOBAR_NAMED(found.rank, found.kept_us, found.of_step, found.last_in, found.stage, found.stage_us,
                      found.others_stage_us, sentence);
}

}  // namespace

std::optional<double> RanksView::kept_by(const RankFigures& rank) const {
  if (!rank.pipe_kept) return std::nullopt;
  return *rank.pipe_kept / static_cast<double>(stages_a_rank);
}

std::vector<const RankFigures*> shown_ranks(const RanksView& view, std::size_t most_rows) {
  std::vector<const RankFigures*> out;
  for (const RankFigures& rank : view.ranks) out.push_back(&rank);
  if (out.size() <= most_rows) return out;
  std::ranges::stable_sort(out, [](const RankFigures* one, const RankFigures* other) {
    if (one->is_lost() != other->is_lost()) return one->is_lost();
    return one->last_in > other->last_in;
  });
  out.resize(most_rows);
  std::ranges::sort(out,
                    [](const RankFigures* one, const RankFigures* other) { return one->rank < other->rank; });
  return out;
}

std::string straggler_sentence(const RanksView& view) {
  if (!view.straggler) return "";
  const Straggler& found = *view.straggler;
  std::string out = fmt::format(
      "rank {} keeps the others waiting {:.1f} ms a step ({:.0f} % of it), last in {} of {} steps",
      found.rank, found.kept_us * 1e-3, 100 * found.of_step, found.last_in, view.steps);
  if (!found.stage.empty())
    out += fmt::format(": its {} takes {:.1f} ms, elsewhere {:.1f}", found.stage, found.stage_us * 1e-3,
                       found.others_stage_us * 1e-3);
  return out;
}

std::vector<std::string> lost_rank_sentences(const RanksView& view, std::size_t most) {
  std::vector<std::string> out;
  std::vector<const RankFigures*> lost;
  for (const RankFigures& rank : view.ranks) {
    if (rank.is_lost()) lost.push_back(&rank);
  }
  // First who did not follow, then who came least far: the others waited for it.
  std::ranges::stable_sort(lost, [](const RankFigures* one, const RankFigures* other) {
    return std::tuple(one->followed, one->steps) < std::tuple(other->followed, other->steps);
  });
  for (std::size_t i = 0; i < std::min(most, lost.size()); ++i) {
    const RankFigures& rank = *lost[i];
    const std::string where = rank.doing.empty() ? "" : " in " + printable(rank.doing, 120);
    if (!rank.has_stream) {
      out.push_back(fmt::format("rank {} left no stream{}", rank.rank,
                                rank.doing.empty() ? "" : ": it was at " + printable(rank.doing, 120)));
    } else if (rank.state == RunState::died) {
      out.push_back(fmt::format("rank {} died{}: its stream has no end", rank.rank, where));
    } else if (rank.followed) {
      out.push_back(fmt::format("rank {} gave up because another had{}", rank.rank, where));
    } else {
      out.push_back(fmt::format("rank {} failed{}: {}", rank.rank, where, printable(rank.reason, 200)));
    }
  }
  if (lost.size() > most)
    out.push_back(fmt::format("and {} more rank{} failed, died or left no stream", lost.size() - most,
                              lost.size() - most == 1 ? "" : "s"));
  return out;
}

namespace {

/// The mean over the ranks that report communication, which a mean of theirs is a share of; 0 = not known.
double mean_step_us(const RanksView& view) {
  double sum_us = 0, ranks = 0;
  for (const RankFigures& rank : view.ranks) {
    if (!rank.step_us || !rank.comm_us) continue;
    sum_us += *rank.step_us;
    ++ranks;
  }
  return ranks > 0 ? sum_us / ranks : 0;
}

}  // namespace

std::string comm_sentence(const RanksView& view) {
  const CommFigures& comm = view.comm;
  if (!comm.exposed_us && !comm.comm_total_us) return "";
  std::vector<std::string> parts;
  if (comm.exposed_us) {
    const double step_us = mean_step_us(view);
    std::vector<std::string> of;
    if (step_us > 0) of.push_back(fmt::format("{:.0f} %", 100 * *comm.exposed_us / step_us));
    if (comm.last_bucket)
      of.push_back(fmt::format("{:.0f} % of it the last bucket", 100 * *comm.last_bucket));
    parts.push_back(fmt::format("exposed {:.1f} ms a step{}", *comm.exposed_us * 1e-3,
                                of.empty() ? "" : " (" + joined(of) + ")"));
  }
  if (comm.comm_total_us) parts.push_back(fmt::format("under way {:.1f} ms", *comm.comm_total_us * 1e-3));
  if (comm.overlap) {
    const auto [first, last] = comm.overlap_of;
    parts.push_back(fmt::format("{:.0f} % of it beside computing{}", 100 * *comm.overlap,
                                first >= view.first_step && last <= view.last_step
                                    ? ""
                                    : fmt::format(" in the traced steps {} to {}", first, last)));
  }
  std::string out = joined(parts);
  if (comm.comm_calls) {
    out += fmt::format("; {:.6g} {}", *comm.comm_calls, comm.comm_calls == 1 ? "call" : "calls");
    if (comm.wire_bytes)
      out += fmt::format(", {} sent by a rank", value_text(Quantity::bytes, *comm.wire_bytes));
  }
  if (comm.tp_calls > 0 && comm.tp_wire_bytes) {
    out += fmt::format(" ({:.6g} and {} of them in layers that ranks share)", *comm.tp_calls,
                       value_text(Quantity::bytes, *comm.tp_wire_bytes));
  }
  if (comm.cp_calls > 0 && comm.cp_wire_bytes)
    out += fmt::format(" ({:.6g} and {} of them between ranks that share tokens)", *comm.cp_calls,
                       value_text(Quantity::bytes, *comm.cp_wire_bytes));
  if (comm.ens_calls > 0 && comm.ens_wire_bytes)
    out += fmt::format(" ({:.6g} and {} of them for forecasts of an ensemble)", *comm.ens_calls,
                       value_text(Quantity::bytes, *comm.ens_wire_bytes));
  if (comm.read_calls > 0 && comm.read_wire_bytes)
    out += fmt::format(" ({:.6g} and {} of them for fields that ranks read together)", *comm.read_calls,
                       value_text(Quantity::bytes, *comm.read_wire_bytes));
  if (comm.node_calls > 0 && comm.node_wire_bytes && comm.wire_bytes) {
    out += fmt::format(" (inside a node {:.6g} calls and {}, between nodes {})", *comm.node_calls,
                       value_text(Quantity::bytes, *comm.node_wire_bytes),
                       value_text(Quantity::bytes, *comm.wire_bytes - *comm.node_wire_bytes));
  }
  if (comm.pipe_idle && comm.pipe_calls && comm.pipe_bytes)
    out +=
        fmt::format(" ({:.6g} and {} of them between stages, whose ranks are idle {:.1f} % of the step)",
                    *comm.pipe_calls, value_text(Quantity::bytes, *comm.pipe_bytes), 100 * *comm.pipe_idle);
  if (comm.compress_us > 0) out += fmt::format("; compression {:.2f} ms", *comm.compress_us * 1e-3);
  if (comm.busbw_gb_per_s) out += fmt::format("; bus {:.2f} GB/s", *comm.busbw_gb_per_s);
  return out;
}

std::vector<std::string> rank_lines(const RanksView& view) {
  std::vector<std::string> out;
  if (view.world < 2) return out;
  const std::string over = view.steps == 0
                               ? ""
                               : fmt::format("; figures of steps {} to {}{}", view.first_step, view.last_step,
                                             view.steady ? "" : ", still within the warm-up");
  const int hosts = view.hosts();
  out.push_back(fmt::format("  ranks        {} on {}{}", view.world,
                            hosts > 1 ? fmt::format("{} machines", hosts) : "one machine", over));
  std::vector<Row> rows;
  for (const RankFigures* const rank : shown_ranks(view, kMostRankRows)) rows.push_back(row_of(*rank, view));
  for (const std::string& line : table_lines(table_of(rows, 3))) out.push_back(line);
  const auto others = view.world - static_cast<std::int64_t>(rows.size());
  if (others > 0) out.push_back(fmt::format("  and {} more", others));
  if (const std::string comm = comm_sentence(view); !comm.empty()) out.push_back("  comm         " + comm);
  if (view.probe) {
    out.push_back(
        fmt::format("  link         {} at the start: {:.1f} us latency, algbw {:.2f}, busbw {:.2f} GB/s",
                    printable(view.probe->backend, 20), view.probe->latency_us, view.probe->algbw_gb_per_s,
                    view.probe->busbw_gb_per_s));
  }
  if (view.straggler) out.push_back("  straggler    " + straggler_sentence(view));
  for (const std::string& line : lost_rank_sentences(view)) out.push_back("  lost         " + line);
  return out;
}

Json ranks_json(const RanksView& view) {
  std::vector<Row> rows;
  for (const RankFigures& rank : view.ranks) rows.push_back(row_of(rank, view));
  const CommFigures& figures = view.comm;
  const std::optional<double> total_us = figures.comm_total_us, calls = figures.comm_calls;
  Json probe, overlap_first_step, overlap_last_step;
  if (view.probe) {
    const MeasuredLink& link = *view.probe;
    probe = ISOBAR_NAMED(link.backend, link.latency_us, link.algbw_gb_per_s, link.busbw_gb_per_s);
  }
  if (figures.overlap) {
    overlap_first_step = figures.overlap_of.first;
    overlap_last_step = figures.overlap_of.last;
  }
  const Json comm = ISOBAR_NAMED(
      figures.exposed_us, total_us, calls, figures.wire_bytes, figures.compress_us, figures.tp_calls,
      figures.tp_wire_bytes, figures.cp_calls, figures.cp_wire_bytes, figures.ens_calls,
      figures.ens_wire_bytes, figures.read_calls, figures.read_wire_bytes, figures.node_calls,
      figures.node_wire_bytes, figures.busbw_gb_per_s, figures.overlap, figures.last_bucket,
      figures.pipe_idle, figures.pipe_calls, figures.pipe_bytes, overlap_first_step, overlap_last_step);
  const Json straggler = straggler_json(view), lost = lost_rank_sentences(view, view.ranks.size()),
             ranks = json_of(rows);
  return ISOBAR_NAMED(view.world, view.replicas, view.hosts(), view.steps, view.first_step, view.last_step,
                      view.steady, view.step_us, view.samples_per_s(), comm, probe, straggler, lost,
                      view.left_out, ranks);
}

}  // namespace isobar
