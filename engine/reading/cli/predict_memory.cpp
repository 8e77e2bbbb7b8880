#include "cli/predict_memory.h"

#include <fmt/format.h>

#include "analyse/figure.h"
#include "cli/shared_options.h"
#include "core/files.h"
#include "core/text.h"
#include "plot/front_picture.h"

namespace isobar {
namespace {

std::string bytes_text(std::uint64_t bytes) { return human_bytes(bytes); }

/// "activations 130 GB, weights 0.95 GB, ...", the largest first.
std::string largest(const MemoryPlan& plan) {
  std::vector<std::pair<std::string, std::uint64_t>> parts = plan.categories();
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [name, bytes] : parts) words.push_back(name + " " + bytes_text(bytes));
  return joined(words);
}

Json json_of(const PredictedWay& way, const std::string& command) {
  Json categories = Json::object();
  for (const auto& [name, bytes] : way.way.plan.categories()) categories[name] = bytes;
  return {{"change", way.way.change},
          {"command", command},
          {"bytes", way.way.plan.total()},
          {"host_bytes", way.way.plan.host},
          {"categories", categories},
          {"computing", way.way.computing},
          {"ranks", way.way.config.run.ranks},
          {"samples_per_s", number_or_null(way.samples_per_s)},
          {"fits", way.fits}};
}

Row row_of(const PredictedWay& way, const std::string& what) {
  Row out;
  out.cell("", what)
      .cell("a rank", bytes_text(way.way.plan.total()))
      .cell("samples/s", way.samples_per_s > 0 ? fmt::format("{:.1f}", way.samples_per_s) : "-")
      .cell("FLOPs", fmt::format("x {:.2f}", way.way.computing))
      .cell("ranks", std::to_string(way.way.config.run.ranks));
  return out;
}

/// `where` names the device; `settings` are those that were typed, without the cap.
Report memory_report(const MemoryAnswer& answer, const Settings& settings, const std::string& where) {
  const PredictedWay& now = answer.as_is;
  const auto command_of = [&](const PredictedWay& way) {
    std::string out = "./isobar run " + way.lesson.name;
    for (const std::string& word : words_of(settings)) out += " " + shell_quoted(word);
    return way.typed.empty() ? out : out + " " + way.typed;
  };
  Report out;
  out.json["provenance"] = "predicted";
  out.json["limit_bytes"] = answer.limit_bytes;
  out.json["device"] = where;
  out.json["as_is"] = json_of(now, command_of(now));
  out.wrapped(fmt::format("{} on {}, predicted: a rank would need {}, and run.memory_cap is {}: it {}",
                          now.lesson.name, where, bytes_text(now.way.plan.total()),
                          bytes_text(answer.limit_bytes), now.fits ? "fits" : "does not fit"));
  out.headed("needs", largest(now.way.plan));
  std::vector<Row> alone;
  Json alone_json = Json::array();
  for (const PredictedWay& way : answer.states_alone) {
    alone.push_back(row_of(
        way, fmt::format("mesh.zero={}: {}", way.way.config.mesh.zero, way.fits ? "fits" : "does not fit")));
    alone_json.push_back(json_of(way, ""));
  }
  if (!alone.empty()) {
    out.line("");
    out.line("  states shared out and nothing else, as many samples on each rank:");
    out.table(table_of(alone));
  }
  out.json["states_alone"] = alone_json;
  std::vector<Row> rows;
  Json fits = Json::array();
  for (const PredictedWay& way : answer.fits) {
    rows.push_back(row_of(way, way.way.change));
    fits.push_back(json_of(way, command_of(way)));
  }
  out.json["fits"] = fits;
  if (now.fits) return out;
  out.line("");
  if (rows.empty()) {
    out.line("  no change of these makes it fit: a smaller model or grid, or more memory");
    return out;
  }
  out.line("  what fits, the fastest first; on more ranks communication is not in the rate:");
  out.table(table_of(rows));
  out.headed("try", command_of(answer.fits.front()));
  return out;
}

}  // namespace

void print_memory(const LessonInfo& lesson, const Settings& settings, std::uint64_t limit_bytes,
                  const std::string& device, const PredictedRate& rate, const ClusterArguments& arguments) {
  const bool on_cuda = device != "here";
  const std::string where = on_cuda ? device : "this machine";
  const LoadedConfig loaded =
      load_config(project_home(), lesson, settings,
                  preset_device_kind(settings, [&] { return std::string(on_cuda ? "cuda" : "cpu"); }));
  const MemoryAsked asked{.lesson = lesson,
                          .settings = settings,
                          .config = loaded.config,
                          .facts = memory_facts(loaded.config, on_cuda),
                          .limit_bytes = limit_bytes,
                          .rate = rate};
  Report report = memory_report(memory_answer(project_home(), asked), asked.settings, where);
  MemoryFront front{.title = lesson.name + (loaded.preset.empty() ? "" : ", preset " + loaded.preset),
                    .where = where,
                    .ways = front_ways(project_home(), asked),
                    .limit_bytes = asked.limit_bytes,
                    .measured = measured_ways(asked.config, device, "runs")};
  front.title += fmt::format(", {} samples a step", asked.config.train.global_batch);
  add_drawing(report, arguments, front_drawing(front));
  report.print(arguments.json);
}

}  // namespace isobar
