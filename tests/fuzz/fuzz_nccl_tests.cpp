// Output of nccl-tests of any bytes.
#include <cmath>

#include "core/error.h"
#include "fuzz/checks.h"
#include "imported/nccl_tests.h"

using namespace isobar;

namespace {

/// Each test has rows that can be computed with, and names that can be shown.
void check(const NcclLog& log, std::size_t bytes) {
  require(!log.tests.empty() && log.tests.size() <= bytes);
  for (const NcclTest& test : log.tests) {
    require(!test.rows.empty() && !test.op.empty() && test.ranks >= 0 && test.ranks_per_host >= 0);
    require(test.line <= test.last_line && test.last_line <= bytes);
    check_text(test.op);
    check_text(test.gpu);
    for (const NcclRow& row : test.rows) {
      require(row.bytes > 0 && row.us > 0 && row.gb_s >= 0);
      require(std::isfinite(row.bytes / row.us) && std::isfinite(row.gb_s));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  try {
    const NcclLog log = parse_nccl_tests(input, "fuzz");
    check(log, size);
    // Lines of other programs change nothing.
    const NcclLog again =
        parse_nccl_tests("gn01:1:1 [0] NCCL INFO\n" + input + "\ngn01:1:1 [0] NCCL INFO\n", "fuzz");
    require(again.tests.size() == log.tests.size() && again.left_out.count() == log.left_out.count());
    for (std::size_t i = 0; i < log.tests.size(); ++i)
      require(again.tests[i].rows.size() == log.tests[i].rows.size() && again.tests[i].op == log.tests[i].op);
  } catch (const Error& error) {
    require(!error.where().empty() && !error.hint().empty());
    check_text(error.what());
  }
  return 0;
}
