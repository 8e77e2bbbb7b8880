// The CUDA kernels on a processor (emulated/device.h), against their definitions, in either order of threads.
// The programs of three builds are made of this file: emulated/watch.h.
#include "kernels/drawn_shapes.h"
#include "kernels/emulated/emulated_place.h"
#include "support/catch.h"

using namespace isobar;

namespace {

/// The first ones of those 200, which the nightly tests take.
void check_some(DrawnKernel kernel, int shapes) {
  EmulatedPlace place;
  for (int i = 0; i < shapes; ++i) check_drawn(place, kernel, i);
}

}  // namespace

TEST_CASE("emulated kernels equal their definitions at the first of 200 shapes") {
  check_some(DrawnKernel::bias_gelu, 40);
  check_some(DrawnKernel::residual_norm, 40);
  check_some(DrawnKernel::head_loss, 20);
  check_some(DrawnKernel::adam, 40);
  check_some(DrawnKernel::gradient_norm, 4);  // a launch has 1,024 blocks whatever the length
  check_some(DrawnKernel::count_nonfinite, 40);
  check_some(DrawnKernel::normalise, 40);
}

TEST_CASE("emulated bias and GELU equals its definition at 200 shapes", "[.nightly][nightly]") {
  check_some(DrawnKernel::bias_gelu, kDrawnShapes);
}
TEST_CASE("emulated residual and norm equals its definition at 200 shapes", "[.nightly][nightly]") {
  check_some(DrawnKernel::residual_norm, kDrawnShapes);
}
TEST_CASE("emulated head and loss equals its definition at 200 shapes", "[.nightly][nightly]") {
  check_some(DrawnKernel::head_loss, kDrawnShapes);
}
TEST_CASE("emulated Adam equals its definition at 200 shapes", "[.nightly][nightly]") {
  check_some(DrawnKernel::adam, kDrawnShapes);
}
TEST_CASE("emulated gradient norm equals its definition at 200 shapes", "[.nightly][nightly]") {
  check_some(DrawnKernel::gradient_norm, kDrawnShapes);
}
TEST_CASE("emulated count of what is not finite equals its definition at 200 shapes", "[.nightly][nightly]") {
  check_some(DrawnKernel::count_nonfinite, kDrawnShapes);
}
TEST_CASE("emulated fields equal their definition at 200 shapes", "[.nightly][nightly]") {
  check_some(DrawnKernel::normalise, kDrawnShapes);
}
