// What each rank does in the tests of engine/comm; the tests start these as processes.
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include "comm/comm.h"
#include "support/rank_scenarios.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

const AddScenario sums{"sums", [](const std::vector<std::string>&) {
                         at::set_num_threads(1);
                         Comm comm(read_rank_environment(), CommConfig{}, false);
                         const at::Tensor values = at::arange(1000, at::kFloat).add(comm.rank());
                         comm.all_reduce(values, Reduce::sum, "values").wait();
                         const int n = comm.size();
                         const at::Tensor expected = at::arange(1000, at::kFloat).mul(n).add(n * (n - 1) / 2);
                         return at::equal(values, expected) ? 0 : 1;
                       }};

}  // namespace

int main(int argc, char** argv) { return scenario_main(argc, argv); }
