// Communication beside a backward pass over an emulated link, against the bucket model (formula/overlap.h).
#include <algorithm>
#include <cmath>
#include <map>

#include "core/clock.h"
#include "core/waiting.h"
#include "formula/link.h"
#include "formula/overlap.h"
#include "support/event_clock.h"
#include "support/rank_scenarios.h"
#include "train/sync_world.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

constexpr int kLayers = 8;
constexpr std::int64_t kValues = 262144;  // 1 MiB each: a bucket
constexpr int kSteps = 4;

/// A backward pass that reaches a gradient every 24 ms and computes nothing meanwhile.
class SlowBackward {
 public:
  SlowBackward() {
    for (int i = 0; i < kLayers; ++i) {
      weights_.push_back(
          parameters.add({.name = fmt::format("w{}", i), .full_shape = {kValues}, .init = Init::ones}));
    }
    parameters.materialise(1, at::kCPU);
    for (const at::Tensor& weight : weights_) {
      weight.register_hook([this](const at::Tensor& gradient) {
        ready_us.push_back(static_cast<double>(steady_us()));
        return gradient;
      });
    }
  }
  at::Tensor loss() {
    ready_us.clear();
    at::Tensor sum = weights_[0].mean();
    for (int i = 0; i < kLayers; ++i) {
      if (i > 0) sum = sum + weights_[static_cast<std::size_t>(i)].mean();
      sum.register_hook([](const at::Tensor& gradient) {
        sleep_us(24'000);
        return gradient;
      });
    }
    return sum;
  }
  Parameters parameters;
  std::vector<double> ready_us;  ///< when each gradient of the last pass was there

 private:
  std::vector<at::Tensor> weights_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Exposed {
  double measured_us;
  double predicted_us;
};

/// Medians over the steps that are as they stay: not the first, with one bucket, nor the second.
Exposed exposed_of(const CommConfig& config, Comm& comm, const Link& link) {
  SlowBackward model;
  const auto sync = make_gradient_sync(model.parameters, comm, config);
  const double bytes = kValues * 4.0;
  std::vector<double> measured, predicted;
  for (int step = 0; step < kSteps; ++step) {
    model.parameters.zero_gradients();
    sync->begin();
    const at::Tensor loss = model.loss();
    comm.barrier("step");
    const auto begin_us = static_cast<double>(steady_us());
    sync->backward(loss);
    const double backward_us = static_cast<double>(steady_us()) - begin_us;
    sync->finish();
    if (step < 2) continue;
    measured.push_back(static_cast<double>(steady_us()) - begin_us - backward_us);
    std::vector<BucketTime> buckets;
    if (config.sync == SyncKind::at_end) {
      buckets = {{backward_us, ring_all_reduce_us(link, comm.size(), bytes * kLayers)}};
    } else if (config.bucket_order == BucketOrder::forward) {
      buckets.assign(kLayers, {backward_us, ring_all_reduce_us(link, comm.size(), bytes)});
    } else {
      for (const double ready : model.ready_us)
        buckets.push_back({ready - begin_us, ring_all_reduce_us(link, comm.size(), bytes)});
    }
    predicted.push_back(exposed_us({.backward_us = backward_us}, buckets));
  }
  return {median(measured), median(predicted)};
}

/// overlap BACKEND LATENCY_US GBIT_PER_S
int run_overlap(const Words& words) {
  const EventClock clock(2);  // the loop and the thread that moves its buckets; alike on all ranks
  CommConfig config = small_buckets(words.at(0), "buckets");
  config.bucket_mb = config.first_bucket_mb = 1;
  config.link = {std::stod(words.at(1)), std::stod(words.at(2))};
  const Link link = link_of(config.link.latency_us, config.link.gbit_per_s);
  Comm comm = joined(config);
  std::map<std::string, Exposed> seen;
  for (const SyncKind sync : {SyncKind::buckets, SyncKind::at_end}) {
    config.sync = sync;
    seen.emplace(name_of(sync), exposed_of(config, comm, link));
  }
  config.sync = SyncKind::buckets;
  for (const BucketOrder order : {BucketOrder::reverse, BucketOrder::forward}) {
    config.bucket_order = order;
    seen.emplace(name_of(order), exposed_of(config, comm, link));
  }
  Findings findings;
  for (const auto& [sync, exposed] : seen) {
    findings.check(std::fabs(exposed.measured_us - exposed.predicted_us) <= 20,
                   fmt::format("{}: {:.0f} us exposed, {:.0f} predicted", sync, exposed.measured_us,
                               exposed.predicted_us));
  }
  const double gain = seen.at("at_end").measured_us - seen.at("buckets").measured_us;
  const double wanted = seen.at("at_end").predicted_us - seen.at("buckets").predicted_us;
  findings.check(wanted > 0 && std::fabs(gain - wanted) <= 40,
                 fmt::format("overlap gains {:.0f} us, predicted {:.0f}", gain, wanted));
  return findings.count();
}

const AddScenario add_overlap{"overlap", run_overlap};

}  // namespace
