// A loader of one's own behind the engine's interface, and the plain transformer trained on it for some
// steps. It turns each sample around the globe by a random number of columns, an augmentation that the engine
// has not: weather does not change when longitudes are counted from elsewhere.
//   own_loader DATA    a data set of a grid of 24 x 48: ./isobar data make --grid 24x48 --samples 32 --out
//   DATA
#include <ATen/ops/empty.h>
#include <ATen/ops/roll.h>

#include <cstdio>
#include <random>

#include "core/error.h"
#include "data/loader.h"
#include "model/vit.h"
#include "train/adam.h"
#include "train/loss.h"

using namespace isobar;

namespace {

class TurningLoader final : public Loader {
 public:
  TurningLoader(const Dataset& dataset, const Sampler& sampler, std::int64_t batch_size)
      : Loader(BatchOrder(sampler, batch_size), dataset), dataset_(dataset) {}

  std::string text() const override { return "turning: each sample is rolled along its longitudes"; }

 private:
  LoaderCounts reading_counts() const override { return {}; }  // this loader counts nothing

  /// The batch must depend on `position` alone: a resumed run asks for the same ones again.
  Batch load(std::int64_t position) override {
    const at::Tensor both = at::empty(batch_shape(dataset_, batch_size()), at::kFloat);  // [2, B, C, H, W]
    std::mt19937_64 random(static_cast<std::uint64_t>(position));
    std::int64_t row = 0;
    for (const std::int64_t sample : order().samples(position)) {
      const auto values = [&](std::int64_t half) -> std::span<float> {
        at::Tensor field = both[half][row];
        return {field.mutable_data_ptr<float>(), static_cast<std::size_t>(field.numel())};
      };
      dataset_.read_sample(sample, values(0), values(1));
      const auto columns = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(both.size(-1)));
      for (const std::int64_t half : {0, 1}) both[half][row].copy_(at::roll(both[half][row], columns, -1));
      ++row;
    }
    return as_batch(position, both);
  }

  const Dataset& dataset_;
};

int train(const char* data_folder) {
  Config config;
  config.data.grid = {24, 48};
  const Dataset dataset(config.data, data_folder, "train", /*limit=*/0);
  const Sampler sampler(dataset.size(), /*shuffle=*/true, /*seed=*/1);
  TurningLoader loader(dataset, sampler, /*batch_size=*/4);

  Parameters parameters;
  const Vit model(
      parameters,
      {.height = 24, .width = 48, .channels = 20, .patch = 8, .embed = 32, .depth = 2, .heads = 4});
  parameters.materialise(/*seed=*/1, at::kCPU);
  Adam adam(parameters, config.optim);
  std::printf("%s\n", loader.text().c_str());
  for (int step = 0; step < 27; ++step) {
    const Batch batch = loader.next();
    parameters.zero_gradients();
    const at::Tensor loss = relative_l2(model(batch.input), batch.target);
    loss.backward();
    adam.step(/*learning_rate=*/3e-3);
    if (step % 13 == 0) std::printf("step %2d  loss %.4f\n", step, loss.item<double>());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("own_loader", [&] {
    if (argc != 2) throw Error("own_loader takes one folder", "command line", "own_loader DATA");
    return train(argv[1]);
  });
}
