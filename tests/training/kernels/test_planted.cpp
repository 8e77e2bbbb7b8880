// What the emulation is there to find, it finds: mistakes that emulated/derive.py makes in copies of three
// kernels.
#include "support/catch.h"
#include "support/process.h"

using namespace isobar;

namespace {

const std::string kRaces = ISOBAR_PLANTED_RACES;
const std::string kAddresses = ISOBAR_PLANTED_ADDRESSES;  // empty: not built

/// The mistake ends the program, which says all of `sentences`.
void require_found(const std::string& program, const std::string& mistake,
                   const std::vector<std::string>& sentences) {
  INFO(mistake);
  // Without the debugger's symbols, whose reading takes seconds a report.
  const ProcessResult result =
      run_process({program, mistake}, {.environment = {"ASAN_OPTIONS=symbolize=0:abort_on_error=1",
                                                       "UBSAN_OPTIONS=symbolize=0:abort_on_error=1"}});
  INFO(result.out << result.err);
  CHECK(result.code == 128 + 6);
  CHECK(result.out.find("nothing was found") == std::string::npos);
  for (const std::string& sentence : sentences) {
    INFO(sentence);
    CHECK(result.err.find(sentence) != std::string::npos);
  }
}

void require_clean(const std::string& program) {
  for (const char* const kernel : {"gradient_norm", "count_nonfinite", "adam"}) {
    INFO(kernel);
    const ProcessResult result = run_process({program, kernel});
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(result.out == "nothing was found\n");
    CHECK(result.err.empty());
  }
}

}  // namespace

TEST_CASE("kernels as they are have nothing that the builds of the emulation find") {
  require_clean(kRaces);
  if (!kAddresses.empty()) require_clean(kAddresses);
}

TEST_CASE("a barrier that is missing is a data race in shared memory") {
  require_found(kRaces, "no_barrier",
                {"the launch of adam, block (0, 0, 0), thread (1, 0, 0): data race: reads byte 0 of ",
                 " of shared memory shared, which thread 0 of block 0 writes, with no barrier between them"});
}

TEST_CASE("two blocks that write to one place are a data race in global memory") {
  require_found(
      kRaces, "one_result_for_two_blocks",
      {"the launch of gradient_norm, block (1, 0, 0), thread (0, 0, 0): data race: writes byte 0 of ",
       "of an operand, which thread 0 of block 0 writes"});
}

TEST_CASE("additions that are not atomic are a data race") {
  require_found(kRaces, "not_atomic", {"the launch of count_nonfinite", "data race: ", " of an operand"});
}

TEST_CASE("shared memory that nobody wrote is told by who reads it") {
  require_found(
      kRaces, "unwritten",
      {"the launch of gradient_norm", "of shared memory part, which no thread of its block has written"});
}

TEST_CASE("a warp intrinsic refuses a lane that has ended") {
  require_found(kRaces, "ended_lane",
                {"the launch of gradient_norm, block (0, 0, 0), thread (3",
                 "__shfl_xor_sync names lane 5 of its warp, which has ended"});
}

TEST_CASE("threads that wait for one another in vain are told") {
  require_found(kRaces, "waits_in_vain", {"the launch of gradient_norm", "for one another in vain"});
}

TEST_CASE("a load of 16 bytes that is not aligned is told by the sanitizer") {
  if (kAddresses.empty()) return;
  require_found(kAddresses, "misaligned", {"misaligned address", "requires 16 byte alignment"});
}

TEST_CASE("an access one beyond an operand is told by the sanitizer") {
  if (kAddresses.empty()) return;
  require_found(kAddresses, "one_beyond",
                {"heap-buffer-overflow", "0 bytes to the right of 4000-byte region"});
}

TEST_CASE("a name that is neither a kernel nor a mistake is refused") {
  const ProcessResult result = run_process({kRaces, "gelu"});
  CHECK(result.code == 2);
  CHECK(result.err.find("no kernel and no mistake \"gelu\"") != std::string::npos);
}
