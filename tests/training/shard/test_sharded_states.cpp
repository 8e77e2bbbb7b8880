// States that are shared out, in one process.
#include <ATen/ops/concat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include "faults/parameter_fault.h"
#include "model/elastic_tensor.h"
#include "shard/bucket_runs.h"
#include "shard/shard_world.h"
#include "support/catch.h"
#include "support/errors.h"
#include "train/weights.h"

namespace isobar::test_sharded_states {

using namespace isobar::testing;

namespace {

SharedLayout layout_of(std::int64_t parts, std::int64_t part, std::vector<std::vector<std::size_t>> buckets) {
  return {.buckets = std::move(buckets), .parts = parts, .part = part};
}

}  // namespace

TEST_CASE("memory goes and comes, and views of a tensor see it") {
  ElasticTensor tensor(6, at::TensorOptions(at::kFloat));
  CHECK_FALSE(tensor.has_memory());
  const at::Tensor early = tensor.tensor().narrow(0, 2, 2);
  for (const float value : {3.0F, 4.0F}) {
    tensor.take();
    at::Tensor(tensor.tensor()).fill_(value);
    CHECK(at::equal(early, at::full({2}, value)));
    CHECK(at::equal(tensor.tensor().view({2, 3})[1], at::full({3}, value)));
    const void* const place = tensor.tensor().const_data_ptr();
    tensor.take();  // is there
    CHECK(tensor.tensor().const_data_ptr() == place);
    tensor.release();
    CHECK_FALSE(tensor.has_memory());
    tensor.release();
  }
}

TEST_CASE("runs of units are closed once they are large enough, from the last one on") {
  using Runs = std::vector<std::vector<std::size_t>>;
  CHECK(bucket_runs({5, 1, 1, 9}, 0) == Runs{{3}, {2}, {1}, {0}});
  CHECK(bucket_runs({5, 1, 1, 9}, 2) == Runs{{3}, {1, 2}, {0}});
  CHECK(bucket_runs({5, 1, 1, 9}, 10) == Runs{{2, 3}, {0, 1}});
  CHECK(bucket_runs({5, 1, 1, 9}, 100) == Runs{{0, 1, 2, 3}});
  CHECK(bucket_runs({}, 3).empty());
}

TEST_CASE("each value is one rank's own, whatever the number of ranks, and padding is at the end") {
  const PlainModel whole(kSharedVit);
  for (const std::int64_t parts : {1, 2, 3, 7}) {
    std::vector<std::int64_t> owners(whole.parameters.all().size());
    for (std::int64_t part = 0; part < parts; ++part) {
      Parameters parameters;
      const Vit vit(parameters, kSharedVit);
      std::vector<std::vector<std::size_t>> buckets(2);
      for (std::size_t leaf = 0; leaf < parameters.leaves().size(); ++leaf) buckets[leaf > 9].push_back(leaf);
      parameters.share_out(layout_of(parts, part, buckets));
      parameters.materialise(3, at::kCPU);
      for (const ParameterBucket& bucket : parameters.buckets()) {
        CHECK(bucket.count == parts * bucket.part);
        CHECK(bucket.part % kAlignedFloats == 0);
        CHECK(bucket.begin % kAlignedFloats == 0);
      }
      for (std::size_t i = 0; i < owners.size(); ++i) {
        const Parameter& one = parameters.all()[i];
        const OwnStretch own = parameters.own_stretch(one);
        owners[i] += own.count;
        const at::Tensor expected = whole.parameters.all()[i].tensor.detach().view(-1);
        CHECK(at::equal(one.tensor.detach().view(-1), expected));
        CHECK(at::equal(parameters.own_values(one), expected.narrow(0, own.in_parameter, own.count)));
      }
    }
    for (std::size_t i = 0; i < owners.size(); ++i)
      CHECK(owners[i] == whole.parameters.all()[i].tensor.numel());
  }
}

TEST_CASE("a layout that is none is refused") {
  const auto refused = [](std::int64_t parts, std::int64_t part,
                          std::vector<std::vector<std::size_t>> buckets) {
    return failure_of([&] {
      Parameters parameters;
      parameters.add({.name = "a", .full_shape = {3}});
      parameters.add({.name = "b", .full_shape = {4}});
      parameters.share_out(layout_of(parts, part, std::move(buckets)));
    });
  };
  for (const std::string& error : {refused(2, 2, {{1}, {0}}), refused(2, 0, {{1}}),
                                   refused(2, 0, {{0, 1}, {1}}), refused(2, 0, {{0, 2}})})
    CHECK_THAT(error, Says("each leaf is in one bucket"));
}

TEST_CASE("what is not here in full is refused where all of it is asked for") {
  Comm alone;
  Config config = ShardSetting({"zero=3"}).config;
  SharedModel model(kSharedVit, config.fusion, alone, config);
  CHECK_THAT(failure_of([&] { model.parameters.values(); }), Says("not here in full"));
  CHECK_THAT(failure_of([&] { model.parameters.gradients(); }), Says("not here in full"));
  CHECK_THAT(failure_of([&] { model.parameters.lay_out_again({}); }), Says("keep their places"));
  CHECK_THAT(failure_of([&] { save_weights(model.parameters, "nowhere"); }), Says("all of them take part"));
  CHECK_THAT(failure_of([&] { model.parameters.share_out({}); }), Says("once"));

  Parameters parameters;
  const FusedVit unwatched(parameters, kSharedVit, config.fusion, AttentionKind::automatic);
  const ShardedStates states(parameters, alone, config);
  parameters.materialise(3, at::kCPU);
  const at::Tensor image = made_up_fields(kSharedVit, 1, 3);
  CHECK_THAT(failure_of([&] { unwatched(image); }), Says("nobody is asked"));
}

TEST_CASE("ways to average that shares have not are refused") {
  Comm alone;
  Config config = ShardSetting({"zero=1"}).config;
  config.comm.sync = SyncKind::reducer;
  Parameters parameters;
  const Vit vit(parameters, kSharedVit);
  CHECK_THAT(error_of([&] { ShardedStates(parameters, alone, config); }), Says("comm.sync = reducer"));
}

TEST_CASE("mistakes in values strike what a process updates") {
  Comm alone;
  for (const std::string zero : {"zero=1", "zero=3"}) {
    INFO(zero);
    const Config config = ShardSetting({zero}).config;
    SharedModel model(kSharedVit, config.fusion, alone, config);
    Parameters& parameters = model.parameters;
    const auto all = [&](at::Tensor OwnPiece::*of) {
      std::vector<at::Tensor> pieces;
      for (const OwnPiece& piece : parameters.own()) pieces.push_back(piece.*of);
      return at::concat(pieces);
    };
    const at::Tensor first = all(&OwnPiece::values);
    const auto changed = [&] { return all(&OwnPiece::values).ne(first).sum().item<std::int64_t>(); };
    flip_bit_of_weight({.fault = Fault::flip_bit, .step = 3, .rank = 0, .own_rank = 0}, parameters, 3);
    CHECK(changed() == 1);
    plant_in_weights({.fault = Fault::nan_weight, .step = 3}, parameters, 3);
    CHECK(all(&OwnPiece::values).isnan().sum().item<std::int64_t>() == 1);
    plant_in_gradients({.fault = Fault::nan_gradient, .step = 3}, parameters, 3, 1);
    CHECK(all(&OwnPiece::gradients).isnan().sum().item<std::int64_t>() == 1);
    spoil({.fault = Fault::no_broadcast}, parameters, 1);
    CHECK(changed() > count_of(parameters) / 2);
    round_weights({.fault = Fault::all_half}, parameters, at::kBFloat16);
    const at::Tensor values = all(&OwnPiece::values);
    CHECK(at::equal(values, values.to(at::kBFloat16).to(at::kFloat)));
    CHECK_THAT(error_of([&] { spoil({.fault = Fault::nan_in_padding}, parameters, 0); }),
               Says("one buffer of all gradients"));
  }
}

TEST_CASE("a gradient that never came is named, and one step is finished once") {
  Comm alone;
  const Config config = ShardSetting({"zero=1"}).config;
  SharedModel model(kSharedVit, config.fusion, alone, config);
  const at::Tensor unused = model.parameters.find("head.weight").tensor;
  model.states.zero_gradients();
  model.states.begin();
  CHECK_THAT(failure_of([&] {
               model.states.backward(unused.sum());
               model.states.finish();
             }),
             Says("gradients were not computed"));
  CHECK_THAT(failure_of([&] { model.states.finish(); }), Says("no such pass was announced"));
}

}  // namespace isobar::test_sharded_states
