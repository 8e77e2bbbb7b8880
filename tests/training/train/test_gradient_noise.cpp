// Squared lengths of gradients over ranks, against those of each rank's samples in double precision.
#include <ATen/ops/concat.h>

#include <cmath>

#include "config/fault.h"
#include "support/catch.h"
#include "support/made_fault.h"
#include "support/passing_ranks.h"
#include "train/gradient_noise.h"
#include "train/sync_world.h"

namespace isobar::test_gradient_noise {

using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

constexpr std::int64_t kSamples = 3;  // a rank's in a micro-batch

at::Tensor whole_gradient(const Parameters& parameters) {
  std::vector<at::Tensor> out;
  for (const Parameter& one : parameters.all()) out.push_back(one.tensor.grad().to(at::kDouble).flatten());
  return at::concat(out);
}

double square(const at::Tensor& values) { return values.square().sum().item<double>(); }

/// Each rank's gradient on a model of its own, by the samples that synced_gradients gives it.
GradientSquares plainly(FusedModel& model, int ranks, const std::pair<at::Tensor, at::Tensor>& joint,
                        std::int64_t accumulate) {
  GradientSquares out{.local = 0, .mean = 0};
  at::Tensor sum;
  for (int rank = 0; rank < ranks; ++rank) {
    model.parameters.zero_gradients();
    for (std::int64_t part = 0; part < accumulate; ++part) {
      const std::int64_t mine = part * ranks + rank, parts = ranks * accumulate;
      model.loss(strided(joint.first, mine, parts), strided(joint.second, mine, parts))
          .div(accumulate)
          .backward();
    }
    const at::Tensor gradient = whole_gradient(model.parameters);
    out.local += square(gradient) / ranks;
    sum = sum.defined() ? sum + gradient : gradient;
  }
  out.mean = square(sum / ranks);
  return out;
}

bool near(double one, double other) { return std::fabs(one / other - 1) < 1e-6; }

/// Six steps with every second one measured, beside a replica that nobody measures.
/// lengths SYNC ACCUMULATE LOSS_SCALE [late] [copies] [FAULT]
int run_lengths(const Words& words) {
  Config config;
  config.comm = small_buckets("gloo", words.at(0));
  config.train.noise_every = 2;
  std::string mistake = "none";
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "late") config.comm.overlap = false;
    if (words[i] == "copies") config.comm.bucket_view = false;
    if (words[i] != "late" && words[i] != "copies") mistake = words[i];
  }
  const std::int64_t accumulate = std::stoll(words.at(1));
  const double scale = std::stod(words.at(2));
  Comm comm = joined(config.comm);
  const MadeFault fault({.fault = named<Fault>(mistake), .own_rank = comm.rank()});
  Findings findings;
  FusedModel measured(kOddVit, FusionConfig{}), left_alone(kOddVit, FusionConfig{});
  FusedModel reference(kOddVit, FusionConfig{});
  NoiseProbe probe(measured.parameters, comm, config);
  const auto sync = make_gradient_sync(measured.parameters, comm, config.comm);
  const auto other_sync = make_gradient_sync(left_alone.parameters, comm, config.comm);
  FusedAdam adam(measured.parameters, {.lr = 1e-3}, FusionConfig{});
  FusedAdam other_adam(left_alone.parameters, {.lr = 1e-3}, FusionConfig{});
  const AmpConfig amp{.mode = scale == 1 ? AmpMode::none : AmpMode::fp16, .init_scale = scale};
  GradScaler scaler(amp, at::kCPU), other_scaler(amp, at::kCPU);
  const auto step_of = [&](FusedModel& model, GradientSync& way, const GradScaler& by, const auto& joint) {
    model.parameters.zero_gradients();
    for (std::int64_t part = 0; part < accumulate; ++part) {
      way.begin(part + 1 == accumulate);
      const std::int64_t mine = part * comm.size() + comm.rank(), parts = comm.size() * accumulate;
      const at::Tensor loss =
          model.loss(strided(joint.first, mine, parts), strided(joint.second, mine, parts)).div(accumulate);
      way.backward(by.scale(loss));
    }
    return way.finish();
  };
  for (std::int64_t step = 0; step < 6; ++step) {
    const auto joint = joint_batch(kOddVit, kSamples * comm.size() * accumulate, step);
    copy_weights(measured.parameters, reference.parameters);
    const GradientSquares expected = plainly(reference, comm.size(), joint, accumulate);
    probe.begin(step);
    const SyncFigures sent = step_of(measured, *sync, scaler, joint);
    const GradientSquares squares = probe.squares(scaler);
    const SyncFigures others = step_of(left_alone, *other_sync, other_scaler, joint);
    findings.check(sent.calls == others.calls && sent.wire_bytes == others.wire_bytes,
                   fmt::format("step {}: {} calls, {} without a probe", step, sent.calls, others.calls));
    findings.check(squares.is_known() == (step % 2 == 1), fmt::format("step {}: is due", step));
    if (squares.is_known()) {
      const double local = mistake == "none" ? expected.local : expected.mean;
      findings.check(near(squares.local, local) && near(squares.mean, expected.mean),
                     fmt::format("step {}: {} and {} in place of {} and {}", step, squares.local,
                                 squares.mean, local, expected.mean));
      findings.check((squares.local == squares.mean) == (mistake != "none"), "the mean is no shorter");
    }
    adam.step(1e-3, scaler);
    other_adam.step(1e-3, other_scaler);
    findings.check(bits_of(measured.parameters) == bits_of(left_alone.parameters), "other bits");
    findings.check(equal_on_ranks(comm, fmt::format("{} {}", squares.local, squares.mean)), "other ranks");
  }
  return findings.count();
}

/// A loss of w.x over samples x of mean m and deviation d in each of n components: its gradient is the mean
/// of x, |G|^2 = |m|^2 and s = n d^2. linear SYNC
int run_linear(const Words& words) {
  constexpr std::int64_t kBatch = 4, kWidth = 96, kSteps = 300;
  constexpr double kMean = 0.25, kDeviation = 2;
  Config config;
  config.comm = small_buckets("gloo", words.at(0));
  config.train.noise_every = 1;
  Comm comm = joined(config.comm);
  Parameters parameters;
  const at::Tensor first = parameters.add({.name = "first", .full_shape = {32}, .init = Init::ones});
  const at::Tensor second = parameters.add({.name = "second", .full_shape = {64}, .init = Init::ones});
  parameters.materialise(1, at::kCPU);
  NoiseProbe probe(parameters, comm, config);
  const auto sync = make_gradient_sync(parameters, comm, config.comm);
  const GradScaler scaler(AmpConfig{.mode = AmpMode::none}, at::kCPU);
  std::vector<GradientSquares> steps;
  at::manual_seed(static_cast<std::uint64_t>(17 + comm.rank()));
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const at::Tensor x = at::randn({kBatch, kWidth}) * kDeviation + kMean;
    parameters.zero_gradients();
    sync->begin();
    probe.begin(step);
    sync->backward((x.narrow(1, 0, 32).mv(first) + x.narrow(1, 32, 64).mv(second)).mean());
    sync->finish();
    steps.push_back(probe.squares(scaler));
  }
  const std::optional<GradientNoise> noise = estimate_noise(steps, kBatch, comm.size());
  Findings findings;
  findings.check(noise && noise->steps == kSteps, "no estimate");
  if (!noise) return findings.count();
  const auto holds = [&](const NoiseFigure& figure, double truth, double most, const char* name) {
    findings.check(std::fabs(figure.value - truth) < 2.5 * *figure.spread && *figure.spread < most * truth,
                   fmt::format("{} {} +- {} in place of {}", name, figure.value, *figure.spread, truth));
  };
  holds(noise->gradient_square, kWidth * kMean * kMean, 0.2, "|G|^2");
  holds(noise->variance, kWidth * kDeviation * kDeviation, 0.02, "s");
  holds(noise->scale, kDeviation * kDeviation / (kMean * kMean), 0.2, "scale");
  return findings.count();
}

/// A probe that is made behind the sync. late SYNC
int run_late(const Words& words) {
  Config config;
  config.comm = small_buckets("gloo", words.at(0));
  config.train.noise_every = 1;
  Comm comm = joined(config.comm);
  FusedModel model(kOddVit, FusionConfig{});
  const auto sync = make_gradient_sync(model.parameters, comm, config.comm);
  std::string text;
  try {
    const NoiseProbe probe(model.parameters, comm, config);
  } catch (const Error& error) {
    text = error.text();
  }
  Findings findings;
  findings.check(text.find("in front of the GradientSync") != std::string::npos, "not refused: " + text);
  return findings.count();
}

/// A gradient that is not finite on one rank, and the step after it. overflow SYNC
int run_overflow(const Words& words) {
  Config config;
  config.comm = small_buckets("gloo", words.at(0));
  config.train.noise_every = 1;
  Comm comm = joined(config.comm);
  FusedModel model(kOddVit, FusionConfig{});
  NoiseProbe probe(model.parameters, comm, config);
  const auto sync = make_gradient_sync(model.parameters, comm, config.comm);
  const GradScaler scaler(AmpConfig{.mode = AmpMode::fp16, .init_scale = 1024}, at::kCPU);
  Findings findings;
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto joint = joint_batch(kOddVit, comm.size(), step);
    model.parameters.zero_gradients();
    sync->begin();
    probe.begin(step);
    at::Tensor loss = model.loss(strided(joint.first, comm.rank(), comm.size()),
                                 strided(joint.second, comm.rank(), comm.size()));
    if (step == 1 && comm.rank() == 1) loss = loss.mul(INFINITY);
    sync->backward(scaler.scale(loss));
    sync->finish();
    findings.check(probe.squares(scaler).is_known() == (step != 1), fmt::format("step {}", step));
  }
  return findings.count();
}

const AddScenario add_lengths{"lengths", run_lengths};
const AddScenario add_linear{"linear", run_linear};
const AddScenario add_late{"late", run_late};
const AddScenario add_overflow{"overflow", run_overflow};

}  // namespace

TEST_CASE("lengths are those of each rank's gradient and of their mean, and change no bit of training") {
  for (const char* const sync : {"buckets", "at_end", "per_parameter", "reducer"}) {
    passes(2, {"lengths", sync, "1", "1"});
    passes(4, {"lengths", sync, "2", "1024"});
  }
  passes(2, {"lengths", "buckets", "1", "1", "late"});
  passes(2, {"lengths", "buckets", "1", "1", "copies"});
}

TEST_CASE("lengths that are taken behind the mean are all equal") {
  for (const char* const sync : {"buckets", "at_end"})
    passes(2, {"lengths", sync, "1", "1", "noise_after_mean"});
}

TEST_CASE("noise of a linear model is that of its samples, within the spread of the estimate") {
  passes(2, {"linear", "buckets"});
  passes(4, {"linear", "at_end"});
}

TEST_CASE("a step whose gradient is not finite has no lengths, and the next one has") {
  for (const char* const sync : {"buckets", "at_end"}) passes(2, {"overflow", sync});
}

TEST_CASE("a probe behind what sends gradients is refused") {
  for (const char* const sync : {"buckets", "per_parameter", "reducer"}) passes(2, {"late", sync});
}

TEST_CASE("a process alone measures nothing") {
  Config config;
  config.train.noise_every = 1;
  FusedModel model(kOddVit, FusionConfig{});
  Comm alone;
  NoiseProbe probe(model.parameters, alone, config);
  probe.begin(0);
  CHECK_FALSE(probe.squares(GradScaler(AmpConfig{.mode = AmpMode::none}, at::kCPU)).is_known());
}

}  // namespace isobar::test_gradient_noise
