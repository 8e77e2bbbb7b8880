// Every test of a kernel runs it in all sets of instructions that are here. ctest has one test for each set,
// so that one that is not here is told.
#include <algorithm>
#include <string>

#include "support/catch.h"
#include "vector/instruction_set.h"

using namespace isobar;

namespace {

void look_for(InstructionSet set) {
  const auto& here = instruction_sets_here();
  const bool is_here = std::find(here.begin(), here.end(), set) != here.end();
  if (!is_here)
    WARN("not run: kernels in " << name_of(set) << ", which this processor lacks or is held from");
}

}  // namespace

TEST_CASE("sets of instructions go from narrow to wide, the first is always here, and the limit holds") {
  const auto& here = instruction_sets_here();
  CHECK(here.front() == InstructionSet::sse2);
  CHECK(std::is_sorted(here.begin(), here.end()));
  CHECK(best_instruction_set() == here.back());
  CHECK(best_instruction_set() <= capability_limit(capability_words()));
}

TEST_CASE("kernels in AVX2", "[avx2]") { look_for(InstructionSet::avx2); }

TEST_CASE("kernels in AVX-512", "[avx512]") { look_for(InstructionSet::avx512); }
