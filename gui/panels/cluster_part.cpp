#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "core/find.h"
#include "core/text.h"
#include "draw/axis.h"
#include "panels/parts.h"
#include "widgets/plot_widget.h"

namespace isobar {
namespace {

constexpr float kTermsWidth = 260, kLeastPlot = 220, kAside = 5, kWordsLine = 22;
constexpr double kRoom = 0.04;  ///< part of the x axis left of one GPU and right of the last
/// Where the GPU of a cluster, its efficiency, its samples/s and its largest loss stand.
constexpr std::array<float, 4> kClusterColumns = {170, 260, 385, 540};
constexpr std::array<float, 2> kSplitColumns = {105, 190};
constexpr int kMostGpus = 4096;

struct TermKnob {
  const char* name;
  const char* title;
  std::vector<double> places;  ///< the fitted one is added
};

const std::vector<TermKnob>& term_knobs() {
  static const std::vector<TermKnob> kTermKnobs = {
      {"jitter", "Jitter", {0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3}},
      {"efficiency", "Efficiency of links", {0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}},
      {"falloff", "Falloff a doubling", {0, 0.02, 0.03, 0.1, 0.15, 0.2, 0.3, 0.5}},
      {"contention", "Contention", {0, 0.05, 0.15, 0.2, 0.3, 0.5, 0.8}}};
  return kTermKnobs;
}

/// Brings up to date what is asked: at first of two clusters.
void ask_clusters(const Data& data, const LessonCard& card, const FormState& form, ClusterPlay& mine) {
  const bool first = mine.machines.empty();
  if (!mine.looked) {
    mine.looked = true;
    mine.problems.clear();
    mine.machines = known_clusters(data.project.home, mine.problems);
    for (std::size_t i = 0; first && i < std::min<std::size_t>(2, mine.machines.size()); ++i)
      mine.chosen.insert(mine.machines[i].name);
  }
  ClusterAsk& ask = mine.wanted;
  ask.home = data.project.home;
  ask.lesson = card.info.name;
  ask.preset = form.picked ? form.preset : "";
  ask.sets.clear();
  for (const auto& [key, value] : form.changed)
    if (key != "run.ranks") ask.sets.push_back(key + "=" + value);
  ask.machines.clear();
  for (const ClusterMachine& machine : mine.machines)
    if (mine.chosen.contains(machine.name)) ask.machines.push_back(machine);
  mine.answers.take(ask, card.info, answer_to);
}

std::string with_range(const OpenRange& range, double unit) {
  const auto text = [&](double value) { return engineering(unit * value, 3); };
  return text(range.middle) +
         (range.is_open() ? fmt::format(" ({} to {})", text(range.least), text(range.most)) : "");
}

std::string cluster_facts(const ClusterMachine& machine) {
  std::string out = fmt::format(
      "{} {} a node, computing as {}; {:g} GB/s inside, {:g} GB/s a GPU between nodes", machine.gpus_per_node,
      machine.gpu, machine.rates, machine.inside_gb_s, machine.between_gb_s);
  for (const UnknownTerm& term : machine.unknown)
    out += fmt::format("\nnot published: {}, {:g} to {:g}", term.key, term.least, term.most);
  return out;
}

/// What a cluster keeps in table and plot.
struct ClusterLook {
  Colour colour;
  Mark mark;
};

ClusterLook look_of(const Ui& ui, const ClusterPlay& mine, const std::string& name) {
  const auto at = std::ranges::find(mine.machines, name, &ClusterMachine::name);
  const auto index = static_cast<std::size_t>(at - mine.machines.begin());
  const auto& series = ui.theme().series;
  return {series[index % series.size()], static_cast<Mark>(index % static_cast<std::size_t>(Mark::cross))};
}

/// A row with a box to tick for each cluster, and what came of it.
void draw_cluster_rows(Ui& ui, ClusterPlay& mine, const ClusterAnswer* answer) {
  const auto cells = [&](Face face, Colour colour, const std::array<std::string, 4>& words) {
    for (std::size_t i = 0; i < words.size(); ++i)
      ui.at_x(ui.px(kClusterColumns[i])).fitted(words[i], face, colour);
  };
  const Colour dim = ui.theme().dim;
  ui.dim("cluster");
  cells(Face::small, dim, {"GPU", "efficiency, %", "samples/s", "largest loss"});
  for (const ClusterMachine& machine : mine.machines) {
    bool on = mine.chosen.contains(machine.name);
    if (ui.checkbox("cluster " + machine.name, &on, machine.name)) {
      if (!mine.chosen.insert(machine.name).second) mine.chosen.erase(machine.name);
    }
    ui.tip(cluster_facts(machine));
    const Box& box = ui.items().back().box;
    const ClusterLook look = look_of(ui, mine, machine.name);
    ui.canvas().mark({box.x0 + ui.px(kClusterColumns[0] - 20), (box.y0 + box.y1) / 2}, look.mark, ui.px(4),
                     on ? look.colour : dim);
    const auto* const found =
        answer == nullptr ? nullptr : find_where(answer->study.clusters, [&](const ClusterPrediction& one) {
          return one.machine.name == machine.name;
        });
    ImGui::SameLine();
    ui.framed();
    if (!on || found == nullptr)
      cells(Face::text, dim, {machine.gpu, "", "", ""});
    else
      cells(Face::text, ui.theme().text,
            {machine.gpu, with_range(found->last().efficiency, 100),
             with_range(found->last().samples_per_s, 1), found->ended_by()});
  }
}

PlotLine cluster_line(const Ui& ui, const ClusterPlay& mine, const ClusterPrediction& prediction) {
  std::vector<std::pair<double, double>> points;
  std::vector<Limits> reach;
  const double unit = mine.rates ? 1 : 100;
  for (const ClusterPoint& point : prediction.points) {
    const OpenRange& range = mine.rates ? point.samples_per_s : point.efficiency;
    points.emplace_back(point.ranks, unit * range.middle);
    reach.push_back({unit * range.least, unit * range.most});
  }
  const ClusterLook look = look_of(ui, mine, prediction.machine.name);
  PlotLine out = line_of(prediction.machine.name, look.colour, points);
  out.mark = look.mark;
  out.dash = Dash::dotted;
  out.reach = reach;
  return out;
}

void draw_cluster_plot(Ui& ui, ClusterPlay& mine, const ClusterAnswer* answer, float height, Requests& ask) {
  PlotSpec spec;
  spec.id = mine.rates ? "clusters-samples" : "clusters-efficiency";
  spec.title = mine.rates ? "Predicted samples/s of all GPUs (logarithmic)" : "Predicted efficiency in %";
  spec.subtitle = "bars: what is not published of a cluster";
  spec.x_title = "GPUs (logarithmic)";
  spec.empty = mine.chosen.empty() ? "Tick a cluster." : "Nothing is predicted.";
  PlotView& view = mine.views[mine.rates ? 1 : 0];
  view.log_y = mine.rates;
  mine.link.log_x = mine.link.fit_x = true;
  mine.link.begin_frame();
  if (answer != nullptr && !answer->study.clusters.empty()) {
    const auto& clusters = answer->study.clusters;
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      spec.lines.push_back(cluster_line(ui, mine, clusters[i]));
      spec.lines.back().aside =
          kAside * (static_cast<float>(i) - static_cast<float>(clusters.size() - 1) / 2);
    }
    for (const int count : rank_counts(answer->of.gpus)) spec.x_marks.push_back(count);
    const double room = std::pow(answer->of.gpus, kRoom);
    mine.link.see(1 / room, answer->of.gpus * room);
  }
  const ImVec2 size = {ImGui::GetContentRegionAvail().x, height};
  save_plot(ui, show_plot(ui, spec, view, mine.link, size), spec, view, mine.link, "", ask);
  const auto& [seen, full] = std::tie(mine.link.seen, mine.link.full);
  if (seen && (seen->least != full.least || seen->most != full.most))
    ui.ask_frame();  // limits are of the frame before, and an answer comes without an event
}

void draw_term(Ui& ui, ClusterAsk& ask, const TermKnob& term) {
  const TermRange* const range = find_where(
      term_ranges(), [&](const TermRange& one) { return std::string_view(one.name) == term.name; });
  SimulationTerms terms = fitted_terms(ask.term_words());
  const double value = range->in(terms);
  terms = fitted_terms();
  Knob knob = {.key = term.name, .title = "", .unit = "", .zero = "", .places = term.places};
  add_place(knob, range->in(terms));
  std::string state = fmt::format("fitted: {:g}", range->in(terms));
  for (const ClusterMachine& machine : ask.machines)
    if (const auto* const open = find_by(machine.unknown, &UnknownTerm::key, knob.key))
      state = fmt::format("open: {:g} to {:g}", open->least, open->most);
  const bool is_set = ask.terms.contains(knob.key);
  ui.text(term.title, Face::bold);
  ui.tip(fmt::format("--term {}=..., {}. What is set here is no range any more.", term.name, range->what));
  ui.beside(8).dim(is_set ? "set" : state);
  int at = static_cast<int>(std::ranges::find(knob.places, value) - knob.places.begin());
  if (ui.notches("term " + knob.key, &at, static_cast<int>(knob.places.size()), knob_text(value), -1))
    ask.terms[knob.key] = knob_text(knob.places[static_cast<std::size_t>(at)]);
}

void draw_term_knobs(Ui& ui, ClusterAsk& ask) {
  std::vector<double> counts;
  for (int count = 2; count <= kMostGpus; count *= 2) counts.push_back(count);
  double gpus = ask.gpus;
  if (draw_knob(ui, "gpus", "GPUs", "--ranks ...", counts, std::to_string(ask.gpus), gpus))
    ask.gpus = static_cast<int>(gpus);
  ui.text("Scaling", Face::bold);
  if (ui.choice("weak", ask.law == ScalingLaw::weak)) ask.law = ScalingLaw::weak;
  ui.tip("Each GPU has the batch of the lesson.");
  if (ui.beside(2).choice("strong", ask.law == ScalingLaw::strong)) ask.law = ScalingLaw::strong;
  ui.tip("All GPUs share the batch of the lesson.");
  for (const TermKnob& term : term_knobs()) draw_term(ui, ask, term);
  ui.text("Way of the collective", Face::bold);
  ui.tip("--term way=...; quickest is what a library takes.");
  std::string way = name_of(fitted_terms(ask.term_words()).link.way);
  if (ui.combo("way", {kCollectiveWays.begin(), kCollectiveWays.end()}, way, -1)) ask.terms["way"] = way;
  ui.gap(2);
  if (ui.button("Fitted terms", ButtonKind::plain, !ask.terms.empty())) ask.terms.clear();
}

/// What terms do to both splits, beside the fitted ones.
std::string split_sentence(const EarnedErrors& fitted, const EarnedErrors& earned) {
  const double calibration = earned.calibration->median - fitted.calibration->median;
  const double test = earned.test->median - fitted.test->median;
  if (calibration < 0 && test > 0)
    return "Nearer to what terms are fitted to, further from other machines: overfitting looks like this.";
  if (test < 0)
    return "Nearer to the test split, by a choice that looked at it: it is no test of these terms.";
  return test > 0 ? "Further from the test split." : "";
}

void draw_split_errors(Ui& ui, const ClusterAnswer& answer) {
  if (!answer.errors_problem.empty()) return ui.problem(answer.errors_problem);
  if (!answer.earned.calibration || !answer.earned.test) return;
  ImGui::Indent(ui.px(10));
  const auto row = [&](Face face, const char* name, const std::string& calibration, const std::string& test) {
    ui.text(name, face);
    ui.at_x(ui.px(kSplitColumns[0])).text(calibration, face);
    ui.at_x(ui.px(kSplitColumns[1])).text(test, face);
  };
  const auto errors_row = [&](const char* name, const EarnedErrors& errors) {
    row(Face::text, name, fmt::format("{:.1f} %", 100 * errors.calibration->median),
        fmt::format("{:.1f} %", 100 * errors.test->median));
  };
  row(Face::small, "median |error|", "calibration", "test: other machines");
  errors_row("fitted terms", answer.fitted);
  if (answer.of.terms.empty()) {
    ui.note("Change a term: its errors appear here.");
  } else {
    errors_row("these terms", answer.earned);
    ui.note(split_sentence(answer.fitted, answer.earned));
  }
  ImGui::Unindent(ui.px(10));
}

void draw_words(Ui& ui, const ClusterAnswer& answer) {
  const ClusterStudy& study = answer.study;
  if (!answer.problem.empty())
    return ui.wrapped("Nothing is predicted: " + answer.problem, Face::bold, ui.theme().warn);
  if (study.clusters.empty()) return;
  for (std::size_t i = 0; i < study.orders.size(); ++i)
    ui.wrapped(study.order_sentence(i) + ".", Face::bold, ui.theme().text);
  const bool weak = answer.of.law == ScalingLaw::weak;
  const std::string known = known_error(answer.earned, study.config);
  ui.note(fmt::format("{:g} samples {}. {}", study.clusters.front().points.front().batch,
                      weak ? "a GPU and step" : "a step of all GPUs",
                      known.empty() ? "" : "Known error: " + known + "."));
}

}  // namespace

void draw_clusters(Ui& ui, const Data& data, const LessonCard& card, AppState& state, Requests& ask) {
  ClusterPlay& mine = state.play.cluster;
  ask_clusters(data, card, state.form(), mine);
  if (mine.answers.is_busy()) ui.ask_frame();
  for (const std::string& problem : mine.problems) ui.problem(problem);
  if (mine.machines.empty())
    return ui.nothing("No profile in submit/profiles has a table [machine]",
                      "./isobar import makes one from logs of nccl-tests.");
  const ClusterAnswer* answer = mine.answers.last().get();
  if (answer != nullptr && answer->of.lesson != card.info.name) answer = nullptr;
  draw_cluster_rows(ui, mine, answer);
  // Its height leaves room for all words: knobs below stay under the mouse that turns them.
  ImGui::PushStyleColor(ImGuiCol_ChildBg, Colour{0});
  ImGui::BeginChild("cluster words", {0, ui.px(kWordsLine) * static_cast<float>(2 + mine.chosen.size())});
  if (answer != nullptr) draw_words(ui, *answer);
  ImGui::EndChild();
  ImGui::PopStyleColor();
  if (ui.button("Copy command", ButtonKind::quiet, !mine.chosen.empty())) ask.copy = mine.wanted.command();
  ui.beside().framed().fitted(mine.wanted.command(), Face::mono_small, ui.theme().dim, 8);
  const float knobs = std::min(ui.px(kTermsWidth), ImGui::GetContentRegionAvail().x * 0.45F);
  ImGui::BeginChild("cluster knobs", {knobs, 0}, true, ImGuiWindowFlags_AlwaysUseWindowPadding);
  draw_term_knobs(ui, mine.wanted);
  ImGui::EndChild();
  ImGui::SameLine(0, ui.px(12));
  ImGui::BeginChild("cluster plot", {0, 0});
  if (ui.choice("Efficiency", !mine.rates)) mine.rates = false;
  if (ui.beside(2).choice("Samples/s", mine.rates)) mine.rates = true;
  const float below = ui.canvas().line_height(Face::text) * 7;
  draw_cluster_plot(ui, mine, answer, std::max(ui.px(kLeastPlot), ImGui::GetContentRegionAvail().y - below),
                    ask);
  if (answer != nullptr) draw_split_errors(ui, *answer);
  ImGui::EndChild();
}

}  // namespace isobar
