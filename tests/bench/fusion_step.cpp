#include "bench/fusion_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/case_sheet.h"
#include "bench/step_sides.h"
#include "core/clock.h"
#include "support/temp_folder.h"

namespace isobar {
namespace {

constexpr double kBlock_ms = 600;
constexpr std::int64_t kCase_us = 240'000'000;  // a busy machine gets fewer pairs, not hours
constexpr int kFewestPairs = 3;

struct Form {
  std::string name;
  PairedRow row;
};

std::vector<Form> forms_of(const FusedStep& wanted, const std::string& eager) {
  const auto form = [](const std::string& name, const std::string& row, const std::string& peer) {
    Form out{name, {}};
    out.row.name = row;
    out.row.unit = "ms";
    out.row.peer_name = peer;
    return out;
  };
  std::vector<Form> out = {form(eager, "step, eager", "PyTorch 2.11.0 eager, Adam " + eager),
                           form("fused", "step, fused Adam", "PyTorch 2.11.0 eager, Adam fused=True")};
  if (wanted.compiles)
    out.push_back(form("compiled", "step, compiled", "torch.compile 2.11.0, Adam fused=True"));
  return out;
}

}  // namespace

void measure_fused_step(const FusedStep& wanted, const std::filesystem::path& peers, BenchReport& report) {
  const TempFolder folder;
  nlohmann::ordered_json sheet = case_sheet(wanted.preset, wanted.device, wanted.threads);
  sheet["fused"] = true;
  StepSides sides(folder.path(), sheet, peers, {"TORCHINDUCTOR_CACHE_DIR=" + (folder / "compiled").string()});
  double worst = sides.largest_difference("loop");
  const double about_ms = step_block(sides.ours, 3)["step"];
  const int steps = report.quick() ? 3 : std::clamp(static_cast<int>(kBlock_ms / about_ms), 4, 40);
  std::vector<Form> forms = forms_of(wanted, sides.better_form(steps));
  for (const Form& form : forms) {
    const double first_s = sides.peer.ask("reset " + form.name, kStepPatience_s)["first_s"];
    if (first_s > 0) report.say(fmt::format("{}: the first step took {:.1f} s", form.row.name, first_s));
    worst = std::max(worst, sides.largest_difference(form.name));
  }
  const std::int64_t begin_us = steady_us();
  for (int pair = 0; pair < wanted.pairs; ++pair) {
    if (pair >= kFewestPairs && steady_us() - begin_us > kCase_us) break;
    for (Form& form : forms) {
      sides.peer.ask("reset " + form.name, kStepPatience_s);
      form.row.ours.push_back(step_block(sides.ours, steps)["step"]);
      form.row.peer.push_back(step_block(sides.peer, steps)["step"]);
    }
  }
  const double floor_ms =
      wanted.device == "cpu" ? sides.ours.ask("floor", kStepPatience_s)["ms"].get<double>() : 0;
  const auto fastest = std::min_element(forms.begin(), forms.end(), [](const Form& a, const Form& b) {
    return median(a.row.peer) < median(b.row.peer);
  });
  report.say(fmt::format(
      "step of lesson 05, {}: {} threads, losses of ten steps agree to {:.1g}; {} pairs of {} steps",
      wanted.preset, wanted.threads, worst, forms.front().row.ours.size(), steps));
  for (Form& form : forms) {
    form.row.floor = floor_ms;
    report.add(form.row);
  }
  fastest->row.name = "step";
  fastest->row.least_ratio = 1;
  report.say("the fastest of them: " + fastest->row.peer_name);
  report.add(fastest->row);
}

}  // namespace isobar
