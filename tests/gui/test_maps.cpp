// Maps: forecast beside persistence, and how they play over the validations.
#include <cmath>

#include "draw/field_map.h"
#include "fields/npy.h"
#include "gui/headless.h"
#include "panels/parts.h"
#include "record/run_folder.h"
#include "support/catch.h"
#include "support/set_clock.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kRows = 4, kColumns = 8, kChannels = 3;

/// A sample whose persistence is off by 2 and whose forecast is off by `error`, but for the poles, which have
/// no weight: there it is off by 3.
void write_fields(const fs::path& run, std::int64_t step, float error) {
  std::vector<float> values;
  for (const int which : {0, 1, 2}) {
    for (std::size_t i = 0; i < kChannels * kRows * kColumns; ++i) {
      const std::size_t row = i / kColumns % kRows;
      const float off = which == 2 && (row == 0 || row == kRows - 1) ? 3 : which == 2 ? error : 0;
      values.push_back(static_cast<float>(i % kColumns) + (which == 0 ? 2.0F : off));
    }
  }
  write_npy(RunFolder{run}.fields_file(step), std::vector<std::int64_t>{3, kChannels, kRows, kColumns},
            values);
}

FieldSet set_of(const std::string& run, const std::vector<float>& values) {
  return {{1, 1, 2, values}, run, 10};
}

std::shared_ptr<const FieldSet> shared(FieldSet set) {
  return std::make_shared<const FieldSet>(std::move(set));
}

Colour first_pixel(const MapsState& maps, MapPart part) {
  const auto& rgba = maps.pictures[static_cast<std::size_t>(part)]->rgba;
  return rgb(static_cast<std::uint32_t>(rgba[0] << 16 | rgba[1] << 8 | rgba[2]));
}

}  // namespace

TEST_CASE("Forecast and persistence are scored by one formula and drawn with equal limits") {
  MapsState maps;
  // input, target, prediction of two places
  update_pictures(maps, shared(set_of("a", {0, 4, 2, 2, 1, 3})), 0);
  CHECK(maps.rmse == Approx(1));
  CHECK(maps.persistence_rmse == Approx(2));
  CHECK(maps.error_most == 2);
  CHECK(maps.least == 0);
  CHECK(maps.most == 4);
  // The error of -1 is half as far from white as that of -2, since they share a scale.
  CHECK(first_pixel(maps, MapPart::error) == map_colour(MapColours::diverging, std::floor(0.25 * 255) / 255));
  CHECK(first_pixel(maps, MapPart::persistence_error) == map_colour(MapColours::diverging, 0));
  CHECK(first_pixel(maps, MapPart::persistence) == map_colour(MapColours::sequential, 0));
  CHECK(first_pixel(maps, MapPart::target) ==
        map_colour(MapColours::sequential, std::floor(0.5 * 255) / 255));
}

TEST_CASE("An ensemble's spread stands beside the size of its error, by one scale, or persistence does") {
  MapsState maps;
  // input, target, prediction and spread of two places
  const auto set = shared(set_of("a", {0, 4, 2, 2, 1, 4, 0.5F, 1}));
  REQUIRE(set->has_spread());
  update_pictures(maps, set, 0);
  CHECK(maps.drawn_spread);
  CHECK(maps.spread_most == 2);  // the error of 2
  CHECK(first_pixel(maps, MapPart::persistence) ==
        map_colour(MapColours::sequential, std::floor(0.25 * 255) / 255));
  CHECK(first_pixel(maps, MapPart::persistence_error) ==
        map_colour(MapColours::sequential, std::floor(0.5 * 255) / 255));
  maps.spread = false;
  update_pictures(maps, set, 0);
  CHECK_FALSE(maps.drawn_spread);
  CHECK(first_pixel(maps, MapPart::persistence) == map_colour(MapColours::sequential, 0));
  maps.spread = true;
  update_pictures(maps, shared(set_of("a", {0, 4, 2, 2, 1, 4})), 0);
  CHECK_FALSE(maps.drawn_spread);  // there is none
}

TEST_CASE("A spread's scale begins anew with another run, though it was not drawn when that was chosen") {
  MapsState maps;
  const auto wide = shared(set_of("a", {0, 4, 2, 2, 1, 8, 0.5F, 9})),
             narrow = shared(set_of("b", {0, 4, 2, 2, 1, 4, 1, 1}));
  update_pictures(maps, wide, 0);
  CHECK(maps.spread_most == 9);
  maps.spread = false;
  update_pictures(maps, wide, 0);
  CHECK(maps.spread_most == 9);  // that run is looked at still
  update_pictures(maps, narrow, 0);
  maps.spread = true;
  update_pictures(maps, narrow, 0);
  CHECK(maps.spread_most == 2);
}

TEST_CASE("While one channel of one run is looked at its limits only grow; another begins anew") {
  MapsState maps;
  update_pictures(maps, shared(set_of("a", {0, 1, 0, 1, 9, -9})), 0);
  CHECK(maps.error_most == 10);
  update_pictures(maps, shared(set_of("a", {0, 1, 0, 1, 0, 1})), 0);
  CHECK(maps.error_most == 10);
  CHECK(maps.least == -9);
  CHECK(maps.rmse == 0);
  update_pictures(maps, shared(set_of("b", {0, 1, 0, 1, 0, 1})), 0);
  CHECK(maps.error_most == 1);  // no error at all: any scale will do
  CHECK(maps.least == 0);
  update_pictures(maps, shared(set_of("c", {NAN, NAN, NAN, NAN, NAN, NAN})), 0);
  CHECK(maps.most > maps.least);
  CHECK(std::isfinite(maps.most));
}

TEST_CASE(
    "Maps play over the validations, a frame when the next is due and none else, and stop at the last") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "one"});
  write_fields(run, 10, 4);
  write_fields(run, 20, 2);
  write_fields(run, 40, 1);
  SetClock clock;
  Headless window(options_in(folder));
  window.settle();
  window.click("Maps");
  const auto shows = [&](std::int64_t step) {
    window.settle();
    return window.state().maps.drawn->step == step;
  };
  REQUIRE(shows(40));
  CHECK(window.state().maps.rmse == Approx(1).epsilon(1e-6));
  CHECK_FALSE(window.app().poll());
  window.click("play maps");  // from the first on
  REQUIRE(shows(10));
  CHECK(window.state().maps.rmse == Approx(4).epsilon(1e-6));
  CHECK(window.state().maps.persistence_rmse == Approx(2).epsilon(1e-6));
  const auto goes_on = [&](std::int64_t to) {
    clock.advance_us(400'000);
    CHECK_FALSE(window.app().poll());
    clock.advance_us(100'000);
    CHECK(window.app().poll());
    return shows(to);
  };
  CHECK(goes_on(20));
  CHECK(goes_on(40));
  clock.advance_us(500'000);
  CHECK(window.app().poll());
  window.frames();
  CHECK_FALSE(window.state().maps.playing);
  clock.advance_us(5'000'000);
  CHECK_FALSE(window.app().poll());
  window.click("<");
  CHECK(shows(20));
  window.click("play maps");
  window.click("play maps");  // pause
  clock.advance_us(5'000'000);
  CHECK_FALSE(window.app().poll());
  const Box track = window.box("map step");
  window.click_at(track.x0 + 4, (track.y0 + track.y1) / 2);
  CHECK(shows(10));
}

TEST_CASE("The maps of an ensemble have a box to tick for its spread, those of one forecast have none") {
  const TempFolder one, several;
  write_fields(write_run(one, {.name = "one"}), 40, 1);
  {
    Headless plain(options_in(one));
    plain.settle();
    plain.click("Maps");
    plain.settle();
    REQUIRE(plain.state().maps.drawn);
    CHECK_FALSE(plain.has("map spread"));
  }
  write_npy(RunFolder{write_run(several, {.name = "one"})}.fields_file(40),
            std::vector<std::int64_t>{4, kChannels, kRows, kColumns},
            std::vector<float>(4 * kChannels * kRows * kColumns, 0.5F));
  Headless window(options_in(several));
  window.settle();
  window.click("Maps");
  window.settle();
  REQUIRE(window.has("map spread"));
  CHECK(window.state().maps.drawn_spread);
  CHECK(window.state().maps.rms_spread == Approx(0.5));
  window.click("map spread");
  window.settle();
  CHECK_FALSE(window.state().maps.drawn_spread);
}

TEST_CASE("Maps open on the channel that is watched") {
  const TempFolder folder;
  write_fields(write_run(folder, {.name = "one"}), 40, 1);
  Headless window(options_in(folder));
  window.settle();
  window.click("channel");
  window.click("t2m");
  window.click("Maps");
  window.settle();
  CHECK(window.state().maps.drawn_channel == 2);
  window.click("map channel");
  window.click("v10m");
  CHECK(window.state().maps.drawn_channel == 1);
  window.click("Watch");
  window.click("channel");
  window.click("u10m");
  window.click("Maps");
  window.settle();
  CHECK(window.state().maps.drawn_channel == 0);
}
