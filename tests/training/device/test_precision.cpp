#include <ATen/Context.h>

#include "device/precision.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

PrecisionFacts cuda(int major, int minor) { return {.is_cuda = true, .major = major, .minor = minor}; }

PrecisionFacts cpu(const CpuInstructions& instructions) { return {.cpu = instructions}; }

}  // namespace

TEST_CASE("auto is TF32 where it is, and fp32 elsewhere") {
  CHECK(choose_precision(AmpMode::automatic, cpu({})) == AmpMode::none);
  CHECK(choose_precision(AmpMode::automatic, cpu({.amx_bf16 = true})) == AmpMode::none);
  CHECK(choose_precision(AmpMode::automatic, cuda(8, 0)) == AmpMode::tf32);
  CHECK(choose_precision(AmpMode::automatic, cuda(9, 0)) == AmpMode::tf32);
  CHECK(choose_precision(AmpMode::automatic, cuda(7, 5)) == AmpMode::none);
}

TEST_CASE("mixed is bf16 where the device has instructions for it, and what auto is elsewhere") {
  CHECK(choose_precision(AmpMode::mixed, cpu({})) == AmpMode::none);
  CHECK(choose_precision(AmpMode::mixed, cpu({.amx_bf16 = true})) == AmpMode::bf16);
  CHECK(choose_precision(AmpMode::mixed, cpu({.avx512_bf16 = true})) == AmpMode::bf16);
  CHECK(choose_precision(AmpMode::mixed, cuda(8, 0)) == AmpMode::bf16);
  CHECK(choose_precision(AmpMode::mixed, cuda(7, 5)) == AmpMode::none);
}

TEST_CASE("a processor runs 16 bits with instructions for them or by emulation, TF32 never") {
  CHECK(choose_precision(AmpMode::none, cpu({})) == AmpMode::none);
  for (const AmpMode mode : {AmpMode::bf16, AmpMode::fp16}) CHECK(choose_precision(mode, cpu({})) == mode);
  CHECK(emulates(AmpMode::bf16, cpu({})));
  CHECK(emulates(AmpMode::fp16, cpu({.avx512_bf16 = true, .amx_bf16 = true})));
  CHECK_FALSE(emulates(AmpMode::bf16, cpu({.avx512_bf16 = true})));
  CHECK_FALSE(emulates(AmpMode::bf16, cpu({.amx_bf16 = true})));
  CHECK_FALSE(emulates(AmpMode::fp16, cpu({.avx512_fp16 = true})));
  CHECK_FALSE(emulates(AmpMode::none, cpu({})));
  CHECK_FALSE(emulates(AmpMode::bf16, cuda(9, 0)));
  CHECK_THAT(error_of([] { choose_precision(AmpMode::tf32, cpu({.amx_bf16 = true})); }),
             says("TF32 exists on CUDA"));
  CHECK(choose_precision(AmpMode::none, c10::Device(c10::kCPU)) == AmpMode::none);
}

TEST_CASE("a CUDA device runs what its compute capability has") {
  for (const AmpMode mode : {AmpMode::none, AmpMode::tf32, AmpMode::fp16, AmpMode::bf16}) {
    CHECK(choose_precision(mode, cuda(8, 0)) == mode);
    CHECK(choose_precision(mode, cuda(12, 0)) == mode);
  }
  CHECK(choose_precision(AmpMode::fp16, cuda(5, 3)) == AmpMode::fp16);
  CHECK(choose_precision(AmpMode::fp16, cuda(7, 0)) == AmpMode::fp16);
  CHECK_THAT(error_of([] { choose_precision(AmpMode::fp16, cuda(5, 2)); }), says("5.3") && says("has 5.2"));
  CHECK_THAT(error_of([] { choose_precision(AmpMode::bf16, cuda(7, 5)); }),
             says("8.0") && says("has 7.5") && says("amp.mode=fp16"));
  CHECK_THAT(error_of([] { choose_precision(AmpMode::tf32, cuda(7, 5)); }), says("8.0"));
  CHECK(choose_precision(AmpMode::none, cuda(3, 0)) == AmpMode::none);
}

TEST_CASE("what 16 bits give on a processor is said for what it has") {
  CHECK_THAT(precision_sentence(AmpMode::bf16, cpu({.avx512_bf16 = true, .amx_bf16 = true})),
             says("AMX multiplies"));
  CHECK_THAT(precision_sentence(AmpMode::bf16, cpu({.avx512_bf16 = true})), says("at most twice"));
  CHECK_THAT(precision_sentence(AmpMode::bf16, cpu({})),
             says("emulated") && says("neither AMX nor AVX512-BF16") && says("lesson on mixed precision"));
  CHECK_THAT(precision_sentence(AmpMode::fp16, cpu({.avx512_bf16 = true})),
             says("emulated") && says("no AVX512-FP16"));
  CHECK_THAT(precision_sentence(AmpMode::fp16, cpu({.avx512_fp16 = true})),
             says("AVX512-FP16") && says("at most twice"));
  CHECK_THAT(precision_sentence(AmpMode::fp16, cpu({.avx512_fp16 = true, .amx_fp16 = true})),
             says("AMX multiplies fp16"));
  CHECK(precision_sentence(AmpMode::none, cpu({})).empty());
  CHECK(precision_sentence(AmpMode::bf16, cuda(9, 0)).empty());
}

TEST_CASE("every mode but tf32 keeps TF32 out of matrix products and of convolutions") {
  const at::Context& context = at::globalContext();
  for (const AmpMode mode :
       {AmpMode::tf32, AmpMode::none, AmpMode::tf32, AmpMode::fp16, AmpMode::tf32, AmpMode::bf16}) {
    apply_precision(mode);
    const bool tf32 = mode == AmpMode::tf32;
    CHECK(context.allowTF32CuBLAS() == tf32);
    CHECK(context.allowTF32CuDNN() == tf32);
  }
  apply_precision(AmpMode::none);
}
