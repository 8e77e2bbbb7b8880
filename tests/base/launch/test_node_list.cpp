#include "launch/node_list.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {
std::vector<std::string> expand(const std::string& text) {
  return expand_node_list(text, "SLURM_JOB_NODELIST");
}
}  // namespace

TEST_CASE("node lists of Slurm expand to hosts") {
  using Names = std::vector<std::string>;
  CHECK(expand("n1") == Names{"n1"});
  CHECK(expand("n[001-003,007],login1") == Names{"n001", "n002", "n003", "n007", "login1"});
  CHECK(expand("n[9-11]") == Names{"n9", "n10", "n11"});
  CHECK(expand("n[098-101]") == Names{"n098", "n099", "n100", "n101"});
  CHECK(expand("r[0-1]n[08-09]-ib.x") == Names{"r0n08-ib.x", "r0n09-ib.x", "r1n08-ib.x", "r1n09-ib.x"});
  CHECK(expand("a,b,a") == Names{"a", "b", "a"});
  CHECK(expand("n[0-99999]").size() == 100'000);
}

TEST_CASE("anything else is refused with the name of the variable, and nothing is run") {
  const std::vector<std::string> bad = {"",
                                        ",",
                                        "n1,",
                                        ",n1",
                                        "n[",
                                        "n[]",
                                        "n[1",
                                        "n[1-",
                                        "n[1-]",
                                        "n[-1]",
                                        "n[3-1]",
                                        "n[1,]",
                                        "n[1-2-3]",
                                        "n1]",
                                        "n[a]",
                                        "n[1]]",
                                        "n[[1]]",
                                        "-x",
                                        "n 1",
                                        "n;id",
                                        "$(touch canary)",
                                        "`id`",
                                        "n\n#SBATCH -A x",
                                        "n'",
                                        "n\"",
                                        "../x",
                                        "n[1-100001]",
                                        "n[0-999][0-999]",
                                        "n[0-99999],m",
                                        "n[1-99999999999999999999]",
                                        "\xe2\x80\xae"
                                        "host",
                                        std::string("n\0m", 3),
                                        std::string(254, 'n'),
                                        std::string(1'000'001, 'n')};
  for (const std::string& text : bad) {
    INFO(text.substr(0, 60));
    CHECK_THAT(error_of([&] { expand(text); }), says("SLURM_JOB_NODELIST"));
  }
}
