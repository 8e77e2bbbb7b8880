#include "analyse/run_json.h"

#include "analyse/operators.h"
#include "analyse/ranks.h"
#include "core/json.h"

namespace isobar {

namespace {

Json memory_json(const RunView& view) {
  Json out = {{"predicted_bytes", view.summary.predicted_bytes}, {"peak_bytes", view.summary.peak_bytes}};
  for (const auto& [category, bytes] : view.memory) out[category + "_bytes"] = bytes;
  return out;
}

void add_what_some_have(const RunView& view, Json& out) {
  if (!view.replay_of.empty()) {
    out["replay_of"] = view.replay_of;
    out["replay_speed"] = view.replay_speed;
  }
  if (view.summary.predicted_bytes > 0) out["memory"] = memory_json(view);
  if (view.summary.scale > 0) {
    out["scale"] = view.summary.scale;
    out["skipped"] = view.summary.skipped;
  }
}

}  // namespace

Json to_json(const RunReader& reader) {
  const RunView& view = reader.view();
  const RunSummary& summary = view.summary;
  Json scores = Json::array();
  for (const RunScores& at : view.scores) {
    scores.push_back({{"step", at.step},
                      {"loss", at.loss},
                      {"rmse_" + at.headline, at.rmse},
                      {"persistence_rmse_" + at.headline, at.persistence_rmse},
                      {"climatology_rmse_" + at.headline, at.climatology_rmse},
                      {"acc_" + at.headline, at.acc}});
  }
  Json stages;
  for (const auto& [stage, time_us] : summary.stages_us) stages[stage + "_us"] = time_us;
  Json out = {{"run", reader.folder().filename().string()},
              {"state", state_name(view.state)},
              {"reason", view.reason},
              {"provenance", view.provenance.empty() ? "measured here" : provenance_text(view)},
              {"lesson", view.lesson},
              {"preset", view.preset},
              {"device", view.device},
              {"host", view.host},
              {"started", view.started},
              {"fault", view.fault},
              {"precision", summary.precision},
              {"emulated", summary.emulated},
              {"measure", summary.measure},
              {"group", view.group},
              {"point", view.point},
              {"repeat", view.repeat},
              {"world", summary.world},
              {"replicas", summary.replicas},
              {"steps", summary.steps},
              {"wanted_steps", summary.wanted_steps},
              {"samples", summary.samples},
              {"wall_s", summary.wall_s},
              {"first_loss", summary.first_loss},
              {"loss", summary.last_loss},
              {"samples_per_s", summary.samples_per_s},
              {"mfu", summary.mfu()},
              {"step_us", summary.step_us},
              {"stages", stages},
              {"scores", scores}};
  add_what_some_have(view, out);
  if (summary.watched.step >= 0) out["operators"] = watched_json(summary.watched);
  if (summary.world > 1) out["ranks"] = ranks_json(read_ranks(reader.folder()));
  if (!summary.has_losses) {  // it only measures, or nobody ran it
    out.erase("first_loss");
    out.erase("loss");
  }
  return out;
}

}  // namespace isobar
