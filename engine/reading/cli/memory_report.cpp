#include "cli/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "draw/svg_canvas.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr double kManyFold = 400;  ///< percent above which a factor reads better

std::string percent_text(std::optional<double> percent) {
  if (!percent) return "-";
  if (*percent > kManyFold) return fmt::format("{:.1f} x", 1 + *percent / 100);
  return std::abs(*percent) < 0.05 ? "0.0 %" : fmt::format("{:+.1f} %", *percent);
}

std::optional<double> percent_more(std::uint64_t base, std::uint64_t other) {
  if (base == 0) return std::nullopt;
  return 100 * (static_cast<double>(other) / static_cast<double>(base) - 1);
}

/// A row of one run: what it held, what was planned.
Row planned_row(const std::string& name, std::uint64_t measured, std::optional<std::uint64_t> planned) {
  Row out;
  out.cell("at the peak", name).cell("measured", human_bytes(measured));
  if (!planned) return out;
  const std::optional<double> off =
      measured > 0 && *planned > 0 ? percent_more(measured, *planned) : std::nullopt;
  return out.cell("predicted", human_bytes(*planned)).cell("off by", percent_text(off));
}

void add_categories(Report& out, const MemoryRun& run) {
  std::vector<Row> rows;
  std::uint64_t measured = 0, planned = 0;
  for (const MemoryRow& row : memory_rows(run.timeline, run.planned)) {
    if (row.category == MemoryCategory::program) {
      rows.push_back(
          planned_row("all tensors", measured, row.planned ? std::optional(planned) : std::nullopt));
    }
    rows.push_back(planned_row(name_of(row.category), row.measured, row.planned));
    measured += row.measured;
    planned += row.planned.value_or(0);
  }
  rows.push_back(
      planned_row("together", measured, run.planned.empty() ? std::nullopt : std::optional(planned)));
  out.table(table_of(rows), table_columns());
}

/// "embed 1.2 MB, blocks.0 to blocks.3 3.0 MB each, head 0.5 MB".
std::string parts_text(const MemoryTimeline& timeline) {
  const std::vector<std::uint64_t>& bytes = timeline.peak().activations;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t last = i;
    while (last + 1 < bytes.size() && bytes[last + 1] == bytes[i]) ++last;
    const std::string names =
        last > i ? timeline.owners[i] + " to " + timeline.owners[last] : timeline.owners[i];
    if (bytes[i] > 0)
      parts.push_back(fmt::format("{} {}{}", names, human_bytes(bytes[i]), last > i ? " each" : ""));
    i = last + 1;
  }
  return joined(parts);
}

void add_tensors(Report& out, const MemoryTimeline& timeline) {
  std::vector<Row> rows;
  for (const MemoryTensor& tensor : timeline.largest) {
    Row row;
    row.cell("largest then", name_of(tensor.category));
    row.cell("made by", tensor.module.empty() ? "-" : tensor.module);
    row.cell("in", tensor.stage.empty() ? "before" : tensor.stage).cell("bytes", human_bytes(tensor.bytes));
    rows.push_back(row);
  }
  out.table(table_of(rows, 3), table_columns());
}

/// Rows of several runs, whose differences are those to the first.
void add_comparison(Report& out, const std::vector<MemoryRun>& runs) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const auto& bytes_of) {
    Row row;
    row.cell("at the peak", name);
    const std::uint64_t base = bytes_of(runs.front());
    bool any = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::uint64_t bytes = bytes_of(runs[i]);
      any = any || bytes > 0;
      row.cell(runs[i].label, human_bytes(bytes));
      if (i > 0)
        row.cell(runs.size() == 2 ? "more" : fmt::format("more {}", i),
                 percent_text(percent_more(base, bytes)));
    }
    if (any) rows.push_back(row);
  };
  for (std::size_t i = 0; i < kHeldCategories; ++i)
    add(kMemoryCategories[i], [i](const MemoryRun& run) { return run.timeline.peak().bytes[i]; });
  add("all tensors", [](const MemoryRun& run) { return run.timeline.peak_bytes(); });
  add("program", [](const MemoryRun& run) { return run.timeline.program_bytes; });
  out.table(table_of(rows), table_columns());
}

void add_memory_picture(Report& out, const std::vector<MemoryRun>& runs) {
  out.drawn(drawing_lines(memory_drawing(runs), terminal_style()));
  out.line("");
}

void print_memory(const std::vector<MemoryRun>& runs, const NamedFile& svg, bool json) {
  Report out = memory_report(runs);
  if (!svg.path.empty()) {
    write_named_file(svg, drawing_svg(memory_drawing(runs)));
    out.labelled("picture", svg.path.string());
    out.json["svg"] = svg.path.string();
  }
  out.print(json);
}

}  // namespace

Report memory_report(const std::vector<MemoryRun>& runs) {
  Report out;
  const bool alone = runs.size() == 1;
  add_memory_picture(out, runs);
  if (alone) {
    const MemoryRun& run = runs.front();
    add_categories(out, run);
    out.line("");
    out.headed("peak",
               fmt::format("{}; most of it: {}", peak_text(run.timeline), peak_owner_text(run.timeline)));
    out.headed("parts", parts_text(run.timeline));
    out.line("");
    add_tensors(out, run.timeline);
    out.json = memory_json(run.timeline, run.planned);
    return out;
  }
  add_comparison(out, runs);
  out.line("");
  for (const MemoryRun& run : runs)
    out.wrapped(fmt::format("{}: {}; most of it: {}; the step took {:.1f} ms", run.label,
                            peak_text(run.timeline), peak_owner_text(run.timeline),
                            static_cast<double>(run.timeline.step_us) * 1e-3));
  out.json["runs"] = Json::array();
  for (const MemoryRun& run : runs) {
    Json one = {{"run", run.label}};
    add_members(one, memory_json(run.timeline, run.planned));
    out.json["runs"].push_back(one);
  }
  return out;
}

void show_memory(const fs::path& run, int rank, const NamedFile& svg, bool json) {
  const RunView view = glance(run);
  if (rank >= view.summary.world)
    throw Error(fmt::format("the run has no rank {}", rank), "--rank",
                view.summary.world == 1 ? "it is of one process: leave it out"
                                        : fmt::format("from 0 to {}", view.summary.world - 1));
  MemoryRun shown = memory_run(run, printable(run.filename().string()), rank);
  if (view.summary.world > 1) shown.label += fmt::format(", rank {} of {}", rank, view.summary.world);
  print_memory({shown}, svg, json);
}

void compare_memory(const std::vector<fs::path>& runs, const NamedFile& svg, bool json) {
  std::vector<MemoryRun> shown;
  std::set<std::string> labels;
  for (const fs::path& run : runs) {
    std::string label = printable(run.filename().string());
    for (int again = 2; !labels.insert(label).second; ++again)
      label = fmt::format("{} ({})", printable(run.filename().string()), again);
    shown.push_back(memory_run(run, label));
  }
  print_memory(shown, svg, json);
}

NamedFile named_svg(const std::string& path, bool replace) {
  if (!path.empty() && fs::path(path).extension() != ".svg")
    throw Error("a picture is an .svg file", "--svg " + printable(path, 4096), "--svg memory.svg");
  return {.path = path, .option = "--svg", .kind = "picture", .mark = kSvgMark, .replace = replace};
}

}  // namespace isobar
