#include "course/rules/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "config/load.h"
#include "core/text.h"
#include "course/units.h"
#include "log/event.h"
#include "log/run_files.h"
#include "record/run_folder.h"

namespace isobar {
namespace {

constexpr std::int64_t kLeastSteps = 5;  // whose mean is one of more than what a single step did

struct QuantityUnit {
  Quantity quantity;
  const char* measures;  ///< Unit::measures
  const char* usual;     ///< where the question has none
  double smallest;       ///< one of ours in the smallest unit of what it measures
};
constexpr const char* kCount = "a number of";
constexpr QuantityUnit kQuantityUnits[] = {{Quantity::time, "a time", "ms", 1},
                                           {Quantity::bytes, "a size", "GiB", 1},
                                           {Quantity::byte_rate, "a data rate", "MB/s", 1e-6},
                                           {Quantity::rate, "a throughput", "samples/s", 1},
                                           {Quantity::share, "a share", "%", 100},
                                           {Quantity::ratio, "a factor", "x", 1},
                                           {Quantity::learning_rate, "a learning rate", "lr", 1}};

std::string so_far(const RunView& view) {
  return fmt::format("after {} of {}", view.summary.steps, counted(view.summary.wanted_steps, "step"));
}

/// A stage that was never entered records no field: it counts as 0.
bool is_stage_field(std::string_view field) {
  return std::ranges::any_of(kStageNames, [&](const std::string& stage) {
    return field == stage + "_us" || field == stage + "_host_us";
  });
}

/// "; 2 runs do not count: ..."; "" for none.
std::string others_text(std::size_t crowded) {
  if (crowded == 0) return "";
  return fmt::format("; {} {} not count: other programs were using the processors",
                     counted(static_cast<std::int64_t>(crowded), "run"), crowded == 1 ? "does" : "do");
}

TwoNamedRuns two_named(const RuleInput& input, NamedRun (*named)(const RuleInput&, const std::string&)) {
  const TwoNamedRuns out{.base = named(input, input.argument("base")),
                         .other = named(input, input.argument("other"))};
  check_one_source(out.base, out.other);
  return out;
}

void check_repeats(const NamedRun& run, const Spread& values) {
  if (values.values.size() >= kLeastRepeats) return;
  const std::string why =
      fmt::format("`{}` has {}, {} are needed to distinguish a difference from noise", run.name,
                  counted(static_cast<std::int64_t>(values.values.size()), "run"), kLeastRepeats);
  throw Cannot{why + others_text(run.run->crowded), run.name};
}

}  // namespace

Truth Rule::find(const RuleInput& input) const {
  try {
    return tell(input);
  } catch (const Cannot& cannot) {
    Truth out;
    out.cannot = cannot.why;
    out.missing = cannot.missing;
    return out;
  }
}

NamedRun run_of(const RuleInput& input, const std::string& name) {
  const NeededRun* const wanted = input.question.run(name);
  if (wanted == nullptr) {
    std::vector<std::string> names;
    for (const NeededRun& run : input.question.runs) names.push_back(run.name);
    wrong_question(input, fmt::format("the question has no run \"{}\"", printable(name, 60)),
                   names.empty() ? "it has none" : did_you_mean(name, names, "its runs: " + joined(names)));
  }
  const auto found = input.runs.find(name);
  if (found == input.runs.end() || found->second.repeats.empty()) {
    std::string why = fmt::format("the run `{}` of {} is not there", name, wanted->lesson);
    if (found != input.runs.end()) why += others_text(found->second.crowded);
    throw Cannot{why, name};
  }
  const NamedRun out{name, &found->second};
  if (out.view().lesson != wanted->lesson && !out.view().lesson.empty())
    throw Cannot{fmt::format("`{}` is a run of {}, one of {} is needed", name,
                             printable(out.view().lesson, 60), wanted->lesson),
                 name};
  return out;
}

NamedRun ended_run(const RuleInput& input, const std::string& name) {
  const NamedRun out = run_of(input, name);
  check_ended(out);
  return out;
}

NamedRun timed_run(const RuleInput& input, const std::string& name) {
  const NamedRun out = run_of(input, name);
  check_timed(out);
  return out;
}

TwoNamedRuns ended_pair(const RuleInput& input) { return two_named(input, ended_run); }
TwoNamedRuns timed_pair(const RuleInput& input) { return two_named(input, timed_run); }

void cannot_read(const NamedRun& run, const char* what, const Error& error) {
  if (what == nullptr)
    throw Cannot{fmt::format("`{}`: {}; {}", run.name, error.what(), error.hint()), run.name};
  throw Cannot{fmt::format("{} of `{}` cannot be read: {}", what, run.name, error.what()), run.name};
}

MemoryTimeline memory_of(const NamedRun& run, const std::filesystem::path& folder, int rank) {
  return read_for(run, nullptr, [&] { return read_memory(folder, rank); });
}

std::map<std::int64_t, double> distances_between(const NamedRun& run, std::string_view note) {
  std::map<std::int64_t, double> out;
  for (const int rank : ranks_in(run.run->folder)) {
    EventLog(RunFolder{run.run->folder}.stream_file(rank)).read_all([&](const Event& event) {
      if (event.kind() != "note" || event.text("text") != note) return;
      double& most = out[event.integer("step")];
      const double apart = event.number("apart");
      most = std::isfinite(apart) ? std::max(most, apart) : std::numeric_limits<double>::infinity();
    });
  }
  return out;
}

void check_ended(const NamedRun& run) {
  const RunView& view = run.view();
  const auto cannot = [&](const std::string& why) { throw Cannot{"`" + run.name + "` " + why, run.name}; };
  switch (view.state) {
    case RunState::done:
      return;
    case RunState::empty:
      return cannot("recorded nothing");
    case RunState::running:
      return cannot("is still running, " + so_far(view));
    case RunState::stopped:
      return cannot("was stopped " + so_far(view));
    case RunState::failed:
      return cannot(fmt::format("failed {}: {}", so_far(view), printable(view.reason, 200)));
    case RunState::died:
      return cannot("died " + so_far(view));
  }
}

void check_timed(const NamedRun& run) {
  check_ended(run);
  const SteadyFigures& own = run.run->repeats.front();
  if (own.steps < kLeastSteps)
    throw Cannot{fmt::format("`{}` has {} after its warm-up, {} are needed", run.name,
                             counted(own.steps, "step"), kLeastSteps),
                 run.name};
  if (is_disturbed(own.view, run.run->config))
    throw Cannot{
        fmt::format("other programs were using the processors while `{}` ran (it waited {:.0f} % of the "
                    "time), so its timings cannot be trusted",
                    run.name, 100 * own.view.summary.processor_wait),
        run.name};
}

void check_made(const RuleInput& input, const NamedRun& run) {
  const RunView& view = run.view();
  const auto cannot = [&](const std::string& why) { throw Cannot{"`" + run.name + "` " + why}; };
  if (view.lesson != input.question.lesson)
    cannot(fmt::format("is a run of {}, one of {} is needed", printable(view.lesson, 60),
                       input.question.lesson));
  if (!view.is_measured_here()) cannot("is " + source_of(run) + ", and a run of yours is needed");
  if (!view.fault.empty()) cannot("has the fault " + printable(view.fault, 60) + ", and none is wanted");
}

std::vector<NamedRun> made_runs(const RuleInput& input, std::size_t settings) {
  std::vector<NamedRun> out;
  for (const RunCase& one : input.made) {
    const NamedRun named{one.folder.filename().string(), &one};
    const auto same = std::ranges::find_if(out, [&](const NamedRun& other) {
      return one.view().lesson == other.run->view().lesson && is_repeat(one.config, other.run->config);
    });
    if (same == out.end()) {
      out.push_back(named);
    } else if (one.repeats.size() > same->run->repeats.size()) {
      *same = named;
    }
  }
  if (settings == 0 || out.size() == settings) return out;
  throw Cannot{fmt::format(
      "{} needed, there {} {}{}", settings == 1 ? "one run of yours is" : "runs with two settings are",
      out.size() == 1 ? "is" : "are", out.size(), out.size() < input.made.size() ? ", with repeats" : "")};
}

std::vector<std::string> keys_apart(const NamedRun& one, const NamedRun& other) {
  constexpr std::string_view kOfRanks[] = {"run.threads", "comm.backend"};
  const bool of_ranks = one.view().summary.world != other.view().summary.world;
  std::vector<std::string> out;
  for (const KeyRow& row : key_rows({&one.run->config, &other.run->config})) {
    const bool follows = row.is_label() || row.key.starts_with("environment.threads") ||
                         (of_ranks && std::ranges::find(kOfRanks, row.key) != std::end(kOfRanks));
    if (row.differs && !follows) out.push_back(row.key);
  }
  return out;
}

std::vector<std::string> names_of_runs(const RuleInput& input, std::string_view argument) {
  std::vector<std::string> out = input.arguments(argument);
  if (!out.empty()) return out;
  for (const NeededRun& run : input.question.runs) out.push_back(run.name);
  return out;
}

std::string source_of(const NamedRun& run) {
  const RunView& view = run.view();
  if (!view.replay_of.empty()) return "replayed";
  return view.provenance.empty() ? "measured here" : provenance_text(view);
}

void check_one_source(const NamedRun& base, const NamedRun& other) {
  const std::string one = source_of(base), two = source_of(other);
  if (one != two)
    throw Cannot{
        fmt::format("`{}` is {}, `{}` is {}: they are not compared", base.name, one, other.name, two)};
}

Spread figures_of(const NamedRun& run, const FigureOf& figure) {
  const Spread out = over(run.run->repeats, figure);
  if (run.view().provenance != "predicted" || out.empty()) return out;
  return Spread(std::vector<double>(kLeastRepeats, out.median()));
}

Spread rates_of(const NamedRun& run) { return figures_of(run, rate_of); }

double sum_of(const SteadyFigures& run, const std::vector<std::string>& fields) {
  double sum = 0;
  for (const std::string& field : fields) sum += run.mean(field).value_or(0);
  return sum;
}

Spread sums_of(const NamedRun& run, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    if (!run.run->repeats.front().mean(field) && !is_stage_field(field))
      throw Cannot{fmt::format("`{}` recorded no {}", run.name, printable(field, 60)), run.name};
  }
  return figures_of(run, [&](const SteadyFigures& one) { return sum_of(one, fields); });
}

Compared compare_runs(const NamedRun& base, const Spread& of_base, const NamedRun& other,
                      const Spread& of_other) {
  check_one_source(base, other);
  check_repeats(base, of_base);
  check_repeats(other, of_other);
  const std::optional<Compared> out = compare(of_other, of_base);
  if (!out) throw Cannot{fmt::format("there is nothing to compare in `{}` and `{}`", base.name, other.name)};
  return *out;
}

LossesCompared losses_between(const NamedRun& base, const NamedRun& other) {
  const LossesCompared out = compare_losses(base.view(), base.run->series, other.view(), other.run->series);
  if (out.parity == Parity::unknown)
    throw Cannot{fmt::format("`{}` and `{}` have no losses at the same steps", base.name, other.name),
                 other.name};
  return out;
}

LessonSettings settings_in(const RuleInput& input) {
  Settings settings{.preset = input.argument("preset"), .sets = input.arguments("set")};
  LessonInfo lesson = read_lesson(input.home, input.argument("lesson", input.question.lesson));
  const std::string device = input.argument("device") == "cpu" ? "cpu" : "cuda";
  Config config = read_config(input.home, lesson, settings, device).config;
  return {std::move(lesson), std::move(config)};
}

double in_unit(const Question& question, Quantity quantity, double value) {
  const bool is_number = question.kind == AnswerKind::number;
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("the rule {} does not give {}", question.rule, question.unit), question.origin,
                "it gives " + what);
  };
  if (quantity == Quantity::count || quantity == Quantity::score) {
    const Unit* const unit = unit_named(question.unit);
    if (is_number && unit != nullptr && !std::string_view(unit->measures).starts_with(kCount)) refuse(kCount);
    return value;
  }
  const QuantityUnit& own = *std::ranges::find_if(
      kQuantityUnits, [&](const QuantityUnit& one) { return one.quantity == quantity; });
  const Unit* const unit = unit_named(is_number ? question.unit : own.usual);
  if (unit == nullptr || std::string_view(unit->measures) != own.measures) refuse(own.measures);
  return value * own.smallest / unit->scale;
}

void set_interval(Truth& out, double number, double low, double high) {
  constexpr double kWidest = 1.5;
  out.number = number;
  out.low = std::max(low, number / kWidest);
  out.high = std::min(high, number * kWidest);
}

Truth truth_of(const Question& question, Quantity quantity, const Spread& values) {
  const auto shown = [&](double value) { return in_unit(question, quantity, value); };
  Truth out;
  set_interval(out, shown(values.median()), shown(values.least()), shown(values.most()));
  return out;
}

std::string figure_text(double value) {
  const double size = std::fabs(value);
  if (!std::isfinite(value)) return "not a number";
  if (size >= 100 || size == std::round(size)) return fmt::format("{:.0f}", value);
  if (size < 1) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, size >= 10 ? 1 : 2);
}

std::string ms_text(double us) { return figure_text(us * 1e-3); }
std::string gib_text(double bytes) { return figure_text(bytes / (1 << 30)); }
std::string percent_text(double share) {
  return fmt::format("{:.{}f}", 100 * share, std::fabs(share) >= 0.1 || share == 0 ? 0 : 1);
}

std::string number_text(Quantity quantity, double value) {
  switch (quantity) {
    case Quantity::time:
      return ms_text(value);
    case Quantity::bytes:
      return figure_text(value * 1e-6);
    case Quantity::share:
      return percent_text(value);
    default:
      return figure_text(value);
  }
}

std::string with_unit(Quantity quantity, double value) {
  const char* const unit = quantity == Quantity::time    ? " ms"
                           : quantity == Quantity::bytes ? " MB"
                           : quantity == Quantity::share ? " %"
                           : quantity == Quantity::rate  ? " samples/s"
                                                         : "";
  return number_text(quantity, value) + unit;
}

Spread above_zero(const Spread& values) {
  std::vector<double> out;
  for (const double value : values.values) out.push_back(std::max(value, 1e-6));
  return Spread(out);
}

std::string direction_word(const Compared& compared) {
  if (compared.is_same()) return "same";
  return compared.direction == Direction::more ? "up" : "down";
}

std::string word_between(double before, double after, double band, const char* fewer, const char* more) {
  if (std::fabs(after - before) <= band) return "same";
  return after < before ? fewer : more;
}

}  // namespace isobar
