// What each rank does in the tests of ensembles over ranks; the tests start these as processes.
#include <ATen/ops/equal.h>

#include <cmath>
#include <optional>

#include "core/text.h"
#include "pipeline/pipeline_world.h"
#include "support/made_fault.h"
#include "support/rank_scenarios.h"

namespace isobar::ensemble_scenarios {

using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

/// pp x ens x data ranks, and as many members of each model.
struct Case {
  explicit Case(const Words& words) {
    for (const std::string& word : words) {
      const std::string key = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
      if (key == "ens") ens = std::stoi(value);
      if (key == "members") members = std::stoll(value);
      if (key == "rollout") rollout = std::stoll(value);
      if (key == "fault") fault = named_fault(value);
    }
    config = pipe_config(words);
    config.train.seed = 7;
    config.train.rollout = rollout;
    config.mesh.members_per_device = members;
    config.mesh.gpus_per_ensemble = ens * config.mesh.pp;
  }
  static Fault named_fault(const std::string& name) {
    for (const Fault one : {Fault::ens_gradient_small, Fault::ens_members_wrong})
      if (name_of(one) == name) return one;
    return Fault::none;
  }

  int ens = 1;
  std::int64_t members = 1, rollout = 1;
  Fault fault = Fault::none;
  Config config;
};

struct EnsembleRanks {
  EnsembleRanks(const Config& config, int ens)
      : all(joined(config.comm)),
        mesh("pp-dp",
             {.pp = static_cast<int>(config.mesh.pp),
              .dp = all.size() / static_cast<int>(config.mesh.pp),
              .ens = ens},
             all.size()),
        stages(all.part(mesh.groups("pp"), "pp")),
        models(all.part(mesh.groups("dp"), "dp")),
        ensemble(all.part(mesh.groups("ens"), "ens")),
        data(all.part(mesh.groups("data"), "data")) {}
  Comm all;
  Mesh mesh;
  Comm stages, models, ensemble, data;
};

/// Samples of all replicas; each has a stretch of them.
Batch whole_batch(const Case& of, std::int64_t replicas) {
  const std::int64_t samples = kPipeSamples * of.config.train.accumulate * replicas;
  const auto joint = joint_batch(kPipeVit, samples, 0);
  Batch out{.input = joint.first, .target = joint.second, .epoch = 2};
  if (of.rollout > 1)
    out.later = made_up_fields(kPipeVit, samples * (of.rollout - 1), 5)
                    .view({of.rollout - 1, samples, kPipeVit.channels, kPipeVit.height, kPipeVit.width});
  for (std::int64_t i = 0; i < samples; ++i) out.samples.push_back(100 - i);
  return out;
}

Batch part_of(const Batch& whole, std::int64_t part, std::int64_t parts) {
  const std::int64_t samples = whole.size() / parts, first = part * samples;
  Batch out{.input = whole.input.narrow(0, first, samples),
            .target = whole.target.narrow(0, first, samples),
            .epoch = whole.epoch};
  if (whole.later.defined()) out.later = whole.later.narrow(1, first, samples);
  out.samples.assign(whole.samples.begin() + first, whole.samples.begin() + first + samples);
  return out;
}

/// By one model with all members, micro-batch by micro-batch.
double alone(const Case& of, PipeModel& model, const Batch& whole, std::int64_t parts) {
  Config config = of.config;
  config.mesh.pp = 1;
  config.mesh.members_per_device *= of.ens;
  config.mesh.gpus_per_ensemble = 0;
  Comm comm;
  const Objective objective(comm, config);
  model.parameters.zero_gradients();
  double sum = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    const at::Tensor loss = objective.loss(model.vit, part_of(whole, part, parts)).div(parts);
    loss.backward();
    sum += loss.item<double>();
  }
  return sum;
}

/// ensemble key=value ...: members over ranks against all in one process.
int run_ensemble(const Words& words) {
  const Case of(words);
  EnsembleRanks ranks(of.config, of.ens);
  PipeModel whole(of.config, {});
  const std::int64_t replicas = ranks.data.size(), parts = of.config.train.accumulate;
  const Batch joint = whole_batch(of, replicas);
  const double expected = alone(of, whole, joint, replicas * parts);

  PipeModel model(of.config, {}, stages_here(ranks.stages, of.config), &whole.parameters);
  const Objective objective(ranks.ensemble, of.config);
  Pipeline pipeline(model.vit, ranks.stages, of.config, objective);
  GradScaler scaler(of.config.amp, at::kCPU);
  const Batch mine = part_of(joint, ranks.data.rank(), replicas);
  ranks.all.begin_step(0);
  std::optional<MadeFault> fault;
  if (of.fault != Fault::none) fault.emplace(FaultSetting{.fault = of.fault});
  const double own = pipe_step(pipeline, model.parameters, mine, scaler);
  const SyncFigures figures = pipeline.figures();
  ranks.models.all_reduce(model.parameters.gradients(), Reduce::mean, "gradients").wait();
  double loss = 0;
  for (const double one : ranks.data.all_gather_numbers(own, "loss"))
    loss += one / static_cast<double>(replicas);

  Findings findings;
  findings.check(std::abs(loss - expected) <= 1e-6 || of.fault == Fault::ens_members_wrong,
                 fmt::format("loss {:.9g}, alone {:.9g}", loss, expected));
  if (of.fault == Fault::ens_gradient_small) whole.parameters.gradients().div_(of.ens);
  if (of.fault == Fault::ens_members_wrong)
    findings.check(loss < 0.7 * expected, fmt::format("loss {:.9g}, alone {:.9g}", loss, expected));
  const double error = beside(model.parameters, whole.parameters).error;
  findings.check(error <= 1 || of.fault == Fault::ens_members_wrong,
                 fmt::format("gradients are {:.3g} times too far off", error));
  // What the last stages send: their members' forecasts, once for each other model.
  const bool is_last = ranks.stages.rank() == schedule_of(of.config).rank_of_stage.back();
  const std::int64_t gathered = is_last ? (of.ens - 1) * of.members * mine.input.numel() * 4 * of.rollout : 0;
  findings.check(figures.wire_bytes - figures.pipe_bytes >= gathered &&
                     figures.wire_bytes - figures.pipe_bytes <= gathered + 4,
                 fmt::format("{} bytes, {} for members expected", figures.wire_bytes, gathered));
  findings.check(figures.forward_wait_us > 0 || of.ens == 1 || !is_last, "nobody waited for members");
  return findings.count();
}

/// Noise of members over ranks against those of one process, to the bit. noise ens=... members=...
int run_noise(const Words& words) {
  const Case of(words);
  EnsembleRanks ranks(of.config, of.ens);
  const Batch batch = whole_batch(of, 1);
  Config config = of.config;
  config.mesh.members_per_device *= of.ens;
  Comm one;
  const at::Tensor all = Objective(one, config).all_members(Objective(one, config).inputs(batch));
  const Objective objective(ranks.ensemble, of.config);
  Findings findings;
  findings.check(objective.members() == of.ens * of.members, fmt::format("{} members", objective.members()));
  findings.check(at::equal(objective.all_members(objective.inputs(batch)), all), "noise depends on the mesh");
  const Batch last = part_of(batch, batch.size() - 1, batch.size());
  findings.check(at::equal(objective.all_members(objective.inputs(last)), all.narrow(1, batch.size() - 1, 1)),
                 "noise depends on the batch");
  return findings.count();
}

const AddScenario kEnsemble{"ensemble", run_ensemble};
const AddScenario kNoise{"noise", run_noise};

}  // namespace

}  // namespace isobar::ensemble_scenarios
