
#include "core/json.h"
#include "core/text.h"
#include "log/gradient_histograms.h"
#include "log/stream_folder.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_gradient_histograms {

namespace {

std::string line_of(std::int64_t step, double scale, const std::vector<float>& values) {
  GradientHistogram histogram{.step = step, .scale = scale};
  histogram.add(values);
  return gradients_event(histogram, 5).text();
}

std::vector<GradientHistogram> read(const std::string& text) {
  return read_gradient_histograms(StreamFolder(text).path());
}

}  // namespace

TEST_CASE("histograms are read as they were written, and found by their step") {
  const std::vector<GradientHistogram> all =
      read(line_of(0, 1, {1.0F, 0.0F}) + JsonLine("step").add("step", 1).text() +
           line_of(10, 4, {2.0F, 3.0F, 1e-9F}));
  REQUIRE(all.size() == 2);
  CHECK(all[0].zero == 1);
  CHECK(all[1].scale == 4);
  CHECK(all[1].at(1) == 2);
  CHECK(all[1].values() == 3);
  CHECK(histogram_at(all, 0).step == 0);
  CHECK(histogram_at(all, 9).step == 0);
  CHECK(histogram_at(all, 10).step == 10);
  CHECK(histogram_at(all, -1).step == 10);
  CHECK_THAT(error_of([&] { histogram_at({all[1]}, 9); }), says("at or before step 9") && says("of step 10"));
}

TEST_CASE("a resumed run's histograms are those of its newest attempt") {
  const std::vector<GradientHistogram> all =
      read(line_of(0, 1, {1.0F}) + line_of(10, 1, {1.0F}) + line_of(20, 1, {1.0F}) +
           JsonLine("run").add("attempt", 1).add("from_step", 10).text() + line_of(10, 1, {0.0F}));
  REQUIRE(all.size() == 2);
  CHECK(all[1].step == 10);
  CHECK(all[1].zero == 1);
}

TEST_CASE("a run without histograms says how to get some") {
  CHECK_THAT(error_of([] { read(JsonLine("step").add("step", 1).text()); }), says("amp.histogram_every"));
}

TEST_CASE("what fp16 loses is said and drawn between its limits") {
  const std::string text = joined(
      gradient_lines(read(line_of(3, 1, {0.0F, 5e-10F, 5e-10F, 1e-5F, 1.0F, 1.0F, 1.0F, 1e5F})).front()));
  CHECK_THAT(text, says("gradients of step 3, the loss not scaled: 8 values"));
  CHECK_THAT(text, says("12.5 % of them have fewer digits and 25 % become zero; 12.5 % are zero already"));
  CHECK_THAT(text, says("scaled by 65536 it would be 25 % and 0 %"));
  const std::size_t subnormal = text.find("smaller ones are zero");
  const std::size_t normal = text.find("smaller ones have fewer digits");
  const std::size_t infinite = text.find("larger ones are infinite");
  CHECK((text.find("2^-31 ") < subnormal && subnormal < text.find("2^-17 ")));
  CHECK((text.find("2^-17 ") < normal && normal < text.find("  2^0 ")));
  CHECK((text.find("  2^0 ") < infinite && infinite < text.find("  2^16 ")));
  const std::string scaled = joined(gradient_lines(read(line_of(3, 1024, {1.0F})).front()));
  CHECK_THAT(scaled, says("the loss scaled by 1024: 1 values"));
  CHECK(scaled.find("would be") == std::string::npos);
  const Json json = Json::parse(gradients_json(read(line_of(3, 2, {1.0F, 0.0F})), "one").text());
  CHECK(json["run"] == "one");
  CHECK(json["histograms"][0]["counts"] == Json{{"0", 1}});
  CHECK(json["histograms"][0]["zero"] == 1);
}

TEST_CASE("the largest and the least numbers of fp32 have lines of their own") {
  const std::string text = joined(gradient_lines(read(line_of(0, 1, {3e38F, 1e-40F})).front()));
  CHECK_THAT(text, says("  2^127 ") && says(" 2^-127 "));
}

TEST_CASE("nothing but zeros, and nothing at all, can be drawn") {
  CHECK_THAT(joined(gradient_lines(read(line_of(0, 1, {0.0F})).front())), says("100 %"));
  CHECK_THAT(joined(gradient_lines(read(line_of(0, 1, {})).front())), says("0 values"));
}

TEST_CASE("hostile histograms are left out, or cut to what can be counted") {
  CHECK_THROWS_AS(read("{\"kind\":\"gradients\"}\n{\"kind\":\"gradients\",\"step\":-3}\n"
                       "{\"kind\":\"gradients\",\"step\":1,\"scale\":0}\n"
                       "{\"kind\":\"gradients\",\"step\":1,\"scale\":\"nan\"}\n"),
                  Error);
  const GradientHistogram histogram =
      read(
          "{\"kind\":\"gradients\",\"step\":1,\"zero\":-5,\"nonfinite\":1e300,\"e0\":\"inf\",\"e1\":\"nan\","
          "\"e2\":-1,\"e3\":3,\"e128\":9,\"e-128\":9,\"e\":9,\"e3x\":9,\"e99999999999\":9,\"e4\":[1]}\n")
          .front();
  CHECK(histogram.values() == 3);
  CHECK_NOTHROW(gradient_lines(histogram));
  std::string many;
  for (int step = 0; step < 5000; ++step) many += line_of(step, 1, {1.0F});
  CHECK(read(many).size() == kMostHistograms);
  CHECK(read(many).back().step == 4999);
}

}  // namespace isobar::test_gradient_histograms
