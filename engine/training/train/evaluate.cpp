#include "train/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "train/loss.h"
#include "train/metrics.h"

namespace isobar {
namespace {

/// Sums over batches, in double precision on the device: nothing is fetched before the end.
class Sums {
 public:
  Sums(const Dataset& dataset, c10::Device device)
      : weights_(latitude_weights(dataset.shape().height).to(device)),
        loss_(at::zeros({}, at::TensorOptions(at::kDouble).device(device))),
        scores_(at::zeros({4, dataset.shape().channels}, loss_.options())) {
    if (dataset.climatology().values.empty()) return;
    std::vector<float> values = dataset.climatology().values;
    climatology_ = at::from_blob(values.data(),
                                 {1, dataset.shape().channels, dataset.shape().height, dataset.shape().width},
                                 at::kFloat)
                       .clone()
                       .to(device);
  }

  void add(const Batch& batch, const at::Tensor& prediction) {
    loss_ += relative_l2(prediction, batch.target).to(at::kDouble);
    add(0, weighted_rmse(prediction, batch.target, weights_));
    add(1, weighted_rmse(batch.input, batch.target, weights_));
    if (climatology_.defined()) {
      add(2, weighted_rmse(climatology_, batch.target, weights_));
      add(3, weighted_acc(prediction - climatology_, batch.target - climatology_, weights_));
    }
    ++batches_;
  }

  void finish(Evaluation& out, const std::vector<std::string>& names) const {
    const auto count = static_cast<double>(batches_);
    const at::Tensor means = (scores_ / count).to(at::kCPU).contiguous();
    const double* const values = means.const_data_ptr<double>();
    out.loss = loss_.item<double>() / count;
    out.has_climatology = climatology_.defined();
    for (std::size_t c = 0; c < names.size(); ++c) {
      const double* const at = values + c;
      out.channels.push_back({names[c], at[0], at[names.size()], at[2 * names.size()], at[3 * names.size()]});
    }
  }

 private:
  /// [B, C] scores of one batch: their mean over the batch joins row `row`.
  void add(std::int64_t row, const at::Tensor& scores) { scores_[row] += scores.to(at::kDouble).mean(0); }

  at::Tensor weights_;
  at::Tensor climatology_;
  at::Tensor loss_;
  at::Tensor scores_;  ///< rows: rmse, persistence, climatology, acc
  std::int64_t batches_ = 0;
};

}  // namespace

Evaluation evaluate(const std::function<at::Tensor(const at::Tensor&)>& forecast, const Dataset& dataset,
                    Loader& loader, c10::Device device,
                    const std::function<bool(std::int64_t, std::int64_t)>& go_on) {
  const at::NoGradGuard no_grad;
  loader.seek(0);
  Sums sums(dataset, device);
  Evaluation result;
  const std::int64_t batches = loader.steps_per_epoch();
  const std::int64_t batch_size = loader.batch_size();
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = loader.next().to(device);
    const at::Tensor prediction = forecast(batch.input).to(at::kFloat);  // under autocast it has 16 bits
    sums.add(batch, prediction);
    if (i == 0) result.fields = at::stack({batch.input[0], batch.target[0], prediction[0]}).to(at::kCPU);
    if (go_on && !go_on((i + 1) * batch_size, batches * batch_size)) return {};
  }
  result.complete = true;
  result.samples = batches * batch_size;
  sums.finish(result, dataset.channel_names());
  return result;
}

}  // namespace isobar
