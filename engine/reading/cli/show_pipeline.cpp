#include "cli/show_pipeline.h"

#include <fmt/format.h>

#include "analyse/pipeline_run.h"
#include "core/error.h"
#include "core/text.h"
#include "plot/pipeline_picture.h"

namespace isobar {

void add_pipeline_step(Report& report, const std::filesystem::path& run, StepRange steady,
                       std::int64_t wanted) {
  std::optional<PipelineRun> pipeline;
  try {
    pipeline = read_pipeline(run, steady, wanted);
  } catch (const Error& error) {
    report.wrapped(fmt::format("no picture of the pipeline: {}; {}", error.what(), error.hint()));
    report.line("");
  }
  if (!pipeline) return;
  report.json["pipeline"] = pipeline_json(*pipeline);
  const std::string title =
      fmt::format("{}: step {} of its pipeline", printable(run.filename().string()), pipeline->drawn.step);
  report.drawn(drawing_lines(pipeline_drawing(pipeline->drawn, title), terminal_style()));
  for (const std::string& sentence : pipeline_sentences(*pipeline)) report.wrapped(sentence);
  report.line("");
}

}  // namespace isobar
