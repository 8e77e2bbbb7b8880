#include <ATen/ops/equal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/files.h"
#include "fields/safetensors.h"
#include "model/vit.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "train/weights.h"

namespace isobar::test_weights {

namespace {

struct Model {
  explicit Model(std::int64_t embed = 24, std::int64_t seed = 1, bool batch_norm = false)
      : vit(parameters, {.height = 8,
                         .width = 16,
                         .channels = 2,
                         .patch = 4,
                         .embed = embed,
                         .depth = 1,
                         .heads = 2,
                         .batch_norm = batch_norm,
                         .buffers_mb = batch_norm ? 0.01 : 0}) {
    parameters.materialise(seed, at::kCPU);
  }
  Parameters parameters;
  Vit vit;
};

}  // namespace

TEST_CASE("weights come back bit for bit, into the same views") {
  const TempFolder folder;
  const Model saved(24, 1);
  save_weights(saved.parameters, folder / "w.safetensors");
  Model loaded(24, 2);
  CHECK_FALSE(at::equal(saved.parameters.values(), loaded.parameters.values()));
  load_weights(loaded.parameters, folder / "w.safetensors");
  CHECK(at::equal(saved.parameters.values(), loaded.parameters.values()));
}

TEST_CASE("buffers that change in training are in the file, constant ones are not") {
  const TempFolder folder;
  const Model saved(24, 1, /*batch_norm=*/true);
  for (const Buffer& buffer : saved.parameters.buffers()) at::Tensor(buffer.tensor).add_(2);
  save_weights(saved.parameters, folder / "w.safetensors");
  std::vector<std::string> running;
  for (const TensorInFile& tensor : open_safetensors(folder / "w.safetensors").tensors) {
    if (tensor.name.find("norm.running_") == 0) running.push_back(tensor.name);
    CHECK(tensor.name.find("constants") == std::string::npos);
  }
  std::sort(running.begin(), running.end());
  CHECK(running == std::vector<std::string>{"norm.running_mean", "norm.running_var"});
  Model loaded(24, 2, /*batch_norm=*/true);
  load_weights(loaded.parameters, folder / "w.safetensors");
  for (const Buffer& buffer : loaded.parameters.buffers())
    CHECK(buffer.tensor.eq(buffer.fill + (buffer.saved ? 2 : 0)).all().item<bool>());
  Model layer_norms;
  CHECK_THAT(error_of([&] { load_weights(layer_norms.parameters, folder / "w.safetensors"); }),
             says("that the model lacks") && says("running_"));
  save_weights(layer_norms.parameters, folder / "layer.safetensors");
  CHECK_THAT(error_of([&] { load_weights(loaded.parameters, folder / "layer.safetensors"); }),
             says("missing") && says("running_mean"));
}

TEST_CASE("weights of another model are refused, and nothing is changed") {
  const TempFolder folder;
  const Model small(24);
  save_weights(small.parameters, folder / "small.safetensors");
  Model wide(48);
  const at::Tensor before = wide.parameters.values().clone();
  CHECK_THAT(error_of([&] { load_weights(wide.parameters, folder / "small.safetensors"); }),
             says("[1, 8, 24]") && says("[1, 8, 48]") && says("pos_embed"));
  CHECK(at::equal(before, wide.parameters.values()));

  Parameters other;
  other.add({.name = "pos_embed", .full_shape = {1, 8, 24}});
  other.materialise(1, at::kCPU);
  CHECK_THAT(error_of([&] { load_weights(other, folder / "small.safetensors"); }),
             says("that the model lacks"));
  save_weights(other, folder / "other.safetensors");
  Model same(24);
  CHECK_THAT(error_of([&] { load_weights(same.parameters, folder / "other.safetensors"); }),
             says("missing") && says("patch_embed.proj.weight"));
}

TEST_CASE("a file that is no safetensors file is refused") {
  const TempFolder folder;
  Model model;
  write_file_whole(folder / "w.pt", "PK\x03\x04 this is a zip of pickles, as torch.save writes them");
  CHECK_THAT(error_of([&] { load_weights(model.parameters, folder / "w.pt"); }),
             says("not a safetensors file") && says("w.pt") && says("safetensors.torch.save_file"));
}

}  // namespace isobar::test_weights
