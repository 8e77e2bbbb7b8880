#include <ATen/Context.h>

#include "core/error.h"
#include "model/attention_choice.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("what cannot run here is refused with what can") {
  const AttentionShape shape{.batch = 2, .heads = 2, .tokens = 40, .head_size = 48};
  const std::vector<AttentionKind> here = attention_kinds_here(shape);
  CHECK((here == std::vector{AttentionKind::math, AttentionKind::flash}));  // a CPU has no others
  CHECK(choose_attention(AttentionKind::math, shape) == AttentionKind::math);
  CHECK(choose_attention(AttentionKind::flash, shape) == AttentionKind::flash);
  CHECK(choose_attention(AttentionKind::automatic, shape) == AttentionKind::flash);
  AttentionShape masked = shape;
  masked.has_mask = true;
  masked.keys = 56;
  CHECK(choose_attention(AttentionKind::flash, masked) == AttentionKind::flash);  // on a CPU it takes one
  CHECK(choose_attention(AttentionKind::automatic, masked) == AttentionKind::flash);
  CHECK_THAT(error_of([&] { choose_attention(AttentionKind::efficient, masked); }), says("with a mask"));
  for (const AttentionKind absent : {AttentionKind::efficient, AttentionKind::cudnn}) {
    CHECK_THAT(error_of([&] { choose_attention(absent, shape); }),
               says(std::string("\"") + name_of(absent)) && says("48") && says("auto, math, flash"));
  }
}

TEST_CASE("a guard allows one form and then what was allowed before") {
  const at::Context& context = at::globalContext();
  {
    const AttentionGuard only(AttentionKind::math);
    CHECK(context.userEnabledMathSDP());
    CHECK_FALSE(context.userEnabledFlashSDP());
    {
      const AttentionGuard inner(AttentionKind::flash);
      CHECK(context.userEnabledFlashSDP());
      CHECK_FALSE(context.userEnabledMathSDP());
    }
    CHECK_FALSE(context.userEnabledFlashSDP());
    const AttentionGuard as_it_is(AttentionKind::automatic);
    CHECK_FALSE(context.userEnabledFlashSDP());
  }
  CHECK(context.userEnabledFlashSDP());
}
