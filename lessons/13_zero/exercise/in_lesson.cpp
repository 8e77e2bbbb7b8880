// ./isobar run 13_zero --mine: the learner's map decides what of each bucket a rank owns, and which part of
// which parameter that is. The learner's gradient_length is the length that is recorded, and by which
// optim.clip_norm shortens. When buckets leave, and when weights come, is the engine's.
#include <string>
#include <vector>

#include "13_zero/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "model/owner_map.h"
#include "run/run_plan.h"
#include "train/shared_norm.h"

using namespace isobar;

namespace {

const exercise::Part& part() { return own_part_as<exercise::Part>(); }

/// The group, for sums of numbers. Gradients and weights travel by the engine.
class SumsOfGroup final : public exercise::ShareRanks {
 public:
  /// `sums`: what travels with the number, which is its first.
  SumsOfGroup(Comm& group, const at::Tensor& sums) : group_(group), sums_(sums) {}

  int rank() const override { return group_.rank(); }
  int count() const override { return group_.size(); }
  double sum(double value) override {
    sums_[0].fill_(value);
    group_.all_reduce(sums_, Reduce::sum, "gradient norm").wait();
    return sums_[0].item<double>();
  }
  void reduce_scatter(std::span<const float>, std::span<float>) override { refuse("reduce_scatter()"); }
  void all_gather(std::span<const float>, std::span<float>) override { refuse("all_gather()"); }

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    throw Error("gradient_length() asks for " + what, "my/13_owner_map.cpp", "sum() is all that it takes",
                Exit::failed);
  }

  Comm& group_;
  at::Tensor sums_;
};

const PluggedIn length(seams::owned_length, [](std::int64_t content, std::int64_t parts) {
  const int ranks = static_cast<int>(parts);
  return part().share_of(part().padded_length(content, ranks), ranks, 0).count;
});

/// What stands before the parameter, the parameter, and the rest of the bucket, as three parameters.
const PluggedIn stretch(seams::owned_stretch, [](const BucketStretch& of, std::int64_t owned,
                                                 std::int64_t parts, std::int64_t rank) {
  const std::int64_t rest = parts * owned - of.begin - of.count;
  if (rest < 0) return owned_stretch(of, owned, parts, rank);  // run.fault = no_pad
  const std::vector<std::int64_t> sizes = {of.begin, of.count, rest};
  for (const exercise::OwnedPart& own :
       part().owned_parts(sizes, static_cast<int>(parts), static_cast<int>(rank)))
    if (own.parameter == 1)
      return OwnStretch{.in_parameter = own.values.begin, .in_own = own.in_share, .count = own.values.count};
  return OwnStretch{};
});

const PluggedIn norm(seams::add_up_shares,
                     [](const Parameters& parameters, const at::Tensor& sums, Comm& group) {
                       std::vector<std::vector<float>> shares;
                       for (const OwnPiece& piece : parameters.own()) {
                         const at::Tensor host = piece.gradients.cpu().contiguous();
                         const float* const first = host.const_data_ptr<float>();
                         shares.emplace_back(first, first + host.numel());
                       }
                       SumsOfGroup ranks(group, sums);
                       const double all = part().gradient_length(shares, ranks);
                       sums[0].fill_(all * all);
                     });

const PluggedIn check(seams::check_run, [](const Config& config, c10::Device) {
  if (config.mesh.zero == 0)
    throw Error("your map has nothing to do: each rank keeps all states", "mesh.zero = 0",
                "--set mesh.zero=1, 2 or 3");
});

}  // namespace
