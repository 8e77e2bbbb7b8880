#pragma once
// Pictures of a page: SVG within it, with a tooltip (<title>) at each point, and words for who cannot see it.
#include <functional>
#include <string>
#include <vector>

#include "draw/field_map.h"
#include "draw/stage_bars.h"
#include "plot/plot.h"

namespace isobar {

/// All that take time, each once; "rest" is the last.
std::vector<std::string> stages_of(const std::vector<StageBar>& bars);

/// Gives each figure of a page its number, which keeps their ids apart. Each is drawn in both themes: an
/// element has the light one's colour, and that of the dark one as `--dark` where it is another (page_style).
class Figures {
 public:
  /// What is drawn has colours of its own, of this theme.
  template <class Spec>
  using OfTheme = std::function<Spec(const Theme&)>;

  /// At most 120 points of each line have a tooltip: all, or evenly chosen ones. `caption` stands below it.
  std::string plot(const OfTheme<PlotSpec>& spec_of, const std::string& caption);
  /// With a legend of the stages.
  std::string stage_bars(const std::vector<StageBar>& bars, const std::string& title,
                         const std::string& caption);
  std::string waterfall(const OfTheme<WaterfallSpec>& spec_of, const std::string& caption);
  /// The maps side by side, as wide as the page.
  std::string maps(const std::vector<MapSpec>& maps, const std::string& title, const std::string& caption);

 private:
  struct Words {
    std::string title, caption;
  };
  using Paint = std::function<void(Canvas&, const Theme&)>;
  /// `more` is markup on top of what is painted.
  std::string figure(float height, const Words& words, const Paint& paint, const std::string& more = "");

  int number_ = 0;
};

}  // namespace isobar
