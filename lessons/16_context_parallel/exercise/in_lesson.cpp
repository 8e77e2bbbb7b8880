// ./isobar run 16_context_parallel --mine: keys and values are gathered, and their gradients given back, by
// the learner's gather and gather_back. The engine carries the messages and counts them.
#include "16_context_parallel/exercise/part.h"
#include "check/own_part.h"
#include "context/token_messages.h"
#include "core/error.h"
#include "run/run_plan.h"

using namespace isobar;

namespace {

exercise::RankOfTokens rank_of(TokenMessages& ranks, std::string_view what) {
  return {.index = ranks.index(),
          .count = ranks.count(),
          .all_gather = [&ranks, what](const at::Tensor& part) { return ranks.all_gather(part, what); },
          .reduce_scatter = [&ranks,
                             what](const at::Tensor& parts) { return ranks.reduce_scatter(parts, what); }};
}

const PluggedIn gather(seams::gather_tokens,
                       [](TokenMessages& ranks, const at::Tensor& own, std::string_view what) {
                         return own_part_as<exercise::Part>().gather(own, ranks.all(), rank_of(ranks, what));
                       });
const PluggedIn back(seams::gather_tokens_back,
                     [](TokenMessages& ranks, const at::Tensor& gradients, std::string_view what) {
                       return own_part_as<exercise::Part>().gather_back(gradients, rank_of(ranks, what));
                     });

const PluggedIn check(seams::check_run, [](const Config& config, c10::Device) {
  const bool gathers =
      config.mesh.cp_comm == ContextForm::gather || config.mesh.cp_comm == ContextForm::gather_again;
  if (config.mesh.cp == 1 || !gathers || config.model.window > 0)
    throw Error("your gather has nothing to do: no ranks gather keys and values of all tokens",
                "mesh.cp, mesh.cp_comm, model.window",
                "--ranks 2 --set mesh.cp=2, with mesh.cp_comm=gather or gather_again and model.window=0");
});

}  // namespace
