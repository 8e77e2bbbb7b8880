#include <memory>

#include "core/seam.h"
#include "support/catch.h"

using namespace isobar;

namespace {

constinit Seam<int(std::unique_ptr<int>, int&)> sum{[](std::unique_ptr<int> a, int& b) { return *a + b; }};

}  // namespace

TEST_CASE("A seam calls its own function until another is plugged in, and hands over what it gets") {
  int b = 2;
  CHECK(sum(std::make_unique<int>(40), b) == 42);
  const PluggedIn theirs(sum, [](std::unique_ptr<int> a, int& by) {
    by *= *a;
    return by;
  });
  CHECK(sum(std::make_unique<int>(40), b) == 80);
  CHECK(b == 80);
}
