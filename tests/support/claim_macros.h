#pragma GCC system_header  // macros write Claims() <= a == b
// CHECK and its kin (support/catch.h). Some headers of libtorch have a CHECK of their own: a file that
// includes one includes this below it, so it may come several times.
#undef ISOBAR_ASSERT
#define ISOBAR_ASSERT(macro, text, take)                                                \
  do {                                                                                  \
    isobar::Assertion isobar_assertion(isobar::Macro::macro, __FILE__, __LINE__, text); \
    try {                                                                               \
      isobar_assertion.take;                                                            \
    } catch (...) {                                                                     \
      isobar_assertion.threw();                                                         \
    }                                                                                   \
    isobar_assertion.end();                                                             \
  } while (false)
#undef CHECK
#undef CHECK_FALSE
#undef CHECK_THAT
#undef REQUIRE
#undef REQUIRE_FALSE
#undef REQUIRE_THAT
#define CHECK(...) ISOBAR_ASSERT(check, #__VA_ARGS__, take(isobar::Claims() <= __VA_ARGS__))
#define CHECK_FALSE(...) ISOBAR_ASSERT(check_false, #__VA_ARGS__, take(isobar::Claims() <= __VA_ARGS__))
#define CHECK_THAT(value, matcher) ISOBAR_ASSERT(check_that, #value ", " #matcher, match(value, matcher))
#define REQUIRE(...) ISOBAR_ASSERT(require, #__VA_ARGS__, take(isobar::Claims() <= __VA_ARGS__))
#define REQUIRE_FALSE(...) ISOBAR_ASSERT(require_false, #__VA_ARGS__, take(isobar::Claims() <= __VA_ARGS__))
#define REQUIRE_THAT(value, matcher) ISOBAR_ASSERT(require_that, #value ", " #matcher, match(value, matcher))
