#include "formula/attention_floor.h"
#include "support/catch.h"

namespace isobar::test_attention_floor {

namespace {

const VitShape kBase = {360, 720, 20, 8, 384, 12, 8};  // heads of 48

}  // namespace

TEST_CASE("attention of base needs what its shape says") {
  const AttentionNeeds needs = count_attention_needs(kBase);
  CHECK(needs.forward_flops == count_forward_flops(kBase).attention);
  CHECK(16 * needs.forward_flops * 1e-12 == Approx(4.84).epsilon(1e-3));
  CHECK(16 * needs.backward_flops * 1e-12 == Approx(12.09).epsilon(1e-3));
  CHECK(needs.exponentials == 12.0 * 8 * 4050 * 4050);
  CHECK(16 * needs.forward_bytes * 1e-9 == Approx(2.41).epsilon(1e-2));
  CHECK(16 * needs.backward_bytes * 1e-9 == Approx(4.80).epsilon(1e-2));
}

TEST_CASE("exponentials are the floor of the forward pass of small heads where matrix units are fast") {
  const AttentionFloor h200 = attention_floor(kBase, 16, rates_of("H200"));
  CHECK(h200.forward_us == Approx(6524).epsilon(1e-3));     // 4,891 of products alone
  CHECK(h200.backward_us == Approx(12'233).epsilon(1e-3));  // products
  const AttentionFloor a100 = attention_floor(kBase, 16, rates_of("A100"));
  CHECK(a100.forward_us == Approx(15'510).epsilon(1e-3));  // products: 192 operations a score against 128
  CHECK(a100.backward_us == Approx(38'774).epsilon(1e-3));
  VitShape wide = kBase;
  wide.heads = 3;  // of 128: fewer exponentials, as many products
  CHECK(attention_floor(wide, 16, rates_of("H200")).forward_us == Approx(4893).epsilon(1e-3));
}

TEST_CASE("memory is the floor of attention over few tokens") {
  const VitShape few = {8, 16, 20, 8, 384, 12, 8};
  const AttentionNeeds needs = count_attention_needs(few);
  CHECK(attention_floor(few, 1, rates_of("H100")).backward_us == Approx(needs.backward_bytes / 3.35e6));
}

TEST_CASE("no attention kernel is predicted to be faster than its floor") {
  for (const DeviceRates& device : device_rates()) {
    INFO(device.name);
    const AttentionFloor floor = attention_floor(kBase, 1, device);
    const AttentionNeeds needs = count_attention_needs(kBase);
    for (const AttentionRates& kernel : {device.flash, device.cudnn}) {
      if (kernel.forward64 == 0) continue;
      CHECK(needs.forward_flops / (kernel.forward64 * 0.75e6) > floor.forward_us);
      CHECK(needs.backward_flops / (kernel.backward64 * 0.75e6) > floor.backward_us);
    }
  }
}

}  // namespace isobar::test_attention_floor
