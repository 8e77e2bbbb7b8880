#include "config/check_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config/origins.h"
#include "core/text.h"
#include "core/token_shares.h"

namespace isobar {
namespace {

/// A run's own file has mesh.cp in any case, whether somebody set it or not.
bool is_of_a_run(const std::string& origin) {
  const std::size_t folder = origin.rfind('/');
  return origin.substr(folder == std::string::npos ? 0 : folder + 1).starts_with("run.toml:");
}

std::int64_t tokens_of(const Config& config) {
  return config.data.grid[0] / config.model.patch * (config.data.grid[1] / config.model.patch);
}

/// "1, 2 or 4": multiples of `of` that divide both.
std::string common_divisors(std::int64_t one, std::int64_t other, std::int64_t of = 1) {
  std::vector<std::string> out;
  for (std::int64_t i = of; i <= std::min(one, other); i += of) {
    if (one % i == 0 && other % i == 0) out.push_back(std::to_string(i));
  }
  const std::string last = out.back();  // `of` itself at least
  out.pop_back();
  return out.empty() ? last : joined(out) + " or " + last;
}

void check_model_ranks(const Config& config, const Origins& origins) {
  const MeshConfig& mesh = config.mesh;
  const std::int64_t wanted = mesh.gpus_per_model, others = mesh.tp * mesh.pp;
  if (wanted == 0 || wanted == ranks_of_model(config)) return;
  throw Error(fmt::format("mesh.gpus_per_model = {} is not mesh.tp x mesh.cp x mesh.pp = {} x {} x {}",
                          wanted, mesh.tp, mesh.cp, mesh.pp),
              origin_of(origins, {"mesh.gpus_per_model", "mesh.cp", "mesh.tp", "mesh.pp"}),
              wanted % others == 0 ? fmt::format("mesh.cp={}, or leave it out; or mesh.gpus_per_model={}",
                                                 wanted / others, ranks_of_model(config))
                                   : fmt::format("a multiple of mesh.tp x mesh.pp = {}, such as {}", others,
                                                 nearest_multiple(wanted, others)));
}

/// Whole models form an ensemble, and whole ensembles the run.
void check_ensembles(const Config& config, const Origins& origins) {
  const std::int64_t ensemble = config.mesh.gpus_per_ensemble, model = ranks_of_model(config);
  const std::int64_t ranks = config.run.ranks;
  if (ensemble == 0) return;
  const auto refuse = refuser(origins);
  if (ensemble % model != 0)
    refuse("mesh.gpus_per_ensemble", "mesh.gpus_per_model",
           fmt::format("an ensemble of {} has no whole number of models of {} ranks",
                       counted(ensemble, "rank"), model),
           fmt::format("a multiple of {} that divides run.ranks = {}: {}", model, ranks,
                       common_divisors(ranks, ranks, model)));
  if (ranks % ensemble != 0)
    refuse("mesh.gpus_per_ensemble", "run.ranks",
           fmt::format("{} / {} ranks an ensemble is no whole number of replicas", ranks, ensemble),
           fmt::format("--ranks {}, or mesh.gpus_per_ensemble of {}",
                       std::max(ensemble, nearest_multiple(ranks, ensemble)),
                       common_divisors(ranks, ranks, model)));
}

/// What ranks that share tokens do not go with.
void check_beside_tokens(const Config& config, const Origins& origins) {
  const auto refuse = refuser(origins);
  if (config.mesh.sequence_parallel)
    refuse("mesh.sequence_parallel", "mesh.cp",
           "mesh.sequence_parallel shares out evenly what mesh.cp has shared out already",
           "mesh.sequence_parallel=false, or mesh.cp=1");
  if (config.model.norm == NormKind::batch)
    refuse("model.norm", "mesh.cp", "a norm over the batch would go over the tokens of one rank alone",
           "model.norm=layer, or mesh.cp=1");
  if (config.model.dropout > 0)
    refuse("model.dropout", "mesh.cp",
           "ranks that share tokens draw the same random numbers, each for tokens of its own",
           "model.dropout=0, or mesh.cp=1");
}

void check_shared_tokens(const Config& config, const Origins& origins) {
  const std::int64_t cp = config.mesh.cp, tokens = tokens_of(config), window = config.model.window;
  const auto refuse = refuser(origins);
  if (tokens < cp)
    refuse("mesh.cp", "model.patch",
           fmt::format("{} cannot be shared out over mesh.cp = {} ranks", counted(tokens, "token"), cp),
           fmt::format("mesh.cp={} at most, or a smaller model.patch", tokens));
  std::int64_t smallest = tokens;
  for (const TokenShare& share : token_shares(tokens, cp)) smallest = std::min(smallest, share.count);
  if (window > smallest)
    refuse("model.window", "mesh.cp",
           fmt::format("a window of {} reaches beyond a {} with {}", counted(window, "token"),
                       cp > 1 ? "neighbour" : "sample", counted(smallest, "token")),
           fmt::format("model.window={} at most, or {}", smallest,
                       cp > 1 ? "fewer ranks in mesh.cp" : "a smaller model.patch"));
  if (cp == 1) return;
  const std::int64_t heads = config.model.heads / config.mesh.tp;
  if (config.mesh.cp_comm == ContextForm::a2a && heads % cp != 0)
    refuse("mesh.cp_comm", "mesh.cp",
           fmt::format("a2a shares out the {} of a rank over mesh.cp = {} ranks, which do not divide them",
                       counted(heads, "head"), cp),
           fmt::format("a mesh.cp that divides model.heads / mesh.tp = {}, or another mesh.cp_comm", heads));
  check_beside_tokens(config, origins);
}

void check_reading(const Config& config, const Origins& origins) {
  const std::int64_t readers = config.data.read_group, model = ranks_of_model(config);
  const std::int64_t rows = config.data.grid[0];
  const auto refuse = refuser(origins);
  if (model % readers != 0)
    refuse("data.read_group", "mesh.gpus_per_model",
           fmt::format("{} of a model cannot form groups of {} that read together", counted(model, "rank"),
                       readers),
           fmt::format("a data.read_group of {}", common_divisors(model, rows)));
  if (rows % readers != 0)
    refuse("data.read_group", "data.grid",
           fmt::format("the {} rows of a field are no {} bands of one height", rows, readers),
           fmt::format("a data.read_group of {}", common_divisors(model, rows)));
}

}  // namespace

void derive_groups(Config& config, Origins& origins) {
  MeshConfig& mesh = config.mesh;
  const std::int64_t others = mesh.tp * mesh.pp;
  const auto set = origins.find("mesh.cp");
  const bool was_set = set != origins.end() && !is_of_a_run(set->second);
  if (mesh.gpus_per_model == 0 || mesh.gpus_per_model % others != 0 || was_set) return;
  mesh.cp = mesh.gpus_per_model / others;
  const auto origin = origins.find("mesh.gpus_per_model");
  if (origin != origins.end()) origins["mesh.cp"] = origin->second;
}

void check_groups(const Config& config, const Origins& origins) {
  check_model_ranks(config, origins);
  check_ensembles(config, origins);
  check_shared_tokens(config, origins);
  check_reading(config, origins);
  if (config.train.rollout > 1 && config.mesh.pp > 1)
    refuser(origins)(
        "train.rollout", "mesh.pp",
        "the forecasts of a rollout go through the whole model, and with mesh.pp ranks have stages",
        "mesh.pp=1, or train.rollout=1");
  if (config.train.rollout > 1 && config.mesh.sequence_parallel)
    refuser(origins)(
        "train.rollout", "mesh.sequence_parallel",
        "gradients of a rollout are those of whole images, and with mesh.sequence_parallel a rank "
        "has its own tokens' alone",
        "mesh.sequence_parallel=false, or train.rollout=1");
}

}  // namespace isobar
