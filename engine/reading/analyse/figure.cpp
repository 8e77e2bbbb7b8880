#include "analyse/figure.h"

#include <algorithm>
#include <cmath>

#include "analyse/verdict.h"
#include "core/text.h"
#include "formula/gradient_noise.h"

namespace isobar {
namespace {

using Value = std::optional<double>;

Value above_zero(Value value) { return value > 0 ? value : std::nullopt; }

Value of_comm(const SteadyFigures& run, Value CommFigures::*figure) {
  return run.ranks ? run.ranks->comm.*figure : std::nullopt;
}

template <class Part>
Value of_message(const SteadyFigures& run, const Part& part) {
  const std::optional<MeanMessage> message = run.ranks ? mean_message(*run.ranks) : std::nullopt;
  return message ? Value(part(*message)) : std::nullopt;
}

using enum Quantity;
using enum Better;
constexpr const char* kTraces = "run.trace_steps";
constexpr const char* kErrors = "comm.error_every";
constexpr const char* kStages = "mesh.pp";
constexpr const char* kNoise = "train.noise_every";
constexpr const char* kMembers = "mesh.members_per_device";

Value most_kept_by_a_rank(const SteadyFigures& run) {
  Value out;
  if (!run.ranks) return out;
  for (const RankFigures& rank : run.ranks->ranks)
    if (const Value kept = run.ranks->kept_by(rank)) out = std::max(out.value_or(0), *kept);
  return out;
}

/// In samples. Means over all steps will do where only some were measured: both lack the same factor.
Value noise_scale(const SteadyFigures& run) {
  const GradientSquares squares{.local = run.mean("local_square").value_or(-1),
                                .mean = run.mean("mean_square").value_or(-1)};
  const RunSummary& all = run.view.summary;
  const double batch = static_cast<double>(all.samples) /
                       static_cast<double>(std::max<std::int64_t>(1, all.steps * all.replicas));
  const auto noise = estimate_noise({&squares, 1}, batch, static_cast<int>(all.replicas));
  return noise ? Value(noise->scale.value) : std::nullopt;
}

/// The last scores, where they are of an ensemble.
const RunScores* ensemble_scores(const SteadyFigures& run) {
  const auto& scores = run.view.scores;
  return scores.empty() || scores.back().members < 2 ? nullptr : &scores.back();
}

/// Spread over the error of the mean, which M members have alike where it is reliable: 1.
Value spread_skill(const SteadyFigures& run) {
  const RunScores* const scores = ensemble_scores(run);
  if (scores == nullptr || !(scores->rmse > 0)) return std::nullopt;
  const auto members = static_cast<double>(scores->members);
  return scores->spread * std::sqrt((members + 1) / members) / scores->rmse;
}

constexpr Figure kFigures[] = {
    {"samples_per_s", "samples/s", rate, more, FigureTable::runs, 9, Made::timed,
     [](const SteadyFigures& run) { return above_zero(run.samples_per_s); }},
    {"step_us", "ms a step", time, less, FigureTable::runs, 4, Made::timed,
     [](const SteadyFigures& run) { return above_zero(run.mean("step_us")); }},
    {"mfu", "MFU", share, more, FigureTable::runs, 2, Made::timed,
     [](const SteadyFigures& run) { return above_zero(run.view.summary.mfu()); }},
    {"peak_bytes", "memory", bytes, less, FigureTable::runs, 3, Made::counted,
     [](const SteadyFigures& run) { return above_zero(run.last("peak_bytes")); }},
    {"valid_loss", "valid loss", score, less, FigureTable::runs, 6, Made::counted,
     [](const SteadyFigures& run) {
       const RunSummary& summary = run.view.summary;
       return summary.has_valid_loss && summary.valid_loss >= 0 ? Value(summary.valid_loss) : std::nullopt;
     }},
    {"pipe_idle", "pipe idle", share, less, FigureTable::runs, 5, Made::timed,
     [](const SteadyFigures& run) { return of_comm(run, &CommFigures::pipe_idle); }, kStages},
    {"comm_calls", "comm calls", count, less, FigureTable::comm, 1, Made::counted,
     [](const SteadyFigures& run) { return run.mean("comm_calls"); }},
    {"exposed_us", "exposed ms", time, less, FigureTable::comm, 1, Made::timed,
     [](const SteadyFigures& run) { return of_comm(run, &CommFigures::exposed_us); }},
    {"overlap", "overlap", share, more, FigureTable::comm, 1, Made::timed,
     [](const SteadyFigures& run) { return of_comm(run, &CommFigures::overlap); }, kTraces},
    {"last_bucket", "last bucket", share, less, FigureTable::comm, 1, Made::timed,
     [](const SteadyFigures& run) { return of_comm(run, &CommFigures::last_bucket); }, kTraces},
    {"compress_us", "compress ms", time, less, FigureTable::comm, 1, Made::timed,
     [](const SteadyFigures& run) { return of_comm(run, &CommFigures::compress_us); }, "comm.compress"},
    {"pipe_calls", "messages", count, less, FigureTable::comm, 1, Made::counted,
     [](const SteadyFigures& run) { return of_comm(run, &CommFigures::pipe_calls); }, kStages},
    {"pipe_bytes", "in messages", bytes, less, FigureTable::comm, 1, Made::counted,
     [](const SteadyFigures& run) { return of_comm(run, &CommFigures::pipe_bytes); }, kStages},
    {"pipe_kept", "keeps", count, less, FigureTable::comm, 1, Made::counted, most_kept_by_a_rank, kStages},
    {"samples_per_s_rank", "samples/s a rank", rate, more, FigureTable::none, 1, Made::timed,
     [](const SteadyFigures& run) {
       const auto ranks = static_cast<double>(std::max<std::int64_t>(1, run.view.summary.world));
       return above_zero(run.samples_per_s / ranks);
     }},
    {"comm_total_us", "comm ms", time, less, FigureTable::none, 1, Made::timed,
     [](const SteadyFigures& run) { return of_comm(run, &CommFigures::comm_total_us); }},
    {"hidden", "hidden", share, more, FigureTable::none, 1, Made::timed,
     [](const SteadyFigures& run) {
       const Value total = of_comm(run, &CommFigures::comm_total_us);
       const Value exposed = of_comm(run, &CommFigures::exposed_us);
       return total && exposed && *total > 0 ? Value(std::clamp(1 - *exposed / *total, 0.0, 1.0))
                                             : std::nullopt;
     }},
    // A mean all-reduce by the probe of the link.
    {"latency_share", "latency", share, neither, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) {
       return of_message(run, [](const MeanMessage& one) { return one.latency_share(); });
     }},
    {"message_latency_us", "latency ms", time, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) {
       return of_message(run, [](const MeanMessage& one) { return one.latency_us; });
     }},
    {"message_moving_us", "moving ms", time, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) {
       return of_message(run, [](const MeanMessage& one) { return one.moving_us; });
     }},
    {"message_bytes", "a message", bytes, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) {
       return of_message(run, [](const MeanMessage& one) { return one.bytes; });
     }},
    {"activations_bytes", "activations", bytes, less, FigureTable::none, 1, Made::planned,
     [](const SteadyFigures& run) {
       const auto& memory = run.view.memory;
       const auto found = std::ranges::find(memory, "activations", [](const auto& one) { return one.first; });
       return found == memory.end() ? std::nullopt : Value(static_cast<double>(found->second));
     }},
    {"steps_per_epoch", "steps an epoch", count, neither, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) { return above_zero(run.view.steps_per_epoch); }},
    {"epochs", "epochs", count, neither, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) {
       const auto steps = static_cast<double>(run.view.summary.steps);
       const auto epoch = above_zero(run.view.steps_per_epoch);
       return epoch ? Value(steps / *epoch) : std::nullopt;
     }},
    {"of_persistence", "of persistence", share, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) {
       const auto& scores = run.view.scores;
       const bool has = !scores.empty() && scores.back().persistence_rmse > 0;
       return has ? Value(scores.back().rmse / scores.back().persistence_rmse) : std::nullopt;
     }},
    {"crps", "CRPS", score, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) {
       const RunScores* const scores = ensemble_scores(run);
       return scores == nullptr ? std::nullopt : Value(scores->crps);
     },
     kMembers},
    {"spread", "spread", score, neither, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) {
       const RunScores* const scores = ensemble_scores(run);
       return scores == nullptr ? std::nullopt : Value(scores->spread);
     },
     kMembers},
    {"spread_skill", "spread over skill", share, neither, FigureTable::none, 1, Made::counted, spread_skill,
     kMembers},
    {"grad_norm", "gradient", score, neither, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) { return run.mean("grad_norm"); }},
    {"skipped", "skipped", count, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) { return Value(static_cast<double>(run.view.summary.skipped)); }},
    {"error_norm", "error", score, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) { return run.last("error_norm"); }, kErrors},
    {"mean_error_norm", "mean error", score, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) { return run.last("mean_error_norm"); }, kErrors},
    {"noise_scale", "noise scale", count, neither, FigureTable::none, 1, Made::counted, noise_scale, kNoise},
    {"launches", "launches", count, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) { return run.last("launches"); }},
    {"read_mb_per_step", "read a step", bytes, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) { return run.mean("read_bytes"); }},
    {"wire_mb_per_step", "sent a step", bytes, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) { return run.mean("wire_bytes"); }},
    // Between groups of ranks that share states (mesh.shard), which one group of all crosses with everything.
    {"between_mb_per_step", "between groups", bytes, less, FigureTable::none, 1, Made::counted,
     [](const SteadyFigures& run) {
       const Value all = run.mean("wire_bytes");
       return all ? Value(*all - run.mean("node_wire_bytes").value_or(0)) : std::nullopt;
     }},
};

}  // namespace

std::string spread_text(Quantity quantity, const Spread& values) {
  if (values.values.size() > 1) return range_text(quantity, values.median(), values.least(), values.most());
  return values.empty() ? "-" : value_text(quantity, values.median());
}

std::span<const Figure> all_figures() { return kFigures; }

const Figure* figure_named(std::string_view name) {
  const auto* const found = std::ranges::find(kFigures, name, &Figure::name);
  return found == std::end(kFigures) ? nullptr : found;
}

std::vector<const Figure*> figures_in(FigureTable column) {
  std::vector<const Figure*> out;
  for (const Figure& one : kFigures) {
    if (one.column == column) out.push_back(&one);
  }
  return out;
}

bool has_comm(const Repeats& repeats) {
  return std::ranges::any_of(
      repeats, [](const SteadyFigures& run) { return run.ranks && run.ranks->comm.comm_calls > 0; });
}

Spread values_of(const Figure& figure, const Repeats& repeats) {
  std::vector<double> values;
  for (const SteadyFigures& run : repeats) {
    if (const Value value = figure.of(run)) values.push_back(*value);
  }
  return Spread(values);
}

std::vector<const Figure*> reported_in(FigureTable column, const std::vector<const Repeats*>& runs) {
  std::vector<const Figure*> out;
  for (const Figure* const one : figures_in(column)) {
    const auto has = [&](const Repeats* run) { return !values_of(*one, *run).empty(); };
    if (out.empty() || std::ranges::any_of(runs, has)) out.push_back(one);
  }
  return out;
}

double middle_of(const Figure& figure, const Spread& values) {
  return figure.quantity == Quantity::bytes ? values.most() : values.median();
}

std::string figure_cell(const Figure& figure, const Repeats& repeats) {
  const Spread values = values_of(figure, repeats);
  if (values.empty() || figure.quantity == Quantity::rate) return spread_text(figure.quantity, values);
  return value_text(figure.quantity, middle_of(figure, values));
}

Json figure_json(const Figure& figure, const Repeats& repeats) {
  const Spread values = values_of(figure, repeats);
  if (values.empty()) return {};
  if (figure.quantity != Quantity::rate) return middle_of(figure, values);
  return {{"median", values.median()}, {"min", values.least()}, {"max", values.most()}};
}

void add_to(Row& row, const Figure& figure, const Repeats& repeats) {
  row.add(figure.name, {figure.head, figure.worth}, figure_cell(figure, repeats),
          figure_json(figure, repeats));
}

void add_figures(Json& out, FigureTable column, const Repeats& repeats) {
  for (const Figure* const figure : figures_in(column)) out[figure->name] = figure_json(*figure, repeats);
}

void add_to(Json& out, const Compared& compared) {
  constexpr const char* kDirections[] = {"unknown", "same", "less", "more"};
  out["direction"] = kDirections[static_cast<std::size_t>(compared.direction)];
  out["repeats_needed"] = compared.repeats_needed;
  if (compared.direction == Direction::unknown) return;
  out["ratio"] = compared.ratio;
  if (compared.is_of_few) {
    out["of_few_repeats"] = true;
    return;
  }
  add_members(out, ISOBAR_NAMED(compared.low, compared.high));
}

}  // namespace isobar
