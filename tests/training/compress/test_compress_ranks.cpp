// Compressed gradients and averages of weights, in real processes.
#include "support/catch.h"
#include "support/pairs.h"
#include "support/passing_ranks.h"

namespace isobar::test_compress_ranks {

using namespace isobar::testing;

namespace {

const std::vector<std::string> kLowRank = {"powersgd", "acpsgd"};

}  // namespace

TEST_CASE("factors of full rank give the mean gradient") {
  for (const std::string& scheme : kLowRank) passes(2, {"exact", scheme});
}

TEST_CASE("steps are those of double precision, as PyTorch's hook makes them") {
  for (const std::string& scheme : kLowRank) passes(3, {"golden", scheme});
}

TEST_CASE("a step sends the messages and bytes of the plan") {
  for (const Picks& c :
       pairs({{"none", "bf16", "powersgd", "acpsgd"}, {"0.03", "25"}, {"joined", "split"}, {"2", "3"}}))
    passes(std::stoi(c[3]), {"plan", c[0], c[1], c[2]});
}

TEST_CASE("what arrived and the mean error are all gradients, on all ranks alike") {
  for (const Picks& c : pairs({{"2", "4"}, kLowRank, {"1", "4"}}))
    passes(std::stoi(c[0]), {"kept", c[1], c[2]});
}

TEST_CASE("16 bits divided before they are added stay in range") {
  for (const std::string scheme : {"bf16", "fp16"}) passes(2, {"short", scheme});
}

TEST_CASE("averages of weights after each step are averages of gradients for SGD and not for Adam") {
  passes(2, {"local"});
}

TEST_CASE("a task with another number of all-reduces is refused") { passes(2, {"rounds"}); }

TEST_CASE("the outer step follows Nesterov's formula, every H steps and at the end") { passes(3, {"outer"}); }

}  // namespace isobar::test_compress_ranks
