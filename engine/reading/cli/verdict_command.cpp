#include <utility>

#include "analyse/run_files.h"
#include "analyse/run_prediction.h"
#include "cli/commands.h"
#include "cli/runs_command.h"
#include "cli/verdict_text.h"
#include "config/option_parser.h"
#include "core/cpu_instructions.h"
#include "core/error.h"
#include "core/files.h"
#include "core/nvidia.h"
#include "formula/model_shape.h"

namespace isobar {

namespace {

constexpr const char* kVerdict = "./isobar verdict";

/// What the run's lesson and configuration tell; less where they are not of this tree.
RunFacts facts_of(const RunCase& run) {
  RunFacts out;
  out.lessons = lesson_names(project_home());
  out.computes_16_bit = has_nvidia_driver() || cpu_instructions().multiplies_bf16();
  if (const std::optional<KnownSettings> settings = settings_of(run.folder, run.view().lesson)) {
    out.honours = settings->lesson.honours;
    out.attention_flops = 3 * count_forward_flops(vit_shape(settings->config)).attention;
    if (const std::optional<MachineRates> rates = rates_behind(run.config))
      out.memory_bytes_per_s = memory_rate(run.config, *rates);
  }
  return out;
}

}  // namespace

int verdict_command(const Words& words) {
  std::string name;
  bool json = false;
  OptionParser app("What bounds a run and by how much, one thing to notice, one to try", kVerdict);
  app.add("RUN", name, "a folder, a name, or last");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words)) return 0;
  if (name.empty()) throw Error("which run?", kVerdict, "./isobar verdict last; ./isobar runs lists them");
  const std::filesystem::path folder = find_shown_run(name);
  check_run_folder(folder);
  const RunCase run = std::move(read_cases({folder}).front());
  const RunFacts facts = facts_of(run);
  const RunVerdict verdict = judge_run(run, find_quartet(run, facts), facts);
  verdict_report(run, verdict, text_columns()).print(json);
  return 0;
}

}  // namespace isobar
