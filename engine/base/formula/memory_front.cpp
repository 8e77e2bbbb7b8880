#include "formula/memory_front.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "config/check_stages.h"
#include "core/error.h"
#include "core/parse_bytes.h"
#include "core/text.h"
#include "formula/model_shape.h"
#include "formula/recompute.h"
#include "launch/mesh.h"
#include "pipeline/schedule.h"

namespace isobar {
namespace {

constexpr std::int64_t kMostRanks = 4096;    // the largest that a suggestion tries
constexpr std::int64_t kMostPasses = 65536;  // for train.accumulate, likewise
constexpr std::size_t kNamedWays = 3;        // on the same ranks, in an error

/// One setting that differs, and how it is typed.
struct Change {
  std::string key;
  std::string typed;
};

std::vector<Change> changes_between(const Config& from, const Config& to) {
  std::vector<Change> out;
  if (to.run.ranks != from.run.ranks) out.push_back({"run.ranks", fmt::format("--ranks {}", to.run.ranks)});
  const auto set = [&](const char* key, const auto& before, const auto& after, const auto& text) {
    if (after != before) out.push_back({key, fmt::format("--set {}={}", key, text)});
  };
  const auto number = [&](const char* key, const auto& before, const auto& after) {
    set(key, before, after, after);
  };
  number("train.global_batch", from.train.global_batch, to.train.global_batch);
  number("mesh.tp", from.mesh.tp, to.mesh.tp);
  number("mesh.gpus_per_model", from.mesh.gpus_per_model, to.mesh.gpus_per_model);
  number("mesh.cp", from.mesh.cp, to.mesh.cp);
  number("mesh.sequence_parallel", from.mesh.sequence_parallel, to.mesh.sequence_parallel);
  number("mesh.zero", from.mesh.zero, to.mesh.zero);
  set("mesh.offload", from.mesh.offload, to.mesh.offload, name_of(to.mesh.offload));
  set("model.checkpoint", from.model.checkpoint, to.model.checkpoint, name_of(to.model.checkpoint));
  number("model.checkpoint_every", from.model.checkpoint_every, to.model.checkpoint_every);
  number("train.accumulate", from.train.accumulate, to.train.accumulate);
  return out;
}

/// What `validate` asks first. Most candidates fail here, and an Error for each would take seconds.
bool divides(const Config& config) {
  const std::int64_t model = ranks_of_model(config), patch = config.model.patch;
  const std::int64_t ensemble = std::max(model, config.mesh.gpus_per_ensemble);
  if (config.run.ranks % ensemble != 0 || ensemble % model != 0 || config.model.heads % config.mesh.tp != 0)
    return false;
  if (config.data.grid[0] / patch * (config.data.grid[1] / patch) < config.mesh.cp) return false;
  return config.train.global_batch % (replicas(config) * config.train.accumulate) == 0;
}

/// Whether the lesson honours what differs, and all of `to` goes together.
bool is_accepted(const LessonInfo* lesson, const Config& from, const Config& to) {
  for (const Change& change : changes_between(from, to)) {
    if (lesson != nullptr && !honours(*lesson, change.key)) return false;
  }
  try {
    validate(to, {});
    if (lesson != nullptr && honours(*lesson, "mesh.pp")) check_passes(to, {});
    const MeshSizes sizes{.tp = static_cast<int>(to.mesh.tp),
                          .cp = static_cast<int>(to.mesh.cp),
                          .pp = static_cast<int>(to.mesh.pp),
                          .dp = static_cast<int>(models(to)),
                          .ens = static_cast<int>(models_of_ensemble(to))};
    const Mesh mesh(to.mesh.order, sizes, static_cast<int>(to.run.ranks));
    if (to.mesh.schedule == PipelineForm::file) schedule_of(to);
  } catch (const Error&) {
    return false;
  }
  return true;
}

/// FLOPs of a step over those of the model.
double computing_of(const Config& config) {
  return recompute_factor(kept_form(config, /*value_bytes=*/4), vit_shape(config));
}

MemoryPlan plan_of(const MemoryQuestion& question, const Config& config) {
  return question.lesson == nullptr ? plan_memory(config, question.facts)
                                    : plan_memory(*question.lesson, config, question.facts);
}

MemoryWay way_of(const MemoryQuestion& question, const Config& config) {
  MemoryWay out{.config = config, .plan = plan_of(question, config), .computing = computing_of(config)};
  for (const Change& change : changes_between(question.config, config)) out.keys.push_back(change.key);
  out.change = typed_change(question.config, config);
  return out;
}

/// `config` as a way; nothing where it would be refused.
std::optional<MemoryWay> accepted(const MemoryQuestion& question, const Config& config) {
  if (!divides(config) || !is_accepted(question.lesson, question.config, config)) return std::nullopt;
  return way_of(question, config);
}

/// What may be computed again, in place of what is now, with the states as they are.
std::vector<Config> recomputing(const Config& config) {
  std::vector<Config> out = {config};
  const auto now = static_cast<int>(config.model.checkpoint);
  for (int kind = now + 1; kind <= static_cast<int>(CheckpointKind::block); ++kind) {
    out.push_back(config);
    out.back().model.checkpoint = static_cast<CheckpointKind>(kind);
  }
  const Config last = out.back();
  for (std::int64_t every = last.model.checkpoint_every + 1; every <= config.model.depth; ++every) {
    if (config.model.depth % every != 0 || last.model.checkpoint != CheckpointKind::block) continue;
    out.push_back(last);
    out.back().model.checkpoint_every = every;
  }
  return out;
}

/// Where states may lie, with all else as it is.
std::vector<Config> placing(const Config& config) {
  std::vector<Config> out = {config};
  for (std::int64_t zero = config.mesh.zero + 1; zero <= 3 && models(config) > 1; ++zero) {
    out.push_back(config);
    out.back().mesh.zero = zero;
  }
  if (config.mesh.offload != OffloadKind::none) return out;
  for (const OffloadKind offload : {OffloadKind::optimizer, OffloadKind::weights}) {
    out.push_back(config);
    out.back().mesh.zero = offload == OffloadKind::weights ? 3 : std::max<std::int64_t>(1, config.mesh.zero);
    out.back().mesh.offload = offload;
  }
  return out;
}

/// Numbers of passes that divide the batch, from those of now on.
std::vector<std::int64_t> passes_of(const Config& config) {
  std::vector<std::int64_t> out;
  const std::int64_t most = std::min(config.train.global_batch, kMostPasses);
  for (std::int64_t passes = config.train.accumulate; passes <= most; ++passes)
    if (config.train.global_batch % (replicas(config) * passes) == 0) out.push_back(passes);
  return out;
}

/// The one with the fewest passes that fits.
std::optional<MemoryWay> fewest_passes(const MemoryQuestion& question, Config config) {
  for (const std::int64_t passes : passes_of(config)) {
    config.train.accumulate = passes;
    std::optional<MemoryWay> way = accepted(question, config);
    if (way && way->plan.total() <= question.limit_bytes) return way;
  }
  return std::nullopt;
}

/// Stage 3 sends half as much again as the others.
bool gathers_twice(const MemoryWay& way) { return way.config.mesh.zero == 3; }

auto price_of(const MemoryWay& way) {
  return std::tuple(way.config.mesh.offload, way.computing, way.config.train.accumulate, gathers_twice(way),
                    way.keys.size(), way.plan.total());
}

/// Whether `one` costs no more in any respect, and changes fewer settings.
bool beats(const MemoryWay& one, const MemoryWay& other) {
  return &one != &other && one.config.mesh.offload <= other.config.mesh.offload &&
         one.computing <= other.computing && one.config.train.accumulate <= other.config.train.accumulate &&
         gathers_twice(one) <= gathers_twice(other) && price_of(one) < price_of(other) &&
         one.keys.size() <= other.keys.size();
}

std::vector<MemoryWay> on_same_ranks(const MemoryQuestion& question) {
  std::vector<MemoryWay> all;
  for (const Config& placed : placing(question.config)) {
    for (const Config& config : recomputing(placed)) {
      std::optional<MemoryWay> way = fewest_passes(question, config);
      if (way && !way->change.empty()) all.push_back(std::move(*way));
    }
  }
  std::vector<MemoryWay> out;
  for (const MemoryWay& way : all) {
    if (std::none_of(all.begin(), all.end(), [&](const MemoryWay& one) { return beats(one, way); }))
      out.push_back(way);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const MemoryWay& a, const MemoryWay& b) { return price_of(a) < price_of(b); });
  return out;
}

/// `config` on so many ranks, of which so many share each layer and so many the tokens.
Config on_ranks(Config config, std::int64_t ranks, std::int64_t tp, std::int64_t cp) {
  config.run.ranks = ranks;
  config.mesh.tp = tp;
  config.mesh.cp = cp;
  config.mesh.sequence_parallel = config.mesh.sequence_parallel && tp > 1 && cp == 1;
  if (config.mesh.gpus_per_model > 0) config.mesh.gpus_per_model = ranks_of_model(config);
  return config;
}

enum class Splits { nothing, layers, tokens };

/// The smallest number of ranks, and of the ranks of a model, with models that are split so.
std::optional<MemoryWay> on_fewest_ranks(const MemoryQuestion& question, Splits what) {
  const Config& now = question.config;
  if (what == Splits::tokens && question.lesson != nullptr && !honours(*question.lesson, "mesh.cp"))
    return std::nullopt;
  for (std::int64_t ranks = now.run.ranks; ranks <= kMostRanks; ++ranks) {
    const std::int64_t most = what == Splits::tokens   ? ranks
                              : what == Splits::layers ? std::min(ranks, now.model.heads)
                                                       : 1;
    for (std::int64_t size = what == Splits::nothing ? 1 : 2; size <= most; ++size) {
      if (ranks % size != 0) continue;
      const Config config = what == Splits::tokens   ? on_ranks(now, ranks, now.mesh.tp, size)
                            : what == Splits::layers ? on_ranks(now, ranks, size, now.mesh.cp)
                                                     : on_ranks(now, ranks, 1, 1);
      if (ranks == now.run.ranks && config.mesh.tp == now.mesh.tp && config.mesh.cp == now.mesh.cp) continue;
      std::optional<MemoryWay> way = accepted(question, config);
      if (way && way->plan.total() <= question.limit_bytes) return way;
    }
  }
  return std::nullopt;
}

/// The smallest number of ranks with whole models, unless split ones take fewer; the smallest one that splits
/// layers; where the lesson has it, the smallest one that shares the tokens.
std::vector<MemoryWay> on_more_ranks(const MemoryQuestion& question) {
  std::vector<MemoryWay> out;
  std::optional<MemoryWay> whole = on_fewest_ranks(question, Splits::nothing);
  std::optional<MemoryWay> split = on_fewest_ranks(question, Splits::layers);
  std::optional<MemoryWay> shared = on_fewest_ranks(question, Splits::tokens);
  const auto ranks_of = [](const std::optional<MemoryWay>& way) {
    return way ? way->config.run.ranks : kMostRanks + 1;
  };
  if (whole && ranks_of(whole) <= std::min(ranks_of(split), ranks_of(shared)))
    out.push_back(std::move(*whole));
  if (split) out.push_back(std::move(*split));
  if (shared) out.push_back(std::move(*shared));
  return out;
}

std::string way_text(const MemoryWay& way) {
  const std::string price =
      way.computing > 1 ? fmt::format(", {:.2f} x the computing", way.computing) : std::string();
  return fmt::format("{} ({} a rank{})", way.change, human_bytes(way.plan.total()), price);
}

/// "; mesh.zero=3 alone does not (45 GB a rank)"; "" where the lesson has no such key, or states are shared
/// out so.
std::string states_text(const MemoryQuestion& question) {
  if (question.lesson == nullptr || !honours(*question.lesson, "mesh.zero") ||
      question.config.mesh.zero == 3 || models(question.config) == 1)
    return "";
  const std::vector<MemoryWay> ways = shared_states_alone(question, question.config.run.ranks);
  if (ways.empty() || ways.back().plan.total() <= question.limit_bytes) return "";
  return fmt::format("; mesh.zero={} alone does not ({} a rank)", ways.back().config.mesh.zero,
                     human_bytes(ways.back().plan.total()));
}

}  // namespace

std::string typed_change(const Config& from, const Config& to) {
  std::vector<std::string> typed;
  for (const Change& change : changes_between(from, to)) typed.push_back(change.typed);
  return joined(typed, " ");
}

std::vector<MemoryWay> what_would_fit(const MemoryQuestion& question) {
  std::vector<MemoryWay> out = on_same_ranks(question);
  for (MemoryWay& way : on_more_ranks(question)) out.push_back(std::move(way));
  return out;
}

std::vector<MemoryWay> shared_states_alone(const MemoryQuestion& question, std::int64_t ranks) {
  std::vector<MemoryWay> out;
  for (const std::int64_t zero : {1, 2, 3}) {
    Config config = question.config;
    config.train.global_batch = config.train.global_batch / config.run.ranks * ranks;
    config.run.ranks = ranks;
    config.mesh.zero = zero;
    if (std::optional<MemoryWay> way = accepted(question, config)) out.push_back(std::move(*way));
  }
  return out;
}

std::vector<MemoryWay> ways_of(const MemoryQuestion& question) {
  std::vector<MemoryWay> out;
  for (Config& config : recomputing(question.config)) {
    for (const std::int64_t passes : passes_of(config)) {
      config.train.accumulate = passes;
      if (std::optional<MemoryWay> way = accepted(question, config)) out.push_back(std::move(*way));
    }
  }
  return out;
}

void check_memory_cap(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts) {
  if (config.run.memory_cap.empty()) return;
  check_memory(lesson, config, facts, parse_bytes(config.run.memory_cap, "run.memory_cap"),
               "run.memory_cap = " + config.run.memory_cap);
}

void check_memory(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts,
                  std::uint64_t limit_bytes, const std::string& what) {
  const MemoryPlan plan = plan_memory(lesson, config, facts);
  if (plan.total() <= limit_bytes) return;
  const MemoryQuestion question{
      .lesson = &lesson, .config = config, .facts = facts, .limit_bytes = limit_bytes};
  std::vector<MemoryWay> fits = on_same_ranks(question);
  fits.resize(std::min(fits.size(), kNamedWays));
  for (MemoryWay& way : on_more_ranks(question)) fits.push_back(std::move(way));
  std::vector<std::string> ways;
  for (const MemoryWay& way : fits) ways.push_back(way_text(way));
  std::string mesh = config.run.ranks == 1
                         ? "1 rank"
                         : fmt::format("{} ranks, mesh.tp = {}", config.run.ranks, config.mesh.tp);
  if (config.mesh.cp > 1) mesh += fmt::format(", mesh.cp = {}", config.mesh.cp);
  if (config.mesh.pp > 1) mesh += fmt::format(", mesh.pp = {}", config.mesh.pp);
  throw Error(
      fmt::format("a rank would need more memory than {} ({})", what, human_bytes(limit_bytes)),
      fmt::format("{}, {} samples at a time; predicted {}", mesh, micro_batch(config), plan.text()),
      ways.empty()
          ? "no mesh of up to 4096 ranks fits with the other settings as they are: a smaller model or "
            "batch, or more memory"
          : "these fit: " + joined(ways, "; or ") + states_text(question));
}

}  // namespace isobar
