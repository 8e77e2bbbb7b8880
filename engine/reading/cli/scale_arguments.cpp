#include "cli/scale_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string_view>

#include "cli/shared_options.h"
#include "config/command_line.h"
#include "config/lesson.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/nvidia.h"
#include "core/processors.h"
#include "core/text.h"
#include "jobs/job_script.h"
#include "launch/spawn.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMostJobRanks = 65536;
constexpr double kMostWatts = 100'000;
constexpr const char* kExample = "for example  --ranks 1,2,4";

std::string hint_for(const std::string& word) {
  if (!word.empty() && word.find_first_not_of("0123456789,") == std::string::npos)
    return "numbers of ranks stand behind one --ranks, with commas: --ranks 1,2,4";
  return word == "--trials" ? "here it is --repeat" : hint_for_setting(word);
}

std::vector<std::string> pieces_of(const std::string& text, const std::string& option,
                                   const std::string& example) {
  return checked_values(split(text, ','), option + " " + printable(text, 80), example);
}

std::vector<std::int64_t> ranks_of(const std::string& text, std::int64_t most) {
  if (text.empty()) throw Error("how many ranks?", "./isobar scale LESSON --ranks 1,2,4", kExample);
  const auto refuse = [&](const std::string& what) {
    throw Error(what, "--ranks " + printable(text, 80), kExample);
  };
  std::vector<std::int64_t> out;
  for (const std::string& piece : pieces_of(text, "--ranks", kExample)) {
    const auto count = number_of<std::int64_t>(piece);
    if (!count) refuse("\"" + printable(piece, 40) + "\" is no number of ranks");
    if (*count < 1 || *count > most)
      throw Error(fmt::format("--ranks {} is not allowed", *count), "command line",
                  fmt::format("it must be from 1 to {}", most));
    if (holds(out, *count)) refuse(fmt::format("the value {} is there twice", *count));
    out.push_back(*count);
  }
  if (out.size() == 1) refuse("one number of ranks has nothing to be compared with");
  std::ranges::sort(out);
  return out;
}

std::vector<ScalingLine> lines_of(const std::string& text) {
  if (text.empty()) return {kScalingLines.begin(), kScalingLines.end()};
  std::vector<std::string> names;
  for (const ScalingLine line : kScalingLines) names.emplace_back(line_name(line));
  std::vector<ScalingLine> out;
  for (const std::string& piece : pieces_of(text, "--lines", "lines: " + joined(names))) {
    const auto* const found =
        find_where(kScalingLines, [&](ScalingLine line) { return line_name(line) == piece; });
    if (found == nullptr)
      throw Error("there is no line \"" + printable(piece, 40) + "\"", "--lines " + printable(text, 80),
                  did_you_mean(piece, names, "lines: " + joined(names)));
    out.push_back(*found);
  }
  std::ranges::sort(out);
  return out;
}

double target_of(const std::string& text) {
  const auto out = number_of<double>(text);
  if (out && *out > 0 && std::isfinite(*out)) return *out;
  throw Error("\"" + printable(text, 40) + "\" is no loss to reach", "--target-loss",
              "a number above 0, for example  --target-loss 0.3");
}

void check(const ScaleArguments& out, bool weak, bool strong) {
  const bool has_target = out.target_loss > 0;
  const MeasureArguments& measure = out.measure;
  if (weak && strong) throw Error("--weak and --strong exclude each other", "command line", "leave one out");
  if (out.watts > 0 && !has_target)
    throw Error("--watts is for the energy until a loss is reached", "command line",
                "--target-loss 0.3 sets one");
  if (has_target && out.lines.front() != ScalingLine::real)
    throw Error("--target-loss is for the line real, which is left out", "--lines",
                "the others train on nothing that can be learnt");
  for (const std::string& set : measure.settings.sets) {
    check_free(set, "scale", has_target);
    if (key_of(set) == "run.ranks")
      throw Error("scale sets run.ranks itself", "--set " + printable(set, 100), "--ranks 1,2,4 sets it");
  }
  if (!out.svg.path.empty()) check_writable(out.svg);
}

/// The preset that the nodes would choose, not the machine that submits.
void take_preset_of_nodes(MeasureArguments& measure, const JobSettings& job) {
  const std::string kind =
      preset_device_kind(measure.settings, [&] { return job.has_gpus() ? "cuda" : "cpu"; });
  measure.settings.preset = read_config(project_home(), measure.lesson, measure.settings, kind).preset;
}

}  // namespace

std::optional<ScaleArguments> parse_scale_arguments(const std::vector<std::string>& words) {
  ScaleArguments out;
  MeasureArguments& measure = out.measure;
  OptionParser app(
      "The same training on more and more ranks: how much faster it gets, what that costs, and where the "
      "rest goes, as a table and a picture",
      "./isobar scale");
  std::string lesson, ranks, lines, target;
  bool weak = false, strong = false;
  add_lesson(app, lesson, measure.settings);
  app.add("--ranks", ranks, "numbers of processes that train together, 1,2,4");
  app.flag("--weak", weak, "each rank has train.global_batch samples a step (default)");
  app.flag("--strong", strong, "train.global_batch samples a step are divided over the ranks");
  app.add("--repeat,--repeats", measure.repeats, "how often each is measured, in turn; default 3")
      .in_range(1, kMostRepeats);
  app.add("--steps", measure.steps, "steps that are measured, after 3 of warm-up; default 50")
      .in_range(1, kMostSteps);
  app.add("--lines", lines, "some of real,synthetic,no-comm; default all");
  app.add("--target-loss", target,
          "real trains whole runs, and reports when their validation loss was there");
  app.add("--watts", out.watts, "what each rank is assumed to draw, for the energy until then")
      .in_range(1, kMostWatts);
  app.add("--up-to", out.up_to,
          "ranks up to which it is simulated; default 8 times the most measured, 0 = not")
      .in_range(0, kMostJobRanks);
  app.add("--svg", out.svg.path, "the picture; default: scaling.svg in a folder of its own below runs/");
  app.flag(kReplace, out.svg.replace, kReplaceHelp);
  app.flag("--json", measure.json, "one JSON object instead of the table");
  bool slurm = false;
  JobOptions job;
  app.group("The cluster");
  app.flag("--slurm", slurm, "each run is a batch job; implied by --cluster and its options");
  job.add(app, project_home(), {"nodes", "job_name", "restarts"});
  const ParseWords say = {.where = "./isobar scale", .example = "--steps 50", .hint_extra = hint_for};
  if (!app.parse(words, say)) return std::nullopt;
  measure.lesson = named_lesson(lesson, "./isobar scale LESSON --ranks 1,2,4");
  out.law = strong ? ScalingLaw::strong : ScalingLaw::weak;
  out.as_jobs = slurm || job.given(app);
  if (out.as_jobs) {
    out.job = job.take(app, project_home());
    take_preset_of_nodes(measure, out.job);
  }
  out.ranks = ranks_of(ranks, out.as_jobs ? kMostJobRanks : kMostLocalRanks);
  out.lines = lines_of(lines);
  if (!target.empty()) out.target_loss = target_of(target);
  check(out, weak, strong);
  return out;
}

namespace {

/// The settings of all points: those of one model.
Config base_config(const ScaleArguments& arguments) {
  const Settings& settings = arguments.measure.settings;
  LoadedConfig out = read_config(project_home(), arguments.measure.lesson, settings,
                                 preset_device_kind(settings, likely_device_kind));
  const std::int64_t each = out.config.run.ranks = ranks_of_model(out.config);
  if (out.config.train.noise_every > 0 && arguments.ranks.front() == each)
    throw Error("gradient noise compares a rank's gradient with the mean of several, and one point has " +
                    counted(each, "rank"),
                "--ranks and train.noise_every",
                "--set train.noise_every=0, or more ranks everywhere: --ranks 2,4");
  Config alone = out.config;
  alone.train.noise_every = 0;  // one model alone has none
  validate(alone, out.origins);
  for (const std::int64_t ranks : arguments.ranks) {
    if (ranks % each == 0) continue;
    throw Error(fmt::format("{} ranks do not make models of {} ranks each", ranks, each),
                out.config.mesh.pp > 1 ? "--ranks and mesh.tp x mesh.pp" : "--ranks and mesh.tp",
                fmt::format("multiples of {}", each));
  }
  return out.config;
}

void check_divides(const ScaleArguments& arguments, const Config& config) {
  constexpr std::int64_t kMostSuggested = 1'000'000;
  const TrainConfig& train = config.train;
  if (arguments.law == ScalingLaw::weak) return;
  std::vector<std::string> bad;
  std::int64_t together = train.accumulate;
  for (const std::int64_t ranks : arguments.ranks) {
    const std::int64_t parts = ranks / ranks_of_model(config) * train.accumulate;
    if (train.global_batch % parts != 0) bad.push_back(std::to_string(ranks));
    if (together <= kMostSuggested) together = std::lcm(together, parts);
  }
  if (bad.empty()) return;
  const std::int64_t fitting = (train.global_batch + together - 1) / together * together;
  const std::string hint =
      together > kMostSuggested ? "" : fmt::format("--set train.global_batch={} fits all of them; ", fitting);
  throw Error(fmt::format("a batch of {} samples cannot be divided over {} ranks{}", train.global_batch,
                          joined(bad, " or "),
                          train.accumulate > 1 ? fmt::format(" x {} backward passes", train.accumulate) : ""),
              "--strong --ranks",
              hint + fmt::format("--weak gives each rank {} samples", train.global_batch));
}

/// Steps for the samples that the fewest ranks have in train.steps.
std::int64_t whole_steps(const ScaleArguments& arguments, const TrainConfig& train, std::int64_t ranks) {
  if (arguments.law == ScalingLaw::strong) return train.steps;
  return (train.steps * arguments.ranks.front() + ranks - 1) / ranks;
}

std::vector<std::string> sets_of(ScalingLine line) {
  switch (line) {
    case ScalingLine::real:
      return {};
    case ScalingLine::synthetic:
      return {"run.measure=synthetic"};
    case ScalingLine::no_comm:
      break;
  }
  return {"run.measure=synthetic", "comm.sync=none"};
}

}  // namespace

ScalePlan plan_of(const ScaleArguments& arguments) {
  const LessonInfo& lesson = arguments.measure.lesson;
  if (!honours(lesson, "run.ranks")) {
    std::vector<std::string> able;
    for (const std::string& name : lesson_names(project_home())) {
      if (honours(read_lesson(project_home(), name), "run.ranks")) able.push_back(name);
    }
    throw Error("lesson " + lesson.name + " trains on one rank only", "./isobar scale " + lesson.name,
                "lessons that train on several: " + joined(able));
  }
  const Config base = base_config(arguments);
  const TrainConfig& train = base.train;
  check_divides(arguments, base);
  ScalePlan out;
  const Processors here = processors_here();
  out.processors = here.count;
  out.threads = base.run.threads == 0 && arguments.as_jobs
                    ? arguments.job.number("cpus_per_task", 0)
                    : here.threads(base.run.threads, arguments.ranks.back()).count;
  const bool weak = arguments.law == ScalingLaw::weak;
  for (const std::int64_t ranks : arguments.ranks) {
    for (const ScalingLine line : arguments.lines) {
      MeasuredPoint point{.name = fmt::format("{} ranks={}", line_name(line), ranks), .sets = sets_of(line)};
      point.sets.push_back(fmt::format("run.ranks={}", ranks));
      if (train.noise_every > 0 && line != ScalingLine::real)
        point.sets.emplace_back("train.noise_every=0");  // one batch has none to measure
      if (out.threads > 0) point.sets.push_back(fmt::format("run.threads={}", out.threads));
      if (weak)
        point.sets.push_back(
            fmt::format("train.global_batch={}", train.global_batch * (ranks / ranks_of_model(base))));
      point.whole = arguments.target_loss > 0 && line == ScalingLine::real;
      if (point.whole)
        point.sets.push_back(fmt::format("train.steps={}", whole_steps(arguments, train, ranks)));
      out.points.push_back(std::move(point));
      out.measured.push_back({.line = line, .ranks = ranks});
    }
  }
  return out;
}

namespace {

constexpr std::int64_t kJobAsk_us = 2'000'000;  // between two questions to Slurm
constexpr std::string_view kDataRoot = "data.root=";

JobPlan plan_for(const WantedRun& run, const JobSettings& settings) {
  JobPlan plan;
  plan.settings = settings;
  plan.lesson = run.program.filename().string();
  plan.programs = run.program.parent_path();
  plan.command = "./isobar scale " + plan.lesson;
  plan.run = fs::absolute(run.folder).lexically_normal();
  plan.words = words_of(run.settings);
  for (const fs::path& file : run.settings.config_files) plan.inputs.push_back(fs::absolute(file));
  for (const std::string& set : run.settings.sets) {
    if (set.starts_with(kDataRoot))
      plan.inputs.push_back(fs::absolute(set.substr(kDataRoot.size())).lexically_normal());
  }
  return plan;
}

int exit_code_of(const JobState& state) {
  int code = 1;
  std::from_chars(state.exit_code.data(), state.exit_code.data() + state.exit_code.size(), code);
  return code == 0 ? 1 : code;
}

/// A point that Slurm does not take, or does not report, is one that failed: the others stand.
Ended failed_by(const Error& error, const std::string& more = "") {
  Ended out;
  out.code = static_cast<int>(error.code());
  out.errors = error.text() + "\n" + more;
  return out;
}

/// The job is not waited for any more: it must not continue.
Ended give_up(const Slurm& slurm, std::int64_t job, const Error& error) {
  try {
    slurm.cancel(job);
    return failed_by(error);
  } catch (const Error&) {
    return failed_by(error, fmt::format("job {} may go on: ./isobar submit --cancel {}\n", job, job));
  }
}

/// Stopped before its checkpoint, of which a run that measures has none: by the warning that its time is up.
constexpr int kWarned = 128 + SIGUSR1;

Ended wait_for_job(const Slurm& slurm, const SubmittedJob& job, const JobPlan& plan,
                   const HeldSignals& signals, const std::function<void()>& tick) {
  Ended out;
  const auto seen = [](const JobState&, const std::string&) { return kJobAsk_us; };
  const auto [last, asked] = wait_for_end(slurm, job.number, signals, {.seen = seen, .tick = tick});
  out.asked = asked;
  if (out.asked != 0) {
    slurm.cancel(job.number);
    out.code = 128 + out.asked;
    return out;
  }
  if (last.state == "COMPLETED") return out;
  out.code = exit_code_of(last);
  const std::string fate =
      out.code == kWarned ? fmt::format("was not done within its --time of {}", plan.settings.value("time"))
                          : fate_text(last);
  out.errors = fmt::format("job {} {}\n{}\n", job.number, fate, joined(job.end_of_log(), "\n"));
  return out;
}

Ended run_job(const Slurm& slurm, const JobPlan& plan, const std::function<void()>& tick) {
  const HeldSignals signals;
  SubmittedJob job;
  try {
    job = submit_job(slurm, plan);
  } catch (const Error& error) {
    return failed_by(error);
  }
  try {
    return wait_for_job(slurm, job, plan, signals, tick);
  } catch (const Error& error) {
    return give_up(slurm, job.number, error);
  }
}

}  // namespace

JobSettings settings_for(JobSettings settings, std::int64_t ranks) {
  const std::int64_t each =
      std::max<std::int64_t>(1, settings.number("ranks_per_node", settings.number("gpus_per_node", 1)));
  const std::int64_t here = std::min(each, ranks);
  if (ranks % here != 0) {
    throw Error(fmt::format("{} ranks do not fill whole nodes of {} ranks", ranks, each), "--ranks",
                fmt::format("multiples of {}, fewer than {}, or another --ranks-per-node", each, each));
  }
  const ValuePlace place{"--ranks", "command line"};
  settings.set("nodes", std::to_string(ranks / here), place);
  settings.set("ranks_per_node", std::to_string(here), place);
  settings.set("restarts", "0", place);  // what only measures saves nothing to resume from
  complete(settings);
  return settings;
}

StartRun start_as_jobs(const JobSettings& settings) {
  const auto slurm = std::make_shared<Slurm>();
  return [slurm, settings](const WantedRun& run, const std::function<void()>& tick) {
    return run_job(*slurm, plan_for(run, settings_for(settings, run.ranks)), tick);
  };
}

}  // namespace isobar
