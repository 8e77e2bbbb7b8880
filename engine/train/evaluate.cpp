#include "train/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "train/loss.h"
#include "train/metrics.h"

namespace isobar {
namespace {

std::vector<double> as_vector(const at::Tensor& sums, double count) {
  const at::Tensor means = (sums / count).to(at::kCPU).contiguous();
  const double* const begin = means.const_data_ptr<double>();
  return {begin, begin + means.numel()};
}

}  // namespace

Evaluation evaluate(const std::function<at::Tensor(const at::Tensor&)>& forecast, const Dataset& dataset,
                    std::int64_t batch_size, c10::Device device,
                    const std::function<void(std::int64_t, std::int64_t)>& on_progress) {
  const at::NoGradGuard no_grad;
  InlineLoader loader(dataset, Sampler(dataset.size(), /*shuffle=*/false, /*seed=*/0), batch_size);
  const at::Tensor weights = latitude_weights(dataset.height()).to(device);
  const auto on_device = at::TensorOptions(at::kDouble).device(device);
  at::Tensor loss = at::zeros({}, on_device);
  at::Tensor rmse = at::zeros({dataset.channels()}, on_device);
  at::Tensor persistence = at::zeros({dataset.channels()}, on_device);
  const std::int64_t batches = loader.steps_per_epoch();
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = loader.next().to(device);
    const at::Tensor prediction = forecast(batch.input);
    loss += relative_l2(prediction, batch.target).to(at::kDouble);
    rmse += weighted_rmse(prediction, batch.target, weights).to(at::kDouble).mean(0);
    persistence += weighted_rmse(batch.input, batch.target, weights).to(at::kDouble).mean(0);
    if (on_progress) on_progress((i + 1) * batch_size, batches * batch_size);
  }
  const auto count = static_cast<double>(batches);
  Evaluation result;
  result.samples = batches * batch_size;
  result.loss = loss.item<double>() / count;
  result.rmse = as_vector(rmse, count);
  result.persistence_rmse = as_vector(persistence, count);
  result.channel_names = dataset.channel_names();
  return result;
}

}  // namespace isobar
