// The emulated CUDA kernels at the shapes that a device is tested with, some of which take several rounds of
// all blocks: in the plain build only, since minutes go by where each access is looked at.
#include "kernels/emulated/emulated_place.h"
#include "support/catch.h"

using namespace isobar;

TEST_CASE("emulated bias and GELU equals its definition") {
  EmulatedPlace place;
  check_all_bias_gelu(place, /*large=*/false);
}

TEST_CASE("emulated residual and norm equals its definition", "[.nightly][nightly]") {
  EmulatedPlace place;
  check_all_residual_norm(place, /*large=*/false);
}

TEST_CASE("emulated head and loss equals its definition", "[.nightly][nightly]") {
  EmulatedPlace place;
  check_all_head_loss(place, /*large=*/false);
}

TEST_CASE("emulated Adam equals its definition, and skips") {
  EmulatedPlace place;
  check_all_adam(place, /*large=*/false);
}

TEST_CASE("emulated gradient norm equals its definition, and counts what is not finite",
          "[.nightly][nightly]") {
  EmulatedPlace place;
  check_all_gradient_norm(place, /*large=*/false);
}

TEST_CASE("emulated count of what is not finite equals its definition") {
  EmulatedPlace place;
  check_all_count_nonfinite(place, /*large=*/false);
}

TEST_CASE("emulated fields equal their definition, raw and packed") {
  EmulatedPlace place;
  check_all_normalise(place, /*large=*/false);
}
