#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <set>

#include "analyse/run_case.h"
#include "core/files.h"
#include "core/pattern.h"
#include "core/text.h"
#include "fields/npy.h"
#include "page/report_page.h"
#include "support/catch.h"
#include "support/made_runs.h"
#include "support/says.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

std::string page_of(const std::vector<fs::path>& runs, const CourseProgress* answers = nullptr,
                    const ReportWish& wish = {}) {
  return report_page(read_cases(runs), answers, project_home(), wish);
}

/// Elements that HTML lets stand without an end.
bool is_void(const std::string& name) {
  static const std::set<std::string> kVoid = {"meta", "link", "br", "hr", "img", "input", "col"};
  return kVoid.count(name) != 0;
}

/// The first element that is not closed in its place, "" where all are. Texts and attributes hold no '<' or
/// '>'.
std::string unbalanced(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) return page.substr(at, 40);
    const bool closes = page[at + 1] == '/', stands_alone = page[end - 1] == '/' || page[at + 1] == '!';
    const std::size_t begin = at + (closes ? 2 : 1);
    const std::string name = page.substr(begin, page.find_first_of(" >\n", begin) - begin);
    if (stands_alone || is_void(name)) continue;
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + ">";
      open.pop_back();
    } else {
      open.push_back(name);
    }
    if (!closes && name == "style") at = page.find("</style>", at) - 1;  // its rules have '>' of their own
  }
  return open.empty() ? "" : open.back();
}

void check_page(const std::string& page) {
  CHECK(page.rfind("<!DOCTYPE html>", 0) == 0);
  CHECK(unbalanced(page).empty());
  CHECK(page.find("<script") == std::string::npos);
  for (const auto& used : matches_of(page, R"((src|href)="([^"]{0,22})|url\((#?))"))
    CHECK((used[2].starts_with("#") || used[2] == "data:image/png;base64," || used[3] == "#"));
  std::set<std::string> ids;
  for (const auto& id : matches_of(page, "[ ]id=\"([^\"]*)\"")) CHECK(ids.insert(id[1]).second);
  for (const auto& used : matches_of(page, R"(url\(#([^)]*)\)|href="#([^"]*)\")"))
    CHECK(ids.count(used[1].empty() ? used[2] : used[1]) == 1);
}

}  // namespace

TEST_CASE("two runs with repeats make a page with all its parts") {
  MadeRuns made;
  const fs::path slow = made.add_three("slow", {.keys = {{"data.workers", "0"}}, .persistence = 0.9});
  MadeSteps faster{.keys = {{"data.workers", "4"}}, .lesson = "02_workers", .persistence = 0.9};
  faster.stage_ms["load"] = 0.2;
  const fs::path fast = made.add_three("fast", faster);
  const std::string page = page_of({slow, fast}, nullptr, {.author = "Ada"});
  check_page(page);
  for (const char* part :
       {"id=\"runs\"", "id=\"compared\"", "id=\"ladder\"", "id=\"curves\"", "id=\"anatomy\"",
        "id=\"settings\"", "id=\"hardware\"", "by Ada", ">vs A</th>", ">base</td>", "B is faster than A",
        "data.workers", "main cause: load", "<title>A 01_baseline: ", "validation loss by step"}) {
    INFO(part);
    CHECK_THAT(page, says(part));
  }
}

TEST_CASE("the page says the figures that the runs have") {
  MadeRuns made;
  const fs::path run = made.add("one", {});
  const auto cases = read_cases({run});
  const std::string page = report_page(cases, nullptr, project_home(), {});
  check_page(page);
  CHECK_THAT(page, says(fmt::format("{:.1f}", cases[0].view().summary.samples_per_s)));
  CHECK_THAT(page, says(fmt::format("{:.4f}", cases[0].view().summary.valid_loss)));
  CHECK(page.find("id=\"compared\"") == std::string::npos);
  CHECK(page.find("vs A") == std::string::npos);
  CHECK(page.find("id=\"settings\"") == std::string::npos);
}

TEST_CASE("what all runs ran on is said once, what differs for each") {
  MadeRuns made;
  const auto add = [&](const char* name, const char* threads) {
    return made.add(name,
                    {.keys = {{"environment.cpu", "\"one of both\""}, {"environment.threads", threads}}});
  };
  const std::string page = page_of({add("2026-01-02T03:04:05Z", "7"), add("b", "8")});
  check_page(page);
  CHECK_THAT(page, says("<th scope=\"row\">cpu</th><td>one of both</td></tr>"));
  CHECK_THAT(page, says("<th scope=\"row\">threads</th><td>7</td><td>8</td></tr>"));
  CHECK_THAT(page, says("<td>2026-01-02 03:04 UTC</td>"));
}

TEST_CASE("names, settings and reasons of a run cannot become markup") {
  MadeRuns made;
  MadeSteps bad{.keys = {{"environment.command", "\"</code><script>x</script>\""},
                         {"environment.device_is", "\"<img src=x onerror=alert(1)>\""}},
                .lesson = "<b>01\"baseline",
                .reason = "</section>"};
  bad.end = "failed";
  const fs::path run = made.add("a<i>b&c", bad);
  const std::string page = page_of({run});
  check_page(page);
  CHECK(page.find("<b>01") == std::string::npos);
  CHECK(page.find("<i>b") == std::string::npos);
  CHECK(page.find("<img") == std::string::npos);
}

TEST_CASE("losses that are no numbers, runs without steps, and fields that are none do not stop a page") {
  MadeRuns made;
  MadeSteps broken;
  broken.loss = [](int step) { return step > 5 ? std::nan("") : 1.0; };
  const fs::path diverged = made.add("diverged", broken);
  const fs::path empty = made.add("empty", {.steps = 0, .end = ""});
  fs::create_directories(diverged / "fields");
  write_file_whole(diverged / "fields/step-000010.npy", std::string_view("no array"));
  const std::string page = page_of({diverged, empty});
  check_page(page);
  CHECK_THAT(page, says("A: its fields cannot be read"));
}

TEST_CASE("maps are target, forecast and their difference, as pictures within the page") {
  MadeRuns made;
  const fs::path run = made.add("maps", {});
  fs::create_directories(run / "fields");
  const std::vector<std::int64_t> shape = {3, 1, 4, 8};
  std::vector<float> values(96, 0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7);
  values[40] = std::nanf("");
  write_npy(run / "fields/step-000010.npy", shape, values);
  const std::string page = page_of({run});
  check_page(page);
  CHECK_THAT(page, says("id=\"maps\"") && says("href=\"data:image/png;base64,") && says("after 10 steps"));
  CHECK(page_of({run}, nullptr, {.maps = false}).find("id=\"maps\"") == std::string::npos);
}

TEST_CASE("beside a run of many more steps the short ones have figures of their own") {
  MadeRuns made;
  const fs::path brief = made.add("short", {.steps = 20}), endless = made.add("long", {.steps = 500});
  CHECK_THAT(page_of({brief, endless}), says("training loss by step: the shorter runs"));
  CHECK_THAT(page_of({brief, made.add("other", {.steps = 40})}), !says("the shorter runs"));
}

TEST_CASE("fifty runs make a page") {
  MadeRuns made;
  std::vector<fs::path> runs;
  for (int i = 0; i < 50; ++i)
    runs.push_back(made.add("run" + std::to_string(i),
                            {.factor = 1 + 0.02 * i, .keys = {{"data.workers", std::to_string(i)}}}));
  const auto begin = std::chrono::steady_clock::now();
  const std::string page = page_of(runs);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("a report of 50 runs: {:.1f} s, {}\n", took.count(), human_bytes(page.size()));
  check_page(page);
  CHECK_THAT(page, says("<th scope=\"row\">50</th><td>run49</td>") && says("A and 50: "));
  CHECK_THAT(page, says("Drawn are the first 8 runs."));
}

TEST_CASE("answers are told as they were given, and no truth before its reveal") {
  MadeRuns made;
  const fs::path run = made.add("one", {});
  CourseProgress progress;
  StoredAnswer answer;
  answer.id = "01.no_such";
  answer.text = "<u>24";
  answer.lesson = "01_baseline";
  progress.answers.push_back(answer);
  const std::string page = page_of({run}, &progress);
  check_page(page);
  CHECK_THAT(page, says("id=\"answers\"") && says("&lt;u&gt;24") && says("committed"));
  CHECK_THAT(page_of({run}, nullptr), !says("id=\"answers\""));
}
