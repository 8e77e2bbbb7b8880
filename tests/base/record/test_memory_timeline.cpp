#include <algorithm>

#include "core/files.h"
#include "record/memory_timeline.h"
#include "support/errors.h"
#include "support/made_memory.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// The text with one piece in place of another.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string refused(const std::string& text) {
  return error_of([&] { parse_memory(text, "memory-0000.jsonl"); });
}

/// 5,000 moments in three stages whose highest is `peak`, far from the others.
MemoryTimeline long_timeline(std::size_t peak) {
  MemoryTimeline out{.step_us = 5000};
  out.stages = {{"load", 0, 1000}, {"forward", 1000, 2500}, {"backward", 2500, 5000}};
  for (std::size_t i = 0; i < 5000; ++i) {
    MemoryMoment moment{.at_us = static_cast<std::int64_t>(i)};
    moment.bytes[5] = i == peak ? 9'000'000 : 1000 * (i % 37) + i;
    out.moments.push_back(moment);
  }
  return out;
}

}  // namespace

TEST_CASE("a memory timeline is read as it was written") {
  const MemoryTimeline made = made_memory();
  const MemoryTimeline read = parse_memory(memory_text(made), "here");
  CHECK(read.step == 2);
  CHECK(read.device == "cpu");
  CHECK(read.step_us == made.step_us);
  CHECK(read.program_bytes == 70'000'000);
  CHECK(read.peak_stage == "backward");
  CHECK(read.peak_module == "blocks.3");
  CHECK(read.allocations == 12);
  REQUIRE(read.owners == made.owners);
  REQUIRE(read.moments.size() == made.moments.size());
  for (std::size_t i = 0; i < made.moments.size(); ++i) {
    CHECK(read.moments[i].at_us == made.moments[i].at_us);
    CHECK(read.moments[i].bytes == made.moments[i].bytes);
    CHECK(read.moments[i].activations == made.moments[i].activations);
  }
  REQUIRE(read.stages.size() == 5);
  CHECK(read.stages[2].name == "forward");
  CHECK(read.stages[2].end_us == 4400);
  REQUIRE(read.largest.size() == 2);
  CHECK(read.largest[0].module == "blocks.0.mlp");
  CHECK(read.largest[1].category == MemoryCategory::weights);
  // 2 + 2 + 4 MB of states, 0.5 of a batch, 4 x 3 of activations, 2 of workspace.
  CHECK(read.peak_bytes() == 22'500'000);
  CHECK(read.peak_owner() == MemoryCategory::activations);
  CHECK(read.peak().at_us == 4400);
}

TEST_CASE("what a later version adds to a memory timeline is ignored") {
  std::string text = memory_text(made_memory());
  text = with(text, "{\"kind\":\"moment\",", "{\"kind\":\"moment\",\"weather\":\"fine\",\"swap_bytes\":7,");
  text += "{\"kind\":\"fragment\",\"bytes\":3}\n";
  CHECK(parse_memory(text, "here").peak_bytes() == 22'500'000);
}

TEST_CASE("damaged memory timelines are refused with the file and the line") {
  const std::string good = memory_text(made_memory());
  CHECK_THAT(refused(with(good, "\"schema\":1", "\"schema\":7")), says("schema 7") && says("line 1"));
  CHECK_THAT(refused(with(good, "{\"kind\":\"stage\",\"name\":\"forward\"", "{\"kind\":\"stage\",")),
             says("memory-0000.jsonl, line 4"));
  CHECK_THAT(refused(with(good, "\"weights_bytes\":2000000", "\"weights_bytes\":-5")),
             says("\"weights_bytes\" cannot be -5") && says("line 7"));
  CHECK_THAT(refused(with(good, "\"weights_bytes\":2000000", "\"weights_bytes\":2.5")),
             says("no whole number"));
  CHECK_THAT(refused(with(good, "\"weights_bytes\":2000000", "\"weights_bytes\":\"nan\"")),
             says("no whole number"));
  CHECK_THAT(refused(with(good, "\"category\":\"weights\"", "\"category\":\"hats\"")), says("\"hats\""));
  CHECK_THAT(refused(with(good, "\"begin_us\":400", "\"begin_us\":4")), says("the stage begins before"));
  CHECK_THAT(refused(with(good, "\"at_us\":1400", "\"at_us\":9999999")), says("lies before"));
  CHECK_THAT(refused(good.substr(good.find('\n') + 1)), says("does not begin") && says("line 1"));
  CHECK_THAT(refused(good.substr(0, good.rfind("{\"kind\":\"tensor\""))), says("cut short"));
  CHECK_THAT(refused(good.substr(0, good.size() - 5)), says("memory-0000.jsonl, line"));
  CHECK_THAT(refused(""), says("cut short"));
  CHECK_THAT(refused("[1, 2]\n"), says("no event"));
}

TEST_CASE("a thinned timeline keeps its peak, the ends of its stages, and its bound") {
  for (const std::size_t peak : {std::size_t{0}, std::size_t{999}, std::size_t{1700}, std::size_t{4999}}) {
    MemoryTimeline timeline = long_timeline(peak);
    const MemoryTimeline whole = timeline;
    thin_moments(timeline);
    CHECK(timeline.moments.size() <= kMostMoments);
    CHECK(timeline.moments.size() > kMostMoments / 2);
    CHECK(timeline.peak_bytes() == whole.peak_bytes());
    CHECK(timeline.peak().at_us == static_cast<std::int64_t>(peak));
    const auto has = [&](std::int64_t at_us) {
      return std::ranges::find(timeline.moments, at_us, &MemoryMoment::at_us) != timeline.moments.end();
    };
    CHECK((has(0) && has(999) && has(2499) && has(4999)));
    CHECK(std::ranges::is_sorted(timeline.moments, {}, &MemoryMoment::at_us));
  }
  MemoryTimeline few = made_memory();
  const std::size_t before = few.moments.size();
  thin_moments(few);
  CHECK(few.moments.size() == before);
}

TEST_CASE("a run without a memory timeline is refused with its file") {
  const TempFolder folder;
  CHECK_FALSE(has_memory(folder.path()));
  CHECK_THAT(error_of([&] { read_memory(folder.path(), 3); }),
             says("no memory timeline") && says("memory-0003.jsonl"));
  MemoryTimeline made = made_memory();
  made.rank = 3;
  write_memory(folder.path(), made);
  CHECK(has_memory(folder.path(), 3));
  CHECK(read_memory(folder.path(), 3).rank == 3);
}
