#include <algorithm>

#include "core/text.h"
#include "plot/memory_picture.h"
#include "support/errors.h"
#include "support/made_memory.h"
#include "support/recording_canvas.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

const PlannedBytes kPlanned = {{"weights", 2'000'000}, {"gradients", 2'000'000},   {"moments", 4'000'000},
                               {"buffers", 100'000},   {"activations", 9'000'000}, {"attention", 2'400'000},
                               {"working", 3'000'000}, {"program", 69'000'000}};

MemoryRun kept_run() { return {"every block kept", made_memory(), kPlanned}; }
MemoryRun recomputed_run() { return {"blocks recomputed", made_memory({.kept = 400'000}), {}}; }

std::string in_terminal(const Drawing& drawing, TextStyle::Glyphs glyphs = TextStyle::Glyphs::braille) {
  return isobar::joined(drawing_lines(drawing, {.glyphs = glyphs, .columns = 80}), "\n");
}

}  // namespace

TEST_CASE("categories at the peak stand beside those of the plan") {
  const std::vector<MemoryRow> rows = memory_rows(made_memory(), kPlanned);
  const auto row = [&](MemoryCategory category) {
    return *std::ranges::find(rows, category, &MemoryRow::category);
  };
  CHECK(row(MemoryCategory::activations).measured == 12'000'000);
  CHECK(row(MemoryCategory::activations).planned == 11'400'000);  // with the N x N matrices
  CHECK(*row(MemoryCategory::activations).off_percent() == Approx(-5));
  CHECK(row(MemoryCategory::communication).measured == 0);
  CHECK(row(MemoryCategory::communication).planned == 100'000);
  CHECK_FALSE(row(MemoryCategory::communication).off_percent());
  CHECK(row(MemoryCategory::workspace).planned == 3'000'000);
  CHECK(row(MemoryCategory::program).measured == 70'000'000);
  CHECK_FALSE(memory_rows(made_memory(), {}).front().planned);
  const auto shared = planned_categories({{"in_flight", 7}, {"host", 100}, {"buffers", 3}, {"others", 5}});
  CHECK((*shared)[static_cast<std::size_t>(MemoryCategory::communication)] == 10);
  CHECK((*shared)[static_cast<std::size_t>(MemoryCategory::workspace)] == 5);
  CHECK(peak_text(made_memory()) == "22.5 MB in backward, in blocks.3");
  CHECK(peak_owner_text(made_memory()) == "activations");
  CHECK(peak_owner_text(made_memory({.weights = 500'000, .kept = 100'000})) == "activations of blocks.3");
  CHECK(peak_owner_text(made_memory({.weights = 50'000'000})) == "moments");
}

TEST_CASE("a step's memory is drawn below its stages, with its peak and what was predicted") {
  const Drawing drawing = memory_drawing({kept_run()});
  CHECK_THAT(drawing.alt, says("22.5 MB") && says("activations 12.0 MB"));
  CHECK_THAT(drawing.note, says("step 3") && says("70.0 MB"));
  const std::string lines = in_terminal(drawing);
  for (const char* const words :
       {"forward", "backward", "peak 22.5 MB", "activations 12.0 MB", "predicted 22.5 MB", "moments 4.00 MB"})
    CHECK_THAT(lines, says(words));
  for (const std::string& line : drawing_lines(drawing, {.columns = 80}))
    CHECK(letters_of(line).size() <= 80);
  CHECK(in_terminal(drawing, TextStyle::Glyphs::words).find("22.5 MB") != std::string::npos);
  for (const char letter : in_terminal(drawing, TextStyle::Glyphs::ascii))
    CHECK((letter == '\n' || (letter >= ' ' && letter <= '~')));
  CHECK_THAT(drawing_svg(drawing), says("activations 12.0 MB") && says("<polygon"));
}

TEST_CASE("texts of memory pictures lie within them and cover no other") {
  for (const auto& runs : {std::vector{kept_run()}, std::vector{kept_run(), recomputed_run()}}) {
    for (const float width : {420.0F, 840.0F, 1200.0F}) {
      RecordingCanvas canvas;
      Sketch sketch(canvas, theme_of(false));
      const float end = memory_drawing(runs).body(sketch, {0, 0}, width);
      CHECK(canvas.reached().x0 >= -1);
      CHECK(canvas.reached().x1 <= width + 1);
      CHECK(canvas.reached().y1 <= end + 1);
      CHECK(covered_texts(canvas.texts()) == std::vector<std::string>());
    }
  }
}

TEST_CASE("two steps have the same axes of bytes and of time") {
  const std::vector<MemoryRun> runs = {kept_run(), recomputed_run()};
  const MemoryAxes axes = memory_axes(runs);
  CHECK(axes.most_bytes == 22'500'000);
  CHECK(axes.most_us == made_memory().step_us);
  CHECK(memory_axes({kept_run(), {"slow", made_memory({.block_us = 9000}), {}}}).most_us == 0);
  MemoryArea areas[2];
  for (std::size_t i = 0; i < 2; ++i) {
    RecordingCanvas canvas;
    Sketch sketch(canvas, theme_of(false));
    paint_memory(sketch, runs[i], axes, {0, 0}, 500, &areas[i]);
  }
  CHECK(areas[0].y.most == areas[1].y.most);
  CHECK(areas[0].x.most == areas[1].x.most);
  CHECK(areas[0].unit == 1e6);
  CHECK_FALSE(memory_drawing({}).body);
}

TEST_CASE("a run that recorded no memory has no picture of it") {
  const TempFolder folder;
  CHECK_THAT(own_memory({.folder = folder.path(), .reader = nullptr, .steady = {}, .note = ""}).nothing,
             says("recorded no step of its memory"));
  CHECK_THAT(error_of([&] { memory_run(folder.path()); }), says("memory-0000.jsonl"));
}

TEST_CASE("a predicted step is drawn pale with a dotted edge, and a cap where it is near") {
  MemoryRun run{"", made_memory(), {}, /*predicted=*/true, 90'000'000};
  run.timeline.step_us = 0;
  const Drawing drawing = memory_drawing({run});
  CHECK_THAT(drawing.note, says("predicted bytes of a rank"));
  const std::string svg = drawing_svg(drawing);
  CHECK_THAT(svg, says("cap less program") && says("part of the step by operations, %"));
  CHECK(svg != drawing_svg(memory_drawing({{"", run.timeline, {}, false, 90'000'000}})));
  run.limit_bytes = 1'000'000'000;  // far above: the line would flatten the picture
  CHECK_THAT(drawing_svg(memory_drawing({run})), !says("cap less"));
}
