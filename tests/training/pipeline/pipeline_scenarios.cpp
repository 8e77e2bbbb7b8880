// What each rank does in the tests of pipelines; the tests start these as processes.
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <random>
#include <set>

#include "comm/comm_seam.h"
#include "comm/comm_world.h"
#include "core/files.h"
#include "core/text.h"
#include "pipeline/pipeline_world.h"
#include "support/rank_scenarios.h"

namespace isobar::pipeline_scenarios {

using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

/// All ranks of a test: tp x pp.
struct PipeRanks {
  explicit PipeRanks(const Config& config)
      : all(joined(config.comm)),
        mesh("tp-pp-dp",
             {.tp = static_cast<int>(config.mesh.tp),
              .pp = static_cast<int>(config.mesh.pp),
              .dp = all.size() / static_cast<int>(config.mesh.tp * config.mesh.pp)},
             all.size()),
        layers(all.part(mesh.groups("tp"), "tp")),
        stages(all.part(mesh.groups("pp"), "pp")) {}
  Comm all;
  Mesh mesh;
  Comm layers, stages;
};

/// Most micro-batches of a row between F and B, or W.
std::int64_t kept_by(const std::vector<PipelineAction>& row) {
  std::int64_t kept = 0, most = 0;
  for (const PipelineAction& one : row) {
    if (one.work == PipelineWork::forward) most = std::max(most, ++kept);
    if (one.work == PipelineWork::backward || one.work == PipelineWork::weight) --kept;
  }
  return most;
}

/// Messages that a rank sends in a step.
std::int64_t messages_of(const PipelineSchedule& schedule, int rank) {
  std::int64_t out = 0;
  const auto other = [&](int stage) {
    return stage >= 0 && stage < schedule.stages &&
           schedule.rank_of_stage[static_cast<std::size_t>(stage)] != rank;
  };
  for (const int stage : schedule.stages_of(rank))
    out += schedule.parts * (other(stage - 1) + other(stage + 1));
  return out;
}

/// `waited_us`: for the ranks that share its layers.
void check_figures(Findings& findings, const SyncFigures& figures, const PipelineSchedule& schedule,
                   const Config& config, int rank, std::int64_t waited_us) {
  const std::int64_t bytes = 4 * kPipeSamples * kPipeVit.tokens() * kPipeVit.embed /
                             (config.mesh.sequence_parallel ? config.mesh.tp : 1);
  const std::int64_t sent = messages_of(schedule, rank);
  findings.check(figures.pipe_calls == sent,
                 fmt::format("{} messages, {} expected", figures.pipe_calls, sent));
  findings.check(figures.pipe_bytes == sent * bytes,
                 fmt::format("{} bytes, {} expected", figures.pipe_bytes, sent * bytes));
  const bool tells = config.mesh.pp > 1 && rank == schedule.rank_of_stage.back();  // the loss
  findings.check(figures.wire_bytes == figures.pipe_bytes + (tells ? 4 : 0),
                 fmt::format("{} bytes in all", figures.wire_bytes));
  const auto& row = schedule.ranks[static_cast<std::size_t>(rank)];
  findings.check(figures.pipe_kept == kept_by(row), fmt::format("{} kept", figures.pipe_kept));
  const std::int64_t m = config.train.accumulate, p = config.mesh.pp;
  if (config.mesh.schedule == PipelineForm::gpipe)
    findings.check(figures.pipe_kept == m, fmt::format("gpipe keeps {}", figures.pipe_kept));
  if (config.mesh.schedule == PipelineForm::one_f_one_b)
    findings.check(figures.pipe_kept == std::min(m, p - rank),
                   fmt::format("1f1b keeps {}", figures.pipe_kept));
  if (config.mesh.schedule == PipelineForm::zb_h1)
    findings.check(figures.pipe_kept <= std::min(m, p), fmt::format("zb_h1 keeps {}", figures.pipe_kept));
  findings.check(figures.pipe_busy_us > 0 && figures.pipe_busy_us + waited_us <= figures.pipe_us,
                 "busy, and waiting for its layers, longer than all");
}

/// An update of plain gradient descent.
void descend(Parameters& parameters, GradScaler& scaler) {
  const at::NoGradGuard no_grad;
  const double scale = scaler.scale(at::ones({})).item<double>();
  at::Tensor(parameters.values()).sub_(parameters.gradients(), 0.02 / scale);
}

/// Steps of a pipeline beside one process. `bits`: the gradients have the same.
void compare(PipeRanks& ranks, PipeModel& whole, const Config& config, bool bits, Findings& findings) {
  const TensorParallel layers(ranks.layers, config);
  PipeModel model(config, layers, stages_here(ranks.stages, config), &whole.parameters);
  whole.vit.checkpoint(config.model.checkpoint, config.model.checkpoint_every);
  Pipeline pipeline(model.vit, ranks.stages, config);
  const PipelineSchedule schedule = schedule_of(config);
  GradScaler scaler(config.amp, at::kCPU), whole_scaler(config.amp, at::kCPU);
  for (std::int64_t step = 0; step < config.train.steps; ++step) {
    ranks.all.begin_step(step);
    const Batch batch = pipe_batch(config, step);
    const double expected = plain_step(whole, config, batch, whole_scaler);
    const double loss = pipe_step(pipeline, model.parameters, batch, scaler);
    const auto check = [&](bool good, const std::string& what) {
      findings.check(good, fmt::format("step {}: {}", step, what));
    };
    check(std::abs(loss - expected) <= kLoss, fmt::format("loss {:.9g}, alone {:.9g}", loss, expected));
    check(equal_on_ranks(ranks.stages, fmt::format("{:a}", loss)), "ranks have different losses");
    const GradientsBeside gradients = beside(model.parameters, whole.parameters);
    check(!bits || gradients.other_bits.empty(), "bits of " + gradients.other_bits + " differ");
    check(gradients.error <= 1, fmt::format("gradients are {:.3g} times too far off", gradients.error));
    const TensorParallelFigures split = layers.take_figures();
    check_figures(findings, pipeline.figures(), schedule, config, ranks.stages.rank(),
                  split.forward_wait_us + split.backward_wait_us);
    descend(model.parameters, scaler);
    descend(whole.parameters, whole_scaler);
    const at::NoGradGuard no_grad;
    const at::Tensor image = batch.input.narrow(0, 0, 1);
    const Autocast autocast(config.amp.mode, at::kCPU);
    const at::Tensor alone = whole.vit(image).to(at::kFloat);
    const double off = difference(pipeline.forecast(image), alone) / (kPrediction * largest(alone));
    check(off <= 1, fmt::format("the forecast is {:.3g} times too far off", off));
  }
}

/// "form=1f1b,m=4,bits" of each case. equal key=value ... -- case ...
int run_equal(const Words& words) {
  const auto cases = std::find(words.begin(), words.end(), "--");
  const Words settings(words.begin(), cases);
  PipeRanks ranks(pipe_config(settings));
  const Config base = pipe_config(settings);
  const TensorParallel layers(ranks.layers, base);
  PipeModel fused(base, layers), plain(pipe_config({"fusion=plain"}), layers);
  Findings findings;
  for (auto one = cases + 1; one != words.end(); ++one) {
    Words all = settings;
    for (const std::string& word : split(*one, ',')) all.push_back(word);
    const int before = findings.count();
    const auto has = [&](const char* word) { return std::find(all.begin(), all.end(), word) != all.end(); };
    compare(ranks, has("fusion=plain") ? plain : fused, pipe_config(all), has("bits"), findings);
    if (findings.count() > before) fmt::print("WRONG: {}\n", joined(all, " "));
  }
  return findings.count();
}

/// A valid schedule of p ranks with v stages each, drawn by `seed`: always one of the actions that could run.
/// Some backward passes are in two. Which rank has which stages is drawn too, where it has several.
PipelineSchedule drawn_schedule(int ranks, int stages_a_rank, int parts, unsigned seed) {
  std::mt19937 draw(seed);
  PipelineSchedule out{.stages = ranks * stages_a_rank, .parts = parts};
  out.ranks.resize(static_cast<std::size_t>(ranks));
  for (int stage = 0; stage < out.stages; ++stage) out.rank_of_stage.push_back(stage % ranks);
  for (std::size_t i = out.rank_of_stage.size(); stages_a_rank > 1 && i > 1; --i)
    std::swap(out.rank_of_stage[i - 1], out.rank_of_stage[draw() % i]);
  std::vector<PipelineAction> left;
  for (int stage = 0; stage < out.stages; ++stage) {
    for (int part = 0; part < parts; ++part) {
      left.push_back({stage, PipelineWork::forward, part});
      const bool splits = draw() % 2 == 0;
      left.push_back({stage, splits ? PipelineWork::input : PipelineWork::backward, part});
      if (splits) left.push_back({stage, PipelineWork::weight, part});
    }
  }
  const auto is_left = [&](int stage, int part, bool is_forward) {
    return std::any_of(left.begin(), left.end(), [&](const PipelineAction& one) {
      return one.stage == stage && one.part == part && one.work != PipelineWork::weight &&
             (one.work == PipelineWork::forward) == is_forward;
    });
  };
  while (!left.empty()) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto& [stage, work, part] = left[i];
      const bool waits = work == PipelineWork::forward ? is_left(stage - 1, part, true)
                         : work == PipelineWork::weight
                             ? is_left(stage, part, false)
                             : is_left(stage, part, true) || is_left(stage + 1, part, false);
      if (!waits) ready.push_back(i);
    }
    const std::size_t next = ready[draw() % ready.size()];
    const int rank = out.rank_of_stage[static_cast<std::size_t>(left[next].stage)];
    out.ranks[static_cast<std::size_t>(rank)].push_back(left[next]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
  }
  return out;
}

/// Whether ranks take activations in another order than one rank sends them in.
bool crosses(const PipelineSchedule& schedule) {
  for (const std::vector<PipelineAction>& sender : schedule.ranks) {
    for (const std::vector<PipelineAction>& receiver : schedule.ranks) {
      std::vector<PipelineAction> taken;
      for (const PipelineAction& one : receiver) {
        const PipelineMessage message = message_before(schedule, one);
        if (message.has_message && one.work == PipelineWork::forward &&
            std::find(sender.begin(), sender.end(), message.from) != sender.end())
          taken.push_back(message.from);
      }
      std::vector<PipelineAction> sent;
      for (const PipelineAction& one : sender)
        if (std::find(taken.begin(), taken.end(), one) != taken.end()) sent.push_back(one);
      if (sent != taken) return true;
    }
  }
  return false;
}

/// Whether a rank has neighbouring stages, and two ranks send activations both ways.
bool is_free(const PipelineSchedule& schedule) {
  bool has_neighbours = false, goes_both_ways = false;
  std::set<std::pair<int, int>> ways;
  for (std::size_t stage = 1; stage < schedule.rank_of_stage.size(); ++stage) {
    const int from = schedule.rank_of_stage[stage - 1], to = schedule.rank_of_stage[stage];
    has_neighbours = has_neighbours || from == to;
    goes_both_ways = goes_both_ways || (from != to && ways.count({to, from}) > 0);
    ways.insert({from, to});
  }
  return has_neighbours && goes_both_ways;
}

/// A schedule from a file. drawn SEED CHUNKS key=value ...
int run_drawn(const Words& words) {
  const Words settings(words.begin() + 2, words.end());
  Config config = pipe_config(settings);
  config.mesh.chunks = std::stoi(words[1]);
  const PipelineSchedule drawn =
      drawn_schedule(static_cast<int>(config.mesh.pp), static_cast<int>(config.mesh.chunks),
                     static_cast<int>(config.train.accumulate), static_cast<unsigned>(std::stoul(words[0])));
  config.mesh.schedule = PipelineForm::file;
  config.mesh.schedule_file = meeting_folder() / fmt::format("schedule_{}.csv", read_rank_environment().rank);
  write_file_whole(config.mesh.schedule_file, to_csv(drawn));
  Findings findings;
  findings.check(schedule_of(config).ranks == drawn.ranks, "what is read is not what was written");
  findings.check(crosses(drawn), "messages are taken in their order");
  findings.check(config.mesh.chunks == 1 || is_free(drawn), "stages lie in their order");
  PipeRanks ranks(config);
  PipeModel whole(config, {});
  compare(ranks, whole, config, /*bits=*/false, findings);
  return findings.count();
}

/// What a mistake does: gradients that are m times as large beside a loss that is right. no_scale m
int run_no_scale(const Words& words) {
  const Config config = pipe_config({"pp=2", "m=" + words.at(0)});
  PipeRanks ranks(config);
  PipeModel model(config, {}, stages_here(ranks.stages, config)), whole(config, {});
  Pipeline pipeline(model.vit, ranks.stages, config);
  GradScaler scaler(config.amp, at::kCPU);
  const Batch batch = pipe_batch(config, 0);
  const double expected = plain_step(whole, config, batch, scaler);
  make_fault({.fault = Fault::no_loss_scale});
  const double loss = pipe_step(pipeline, model.parameters, batch, scaler);
  Findings findings;
  findings.check(std::abs(loss - expected) <= kLoss,
                 fmt::format("loss {:.9g}, alone {:.9g}", loss, expected));
  whole.parameters.gradients().mul_(config.train.accumulate);
  const double error = beside(model.parameters, whole.parameters).error;
  findings.check(error <= 1, fmt::format("gradients are {:.3g} times too far off", error));
  return findings.count();
}

/// Where ranks read what the others do.
std::unique_ptr<StatusSlot> told(Comm& all) {
  const auto folder = meeting_folder() / "status";
  std::filesystem::create_directories(folder);
  auto status = std::make_unique<StatusSlot>(folder, all.rank());
  all.tell(nullptr, status.get(), folder);
  return status;
}

/// Rank 1 ends in its last forward pass, with a receive posted that nobody sends without it. leaves BACKEND
int run_leaves(const Words& words) {
  signal(SIGTERM, SIG_IGN);  // so that they end by what they find, not by the launcher
  const Config config = pipe_config({"pp=3", "m=4", "form=gpipe", "backend=" + words.at(0)});
  PipeRanks ranks(config);
  const std::unique_ptr<StatusSlot> status = told(ranks.all);
  PipeModel model(config, {}, stages_here(ranks.stages, config));
  Pipeline pipeline(model.vit, ranks.stages, config);
  GradScaler scaler(config.amp, at::kCPU);
  ranks.all.begin_step(0);
  pipe_step(pipeline, model.parameters, pipe_batch(config, 0), scaler, [&](const PipelineAction& next) {
    if (ranks.all.rank() == 1 && next.work == PipelineWork::forward && next.part == 3)
      throw Error("rank 1 has a reason", "here", "", Exit::bad_input);
  });
  return 0;
}

/// Backward passes whose blocks compute without gradients.
class CutBackward final : public CommSeam {
 public:
  void backward(CommCore&, const BackwardPass& pass) override {
    make_fault({.fault = Fault::checkpoint_under_no_grad});
    pass.run(pass.loss);
    make_fault({});
  }
};

/// A stage from whose input no gradient comes, and whose blocks nobody cut on purpose.
int run_cut(const Words&) {
  signal(SIGTERM, SIG_IGN);
  const Config config = pipe_config({"pp=2", "m=1", "checkpoint=block", "fusion=plain"});
  PipeRanks ranks(config);
  PipeModel model(config, {}, stages_here(ranks.stages, config));
  Pipeline pipeline(model.vit, ranks.stages, config);
  GradScaler scaler(config.amp, at::kCPU);
  ranks.all.set_seam(std::make_shared<CutBackward>());
  pipe_step(pipeline, model.parameters, pipe_batch(config, 0), scaler);
  return 0;
}

/// Sends that wait for their receiver, in the steady state of 1f1b: both ranks wait in one.
int run_deadlock(const Words&) {
  signal(SIGTERM, SIG_IGN);
  make_fault({.fault = Fault::deadlock});
  HeldClock time;
  Config config = pipe_config({"pp=2", "m=4", "backend=gloo"});
  config.comm.timeout_s = 2;
  PipeRanks ranks(config);
  const auto folder = meeting_folder() / "status";
  const std::unique_ptr<StatusSlot> status = told(ranks.all);
  PipeModel model(config, {}, stages_here(ranks.stages, config));
  Pipeline pipeline(model.vit, ranks.stages, config);
  GradScaler scaler(config.amp, at::kCPU);
  const auto waits_in = [&](int rank, const char* what) {
    const RankStatus is = read_rank_status(folder, rank).value_or(RankStatus{});
    return is.phase == RankPhase::in_collective && is.what.find(what) != std::string::npos &&
           is_asleep(is.pid);
  };
  if (ranks.all.rank() == 0)
    time.start([&] { return waits_in(0, "pp forward") && waits_in(1, "pp backward"); });
  ranks.all.begin_step(0);
  status->stage(0, "comm");
  pipe_step(pipeline, model.parameters, pipe_batch(config, 0), scaler);
  return 0;
}

const AddScenario kEqual{"equal", run_equal};
const AddScenario kDrawn{"drawn", run_drawn};
const AddScenario kNoScale{"no_scale", run_no_scale};
const AddScenario kLeaves{"leaves", run_leaves};
const AddScenario kCut{"cut", run_cut};
const AddScenario kDeadlock{"deadlock", run_deadlock};

}  // namespace

}  // namespace isobar::pipeline_scenarios
