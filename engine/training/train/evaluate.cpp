#include "train/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "train/crps.h"
#include "train/loss.h"
#include "train/metrics.h"

namespace isobar {
namespace {

constexpr std::int64_t kRows = 6;  // rmse, persistence, climatology, acc, crps, spread

/// Where members differ: the ensemble variance of each value times (M + 1) / M, [B, C, H, W].
at::Tensor spread_squares(const at::Tensor& members) {
  const auto m = static_cast<double>(members.size(0));
  return members.var(at::IntArrayRef{0}, /*unbiased=*/true).mul_((m + 1) / m);
}

/// The forecast that is scored, [B, C, H, W], of [M, B, C, H, W].
at::Tensor mean_of(const at::Tensor& members) { return members.size(0) == 1 ? members[0] : members.mean(0); }

/// Sums over batches, in double precision on the device: nothing is fetched before the end.
class Sums {
 public:
  Sums(const Dataset& dataset, c10::Device device)
      : weights_(latitude_weights(dataset.shape().whole().height).to(device)),
        loss_(at::zeros({}, at::TensorOptions(at::kDouble).device(device))),
        scores_(at::zeros({kRows, dataset.shape().channels}, loss_.options())),
        later_(at::zeros({dataset.leads() - 1, 2}, loss_.options())) {
    if (dataset.climatology().values.empty()) return;
    std::vector<float> values = dataset.climatology().values;
    const FieldShape shape = dataset.shape().whole();
    climatology_ = at::from_blob(values.data(), {1, shape.channels, shape.height, shape.width}, at::kFloat)
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

  /// Beside `add` of the mean of `members` [M, B, C, H, W], with their spread_squares.
  void add_members(const Batch& batch, const at::Tensor& members, const at::Tensor& squares) {
    const at::Tensor w = weights_.view({-1, 1});
    const at::Tensor crps = crps_of_values(members, batch.target, crps_weights(members.size(0), /*alpha=*/1));
    add(4, (crps * w).mean({2, 3}));
    add(5, (squares * w).mean({2, 3}).sqrt());
  }

  /// The forecast behind `lead` others: its first channel.
  void add_later(const Batch& batch, const at::Tensor& prediction, std::int64_t lead) {
    const at::Tensor target = batch.later[lead - 1];
    const auto first_channel = [&](const at::Tensor& fields) {
      return weighted_rmse(fields.narrow(1, 0, 1), target.narrow(1, 0, 1), weights_).to(at::kDouble).mean();
    };
    later_[lead - 1] += at::stack({first_channel(prediction), first_channel(batch.input)});
  }

  void finish(Evaluation& out, const std::vector<std::string>& names) const {
    const auto count = static_cast<double>(batches_);
    const at::Tensor means = (scores_ / count).to(at::kCPU).contiguous();
    const double* const values = means.const_data_ptr<double>();
    out.loss = loss_.item<double>() / count;
    out.has_climatology = climatology_.defined();
    for (std::size_t c = 0; c < names.size(); ++c) {
      const auto score = [&](std::size_t row) { return values[row * names.size() + c]; };
      out.channels.push_back({names[c], score(0), score(1), score(2), score(3), score(4), score(5)});
    }
    const at::Tensor later = (later_ / count).to(at::kCPU).contiguous();
    for (std::int64_t lead = 0; lead < later.size(0); ++lead)
      out.later.push_back({later[lead][0].item<double>(), later[lead][1].item<double>()});
  }

 private:
  /// [B, C] scores of one batch: their mean over the batch joins row `row`.
  void add(std::int64_t row, const at::Tensor& scores) { scores_[row] += scores.to(at::kDouble).mean(0); }

  at::Tensor weights_;
  at::Tensor climatology_;
  at::Tensor loss_;
  at::Tensor scores_;  ///< [kRows, C]
  at::Tensor later_;   ///< [R - 1, 2]
  std::int64_t batches_ = 0;
};

}  // namespace

Evaluation evaluate(const std::function<at::Tensor(const at::Tensor&)>& forecast, const Dataset& dataset,
                    Loader& loader, c10::Device device,
                    const std::function<bool(std::int64_t, std::int64_t)>& go_on) {
  const auto alone = [&](const Batch& batch) {
    return std::vector<at::Tensor>{forecast(batch.input).unsqueeze(0)};
  };
  return evaluate(alone, dataset, loader, device, go_on);
}

Evaluation evaluate(const std::function<std::vector<at::Tensor>(const Batch&)>& forecasts,
                    const Dataset& dataset, Loader& loader, c10::Device device,
                    const std::function<bool(std::int64_t, std::int64_t)>& go_on) {
  const at::NoGradGuard no_grad;
  loader.seek(0);
  Sums sums(dataset, device);
  Evaluation result;
  const std::int64_t batches = loader.steps_per_epoch();
  const std::int64_t batch_size = loader.batch_size();
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = loader.next().to(device);
    const std::vector<at::Tensor> leads = forecasts(batch);
    const at::Tensor members = leads.front().to(at::kFloat);  // under autocast they have 16 bits
    result.members = members.size(0);
    const at::Tensor prediction = mean_of(members);
    std::vector<at::Tensor> fields = {batch.input[0], batch.target[0], prediction[0]};
    sums.add(batch, prediction);
    if (result.members > 1) {
      const at::Tensor squares = spread_squares(members);
      sums.add_members(batch, members, squares);
      if (i == 0) fields.push_back(squares[0].sqrt());
    }
    for (std::int64_t lead = 1; lead < std::ssize(leads); ++lead)
      sums.add_later(batch, mean_of(leads[static_cast<std::size_t>(lead)]), lead);
    if (i == 0) result.fields = at::stack(fields).to(at::kCPU);
    if (go_on && !go_on((i + 1) * batch_size, batches * batch_size)) return {};
  }
  result.complete = true;
  result.samples = batches * batch_size;
  sums.finish(result, dataset.channel_names());
  return result;
}

}  // namespace isobar
