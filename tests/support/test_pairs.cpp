#include "support/catch.h"
#include "support/pairs.h"

using namespace isobar;

TEST_CASE("any two choices of two lists meet, in far fewer cases than the product has") {
  const std::vector<Picks> lists = {{"gloo", "ring"}, {"2", "4"}, {"a", "b", "c", "d"}, {"x", "y"}};
  CHECK(products(lists).size() == 32);
  unsetenv("ISOBAR_PRODUCTS");
  const std::vector<Picks> cases = pairs(lists);
  CHECK(cases.size() <= 10);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t j = i + 1; j < lists.size(); ++j) {
      for (const std::string& one : lists[i]) {
        for (const std::string& other : lists[j]) {
          int met = 0;
          for (const Picks& choices : cases) met += choices[i] == one && choices[j] == other;
          CHECK(met >= 1);
        }
      }
    }
  }
  setenv("ISOBAR_PRODUCTS", "1", 1);
  CHECK(pairs(lists).size() == 32);
  unsetenv("ISOBAR_PRODUCTS");
}
