#include <ATen/Context.h>

#include "core/error.h"
#include "model/attention_choice.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("what cannot run here is refused with what can") {
  const AttentionShape shape{.batch = 2, .heads = 2, .tokens = 40, .head_size = 48};
  const std::vector<std::string> here = attention_kinds_here(shape);
  CHECK(here == std::vector<std::string>{"math", "flash"});  // a CPU has no others
  CHECK(choose_attention("math", shape) == "math");
  CHECK(choose_attention("flash", shape) == "flash");
  CHECK(choose_attention("auto", shape) == "flash");
  for (const char* const absent : {"efficient", "cudnn"}) {
    CHECK_THAT(error_of([&] { choose_attention(absent, shape); }),
               says(std::string("\"") + absent) && says("48") && says("auto, math, flash"));
  }
}

TEST_CASE("a guard allows one form and then what was allowed before") {
  const at::Context& context = at::globalContext();
  {
    const AttentionGuard only("math");
    CHECK(context.userEnabledMathSDP());
    CHECK_FALSE(context.userEnabledFlashSDP());
    {
      const AttentionGuard inner("flash");
      CHECK(context.userEnabledFlashSDP());
      CHECK_FALSE(context.userEnabledMathSDP());
    }
    CHECK_FALSE(context.userEnabledFlashSDP());
    const AttentionGuard as_it_is("auto");
    CHECK_FALSE(context.userEnabledFlashSDP());
  }
  CHECK(context.userEnabledFlashSDP());
}
