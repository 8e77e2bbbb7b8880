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
  CHECK(choose_precision("auto", cpu({})) == "none");
  CHECK(choose_precision("auto", cpu({.amx_bf16 = true})) == "none");
  CHECK(choose_precision("auto", cuda(8, 0)) == "tf32");
  CHECK(choose_precision("auto", cuda(9, 0)) == "tf32");
  CHECK(choose_precision("auto", cuda(7, 5)) == "none");
}

TEST_CASE("mixed is bf16 where the device has instructions for it, and what auto is elsewhere") {
  CHECK(choose_precision("mixed", cpu({})) == "none");
  CHECK(choose_precision("mixed", cpu({.amx_bf16 = true})) == "bf16");
  CHECK(choose_precision("mixed", cpu({.avx512_bf16 = true})) == "bf16");
  CHECK(choose_precision("mixed", cuda(8, 0)) == "bf16");
  CHECK(choose_precision("mixed", cuda(7, 5)) == "none");
}

TEST_CASE("a processor runs 16 bits with instructions for them or by emulation, TF32 never") {
  CHECK(choose_precision("none", cpu({})) == "none");
  for (const char* const mode : {"bf16", "fp16"}) CHECK(choose_precision(mode, cpu({})) == mode);
  CHECK(emulates("bf16", cpu({})));
  CHECK(emulates("fp16", cpu({.avx512_bf16 = true, .amx_bf16 = true})));
  CHECK_FALSE(emulates("bf16", cpu({.avx512_bf16 = true})));
  CHECK_FALSE(emulates("bf16", cpu({.amx_bf16 = true})));
  CHECK_FALSE(emulates("fp16", cpu({.avx512_fp16 = true})));
  CHECK_FALSE(emulates("none", cpu({})));
  CHECK_FALSE(emulates("bf16", cuda(9, 0)));
  CHECK_THAT(error_of([] { choose_precision("tf32", cpu({.amx_bf16 = true})); }),
             says("TF32 exists on CUDA"));
  CHECK(choose_precision("none", c10::Device(c10::kCPU)) == "none");
}

TEST_CASE("a CUDA device runs what its compute capability has") {
  for (const char* mode : {"none", "tf32", "fp16", "bf16"}) {
    CHECK(choose_precision(mode, cuda(8, 0)) == mode);
    CHECK(choose_precision(mode, cuda(12, 0)) == mode);
  }
  CHECK(choose_precision("fp16", cuda(5, 3)) == "fp16");
  CHECK(choose_precision("fp16", cuda(7, 0)) == "fp16");
  CHECK_THAT(error_of([] { choose_precision("fp16", cuda(5, 2)); }), says("5.3") && says("has 5.2"));
  CHECK_THAT(error_of([] { choose_precision("bf16", cuda(7, 5)); }),
             says("8.0") && says("has 7.5") && says("amp.mode=fp16"));
  CHECK_THAT(error_of([] { choose_precision("tf32", cuda(7, 5)); }), says("8.0"));
  CHECK(choose_precision("none", cuda(3, 0)) == "none");
}

TEST_CASE("what 16 bits give on a processor is said for what it has") {
  CHECK_THAT(precision_sentence("bf16", cpu({.avx512_bf16 = true, .amx_bf16 = true})),
             says("AMX multiplies"));
  CHECK_THAT(precision_sentence("bf16", cpu({.avx512_bf16 = true})), says("at most twice"));
  CHECK_THAT(precision_sentence("bf16", cpu({})),
             says("emulated") && says("neither AMX nor AVX512-BF16") && says("lessons/04_amp"));
  CHECK_THAT(precision_sentence("fp16", cpu({.avx512_bf16 = true})),
             says("emulated") && says("no AVX512-FP16"));
  CHECK_THAT(precision_sentence("fp16", cpu({.avx512_fp16 = true})),
             says("AVX512-FP16") && says("at most twice"));
  CHECK_THAT(precision_sentence("fp16", cpu({.avx512_fp16 = true, .amx_fp16 = true})),
             says("AMX multiplies fp16"));
  CHECK(precision_sentence("none", cpu({})).empty());
  CHECK(precision_sentence("bf16", cuda(9, 0)).empty());
}

TEST_CASE("every mode but tf32 keeps TF32 out of matrix products and of convolutions") {
  const at::Context& context = at::globalContext();
  for (const char* mode : {"tf32", "none", "tf32", "fp16", "tf32", "bf16"}) {
    apply_precision(mode);
    const bool tf32 = std::string(mode) == "tf32";
    CHECK(context.allowTF32CuBLAS() == tf32);
    CHECK(context.allowTF32CuDNN() == tf32);
  }
  apply_precision("none");
}
