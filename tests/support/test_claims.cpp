// What a report of a failed claim says: this program's own, run with cases that fail.
#include <stdexcept>
#include <vector>

#include "support/process.h"
#include "support/says.h"

using namespace isobar;

namespace {

int thrown() { throw std::runtime_error("on purpose"); }

}  // namespace

TEST_CASE("claims that do not hold", "[.claims]") {
  const std::string text = "abc";
  const std::vector<int> numbers = {1, 2};
  const struct { unsigned bits : 3; } field = {5};
  CHECK(text == "abd");
  CHECK(text != std::string("abc"));
  CHECK(numbers == std::vector<int>{1, 3});
  CHECK(numbers.size() < 2);
  CHECK(field.bits == 4);
  CHECK(0.5 == Approx(0.25));
  CHECK(text.empty());
  CHECK_FALSE(text == "abc");
  CHECK(thrown() == 3);
  CHECK_THAT(text, says("a") && !says("b"));
  CHECK_THAT(text, says("x") || says("y"));
  REQUIRE_FALSE(numbers.size() == 2);
  CHECK(text == "never reached");
}

TEST_CASE("a report says both sides of what was claimed, and what threw instead") {
  const ProcessResult result = run_process({ISOBAR_TEST_SUPPORT, "[claims]"});
  CHECK(result.code != 0);
  for (const char* const part :
       {R"("abc" == "abd")", R"("abc" != "abc")", "{ 1, 2 } == { 1, 3 }", "2 < 2", "5 == 4",
        "0.5 == Approx( 0.25 )", "CHECK( text.empty() )\nwith expansion:\n  false", R"(!("abc" == "abc"))",
        "CHECK( thrown() == 3 )\ndue to unexpected exception with message:\n  on purpose",
        R"("abc" ( contains: "a" and not contains: "b" ))", R"("abc" ( contains: "x" or contains: "y" ))",
        "REQUIRE_FALSE( numbers.size() == 2 )\nwith expansion:\n  !(2 == 2)"})
    CHECK_THAT(result.out, says(part));
  CHECK_THAT(result.out, !says("never reached"));
}
