#pragma once
// Adam over all that this process updates at once, with the length of the gradient and the search for
// overflow in front of it, and everything that changes from step to step in memory of the device: nobody
// waits, and a captured graph replays with new values. Each part can be had unfused, to compare.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "fused/operations.h"
#include "model/parameters.h"
#include "model/tensor_parallel.h"
#include "train/adam.h"
#include "train/grad_scaler.h"
#include "train/optimizer.h"

namespace isobar {

class FusedAdam : public Optimizer {
 public:
  /// Updates `parameters` (materialised, and outliving this), with beta1, beta2, eps and kernel of `config`
  /// (own: kernels/adam.h over the flat buffers; libtorch: its _fused_adam_ over lists of tensors).
  /// fusion.adam = false: plain operations (train/adam.h). fusion.grad_norm = false: a norm a tensor, fetched
  /// by the host.
  /// `ranks` share the model: the length of the gradient is that of the whole one, and all of them skip a
  /// step or none does. So it is where ranks share the parameters out (Parameters::share_out), each of which
  /// updates its own part and has moments for that.
  /// optim.clip_norm: a gradient that is longer is multiplied by clip_norm / (length + 1e-6), as by PyTorch's
  /// clip_grad_norm_, within the update; no more than that is done, and nobody waits.
  FusedAdam(Parameters& parameters, const OptimConfig& config, const FusionConfig& fusion,
            const TensorParallel& ranks = {});
  FusedAdam(const FusedAdam&) = delete;
  FusedAdam& operator=(const FusedAdam&) = delete;

  /// From now on the length of the gradient is that of the parameters of all `stages`, which have a model
  /// between them (mesh.pp), and all of them skip a step or none does: the update waits for the last one. (Qi
  /// et al. 2024 update at once, and take it back where the length turns out to ask for it.) It outlives
  /// this.
  void unite_over(Comm& stages);

  /// set_learning_rate, then update.
  at::Tensor step(double learning_rate, GradScaler& scaler);

  /// Sets the rate of the updates from now on. Outside a captured graph: it is what changes between replays.
  void set_learning_rate(double learning_rate);

  /// One update with the gradients that are there, which hold the loss scale of `scaler` (train/adam.h has
  /// the formula), then scaler.update(). A gradient that is not finite never reaches weights or moments:
  /// the update is skipped and t stays. Gives the length of the gradient without the loss scale, a float64
  /// scalar on the device; not finite where the gradient is not. After it the gradients may or may not be
  /// divided by the scale.
  at::Tensor update(GradScaler& scaler);

  /// Why `update` cannot be part of a captured graph: the host takes part. "" when it can.
  virtual std::string why_not_captured() const;

  /// Parameters::layout_version of what it updates: a recorded step keeps places.
  std::int64_t layout_version() const { return parameters_.layout_version(); }

  std::int64_t steps() const override;  ///< waits for the device
  void set_steps(std::int64_t steps) override;
  std::vector<NamedTensor> moments() const override;

 protected:
  /// For optimisers that take its length, clip_norm and skipping and update in another way: it keeps no
  /// moments.
  enum class Moments { none, own };
  FusedAdam(Parameters& parameters, const OptimConfig& config, const FusionConfig& fusion,
            const TensorParallel& ranks, Moments moments);
  /// The update, behind the length; where control_[kSkip] is not 0 it changes nothing.
  virtual void apply(GradScaler& scaler);

  // Places in the control block.
  static constexpr std::int64_t kLearningRate = 0, kSteps = 1, kInverseScale = 2, kSkip = 3;

  Parameters& parameters_;
  OptimConfig config_;
  at::Tensor control_;  ///< the fields of AdamControl
  double learning_rate_ = 0;

 private:
  void apply_plain(const at::Tensor& length, bool scales);
  void cut_all();
  /// Sums of squares and counts of values that are not finite, of this rank's gradients, become those of the
  /// whole model.
  void unite_norm();
  bool has_all_alone() const;
  /// The sum of squares of the gradients that every rank of a model has whole, a float64 scalar.
  at::Tensor whole_squares() const;
  void measure_own();
  /// Puts what shortens the gradient, of this length without the loss scale, beside the loss scale.
  void clip(const at::Tensor& length);
  at::Tensor fused_norm(GradScaler& scaler);
  at::Tensor plain_norm(GradScaler& scaler);
  void update_with_libtorch(GradScaler& scaler);

  TensorParallel ranks_;
  Comm* stages_ = nullptr;  ///< null = this process and `ranks_` have all of the model
  bool fuses_norm_;
  std::unique_ptr<Adam> plain_;  ///< with fusion.adam = false
  at::Tensor mean_, square_;     ///< m and v, as long as what is updated; without plain_
  GradientNormPlace norm_, more_norm_;
  at::Tensor own_squares_;  ///< this rank's share alone, where a mistake on purpose wants it
  /// Views for lists of tensors, made once a layout, one a parameter: weights, gradients, m, v.
  std::vector<at::Tensor> weights_, gradients_, means_, squares_;
  std::vector<at::Tensor> whole_;  ///< gradients that every rank of a model has whole
  std::int64_t layout_version_ = 0;
};

}  // namespace isobar
