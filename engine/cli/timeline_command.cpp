#include "cli/timeline_command.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "analyse/chrome_trace.h"
#include "analyse/run_reader.h"
#include "analyse/timeline_text.h"
#include "core/error.h"
#include "core/text.h"
#include "record/console.h"

namespace isobar {

std::int64_t parse_steps(const std::string& option, const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc{} && end == text.data() + text.size() && value >= least) return value;
  throw Error("\"" + printable(text, 40) + "\" is no number of steps", option,
              option + " takes a whole number from " + std::to_string(least) + " on");
}

void show_timeline(const std::filesystem::path& run, const TimelineRequest& request) {
  RunReader reader(run, /*keep_series=*/true);
  while (reader.update()) {
  }
  const SpanTable table = read_spans(run);
  const std::string name = run.filename().string();
  Console console;
  if (request.trace_file) {
    const std::string& file = *request.trace_file;
    if (std::filesystem::path(file).extension() != ".json") {
      throw Error("a trace is a .json file", printable(file), "./isobar show RUN --trace trace.json");
    }
    const std::string lesson = reader.view().lesson;
    write_chrome_trace(file, table, reader.series(),
                       {.rank = 0, .name = "rank 0" + (lesson.empty() ? "" : ": " + lesson)});
    if (!request.json)
      console.line("written: " + file + " (open it at https://ui.perfetto.dev or chrome://tracing)");
  }
  if (!request.draw && !request.json) return;
  const Timeline timeline = make_timeline(table, reader.series(), request.wish);
  if (request.json) {
    std::printf("%s\n", timeline_json(table, timeline, name).c_str());
    return;
  }
  const bool colour = console.is_terminal() && std::getenv("NO_COLOR") == nullptr;
  console.line(name);
  for (const std::string& line : draw_timeline(table, timeline, {terminal_columns(), colour}))
    console.line(line);
  console.line("");
  for (const std::string& line : timeline_lines(table, timeline)) console.line(line);
}

}  // namespace isobar
