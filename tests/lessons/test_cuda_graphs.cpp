// Lesson 08 where there is no GPU: it says so, and its settings are checked all the same. What it does with
// one is in tests/gpu/test_graph.cpp.

#include "lessons/lesson_run.h"
#include "lessons/refused.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("lesson 08 on a processor is refused in words, and leaves no run behind") {
  const TempFolder folder;
  const ProcessResult result = train_lesson("08_cuda_graphs", folder / "run", {"run.device=cpu"});
  CHECK(result.code == 2);
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
  CHECK_THAT(result.err, says("needs a CUDA device") && says("on cpu") && says("--recorded"));
}

TEST_CASE("settings of graphs are checked, and belong to lesson 08") {
  CHECK_THAT(refusal("08_cuda_graphs", {"graph.scope=all"}), says("graph.scope") && says("step, model"));
  CHECK_THAT(refusal("08_cuda_graphs", {"graph.warmup=0"}), says("graph.warmup") && says("at least 1"));
  CHECK_THAT(refusal("01_baseline", {"graph.enabled=false"}),
             says("graph.enabled") && says("08_cuda_graphs"));
  const auto behind = [](const std::vector<std::string>& sets) {
    std::vector<std::string> all = {"run.ranks=2", "graph.collectives=false"};
    all.insert(all.end(), sets.begin(), sets.end());
    return refusal("08_cuda_graphs", all);
  };
  CHECK_THAT(behind({}), says("graph.collectives = false") && says("graph.scope=model"));
  CHECK_THAT(behind({"graph.scope=model"}), says("nothing can leave during") && says("comm.sync=at_end"));
  CHECK_THAT(behind({"graph.scope=model", "mesh.tp=2"}), says("the ranks of one model") && says("mesh.tp=1"));
  CHECK_THAT(refusal("07_tensor_parallel", {"graph.collectives=false"}), says("08_cuda_graphs"));
  CHECK_THAT(refusal("08_cuda_graphs", {"run.fault=inject_inf"}), says("inject_inf"));
}
