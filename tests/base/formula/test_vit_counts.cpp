#include "formula/vit_counts.h"
#include "support/catch.h"

using namespace isobar;

namespace {

struct Row {
  const char* preset;
  VitShape shape;
  std::int64_t tokens;
  std::int64_t parameters;
  double forward_gflop;
  double training_gflop;
  double attention_share;
};

// Published counts of the course's named configurations.
const Row kRows[] = {
    {"base", {360, 720, 20, 8, 384, 12, 8}, 4050, 23'832'960, 482.3, 1442.9, 0.627},
    {"mp", {360, 720, 20, 8, 1024, 12, 8}, 4050, 157'926'400, 2050.5, 6140.9, 0.393},
    {"mp_patch4", {360, 720, 20, 4, 1024, 12, 8}, 16200, 168'401'920, 17'813, 53'428, 0.724},
    {"cpu_tiny", {72, 144, 20, 8, 96, 4, 2}, 162, 708'960, 0.263, 0.750, 0.15},
    {"cpu_micro", {48, 96, 20, 8, 96, 4, 2}, 72, 700'320, 0.107, 0.303, 0.07},
    {"cpu_small", {96, 192, 20, 8, 192, 6, 4}, 288, 3'216'576, 2.194, 6.441, 0.17},
    {"cpu_attn", {176, 360, 20, 8, 96, 2, 2}, 990, 564'768, 1.677, 4.788, 0.45},
};

}  // namespace

TEST_CASE("parameters and operations of every preset are the published ones") {
  for (const Row& row : kRows) {
    INFO(row.preset);
    const ForwardFlops forward = count_forward_flops(row.shape);
    CHECK(row.shape.tokens() == row.tokens);
    CHECK(count_parameters(row.shape).total() == row.parameters);
    // The small figures are published with three digits: half of the last one is more than 0.1 % there.
    CHECK(forward.total() * 1e-9 == Approx(row.forward_gflop).epsilon(1e-3).margin(5e-4));
    CHECK(training_flops(row.shape) * 1e-9 == Approx(row.training_gflop).epsilon(1e-3).margin(5e-4));
    CHECK(forward.attention / forward.total() == Approx(row.attention_share).margin(5.1e-3));
  }
}

TEST_CASE("the parts of base are the published ones") {
  const ParameterCounts counts = count_parameters(VitShape{});
  CHECK(counts.positions == 1'555'200);
  CHECK(counts.patch == 491'904);
  CHECK(counts.blocks == 21'293'568);
  CHECK(counts.norm == 768);
  CHECK(counts.head == 491'520);
  const ForwardFlops forward = count_forward_flops(VitShape{});
  CHECK(forward.attention * 1e-9 == Approx(302.3).epsilon(1e-3));
  CHECK(forward.mlp * 1e-9 == Approx(114.7).epsilon(1e-3));
  CHECK(forward.qkv * 1e-9 == Approx(43.0).epsilon(1e-3));
  CHECK(forward.projection * 1e-9 == Approx(14.3).epsilon(3e-3));
  CHECK(forward.patch * 1e-9 == Approx(4.0).epsilon(5e-3));
}
