// ./isobar run 15_pipeline --mine: ranks work in the learner's order, 1f1b by one_f_one_b and zb_h1 by
// split_backward. The engine checks all rows as those of a schedule from a file before it meets
// other ranks, and carries the messages.
#include <vector>

#include "15_pipeline/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "pipeline/orders.h"
#include "run/run_plan.h"

using namespace isobar;

namespace {

PipelineWork work_of(exercise::PipeWork work) {
  switch (work) {
    case exercise::PipeWork::forward:
      return PipelineWork::forward;
    case exercise::PipeWork::backward:
      return PipelineWork::backward;
    case exercise::PipeWork::input:
      return PipelineWork::input;
    case exercise::PipeWork::weights:
      break;
  }
  return PipelineWork::weight;
}

const PluggedIn order(seams::order_of, [](PipelineForm form, int rank, int ranks, int chunks, int parts) {
  if (form != PipelineForm::one_f_one_b && form != PipelineForm::zb_h1)
    return order_of(form, rank, ranks, chunks, parts);
  const auto& part = own_part_as<exercise::Part>();
  const exercise::PipeRank at{.ranks = ranks, .rank = rank, .parts = parts};
  std::vector<PipelineAction> out;
  for (const auto& [work, number] :
       form == PipelineForm::zb_h1 ? part.split_backward(at) : part.one_f_one_b(at))
    out.push_back({rank, work_of(work), number});
  return out;
});

const PluggedIn check(seams::check_run, [](const Config& config, c10::Device) {
  const auto takes = [&](PipelineForm form) { return config.mesh.schedule == form; };
  if (config.mesh.pp == 1 || (!takes(PipelineForm::one_f_one_b) && !takes(PipelineForm::zb_h1)))
    throw Error("your order has nothing to do: no pipeline works by 1f1b or zb_h1", "mesh.pp, mesh.schedule",
                "--ranks 2 --set mesh.pp=2, with mesh.schedule=1f1b or zb_h1");
  check_schedule(schedule_of(config), "my/15_one_f_one_b.cpp");
});

}  // namespace
