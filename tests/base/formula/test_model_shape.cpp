#include "formula/model_shape.h"
#include "support/catch.h"

using namespace isobar;

TEST_CASE("operations of a sample are those of all its forecasts") {
  Config config;
  const VitShape shape = vit_shape(config);
  const ForwardFlops forward = count_forward_flops(shape);
  CHECK(sample_flops(config) == Approx(training_flops(shape)));
  CHECK(attention_flops(config) == Approx(3 * forward.attention));
  config.train.rollout = 3;  // the second and third have the gradient of what the patches see
  CHECK(sample_flops(config) == Approx(9 * forward.total() - forward.patch));
  config.mesh.members_per_device = 2;
  CHECK(forecasts_of_sample(config) == 6);
  CHECK(sample_flops(config) == Approx(2 * (9 * forward.total() - forward.patch)));
  CHECK(attention_flops(config) == Approx(18 * forward.attention));
}
