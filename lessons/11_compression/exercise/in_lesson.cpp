// ./isobar run 11_compression --mine: with comm.compress = acpsgd each matrix goes through the learner's
// orthonormal and project. The engine's loop takes the factors in turn, adds the errors and divides sums.
#include "11_compression/exercise/part.h"
#include "check/own_part.h"
#include "compress/factors.h"
#include "core/error.h"
#include "run/run_plan.h"

using namespace isobar;

namespace {

const PluggedIn yours(seams::alternate_round, [](const FactorRound& round) {
  if (has_fault(Fault::no_orth)) {
    alternate_round(round);
    return;
  }
  const auto& part = own_part_as<exercise::Part>();
  round.kept.copy_(part.orthonormal(round.kept));
  const exercise::Projection projection = part.project(round.matrix, round.kept);
  round.sent.copy_(projection.sent);
  round.matrix.copy_(projection.left);
});
const PluggedIn check_of_run(seams::check_run, [](const Config& config, c10::Device) {
  if (config.comm.compress == CompressKind::acpsgd && config.comm.compress_start < config.train.steps) return;
  throw Error(
      "your round has nothing to do: no step of this run sends factors in turn", "comm.compress",
      "./isobar run 11_compression --mine --set comm.compress=acpsgd, with a comm.compress_start below "
      "train.steps");
});

}  // namespace
