// Knobs, steps, and what is saved.
#include <algorithm>

#include "panels/parts.h"

namespace isobar {

void draw_player(Ui& ui, StepPlayer& player, std::size_t last, double now_s) {
  constexpr std::size_t kMostAtOnce = 100'000;
  const bool at_end = player.shown >= last, at_start = player.shown == 0;
  if ((ui.button("Step", ButtonKind::primary, !at_end, "step forward") || ui.pressed('N')) && !at_end)
    ++player.shown;
  ui.tip("N");
  if ((ui.beside().button("Back", ButtonKind::plain, !at_start, "step back") || ui.pressed('B')) && !at_start)
    --player.shown;
  ui.tip("B");
  if (ui.beside().button(player.playing ? "Pause" : "Play", ButtonKind::plain, !at_end, "play steps")) {
    player.playing = !player.playing;
    player.next_s = now_s;
  }
  if (ui.beside().button("To the start", ButtonKind::quiet, !at_start)) player.stop_at(0);
  if (ui.beside().button("To the end", ButtonKind::quiet, !at_end))
    player.stop_at(std::min(last, kMostAtOnce));
  if (player.playing) ui.ask_frame();
}

bool draw_knob(Ui& ui, const std::string& name, const std::string& title, const std::string& tip,
               const std::vector<double>& places, const std::string& words, double& value) {
  int at = static_cast<int>(std::ranges::find(places, value) - places.begin());
  ui.text(title, Face::bold);
  if (!tip.empty()) ui.tip(tip);
  if (!ui.notches(name, &at, static_cast<int>(places.size()), words, -1)) return false;
  value = places[static_cast<std::size_t>(at)];
  return true;
}

std::string draw_form_knobs(Ui& ui, FormState& form, const std::vector<Knob>& knobs) {
  std::string turned;
  for (Knob knob : knobs) {
    double value = knob.place_of(form.text(knob.key));
    if (!draw_knob(ui, "knob " + knob.key, knob.title, "--set " + knob.key + "=...", knob.places,
                   knob_words(knob, value), value))
      continue;
    form.set(knob.key, knob.text_of(value));
    turned = knob.key;
  }
  return turned;
}

void save_plot(Ui& ui, const PlotAsk& plot, const PlotSpec& spec, const PlotView& view, const PlotLink& link,
               const std::string& run, Requests& ask) {
  if (!plot.save) return;
  const float height = std::max(plot.box.height(), ui.px(240));  // a small one is a whole plot on paper
  ask.save = SaveRequest{run.empty() ? spec.id : run + "-" + spec.id, *plot.save,
                         plot_file(ui, *plot.save, spec, view, link, plot.box.width(), height)};
}

void save_drawing(Ui& ui, const Box& box, const std::string& name, const std::function<std::string()>& csv,
                  const std::function<void(Canvas&, const Box&)>& paint, Requests& ask) {
  const auto kind = save_menu(ui, box);
  if (!kind) return;
  const Box whole = {0, 0, box.width(), box.height()};
  ask.save = SaveRequest{name, *kind,
                         *kind == ExportKind::csv ? csv()
                                                  : drawing(ui, *kind, whole.x1, whole.y1,
                                                            [&](Canvas& onto) { paint(onto, whole); })};
}

}  // namespace isobar
