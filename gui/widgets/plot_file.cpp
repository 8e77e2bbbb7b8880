// Plots as files: drawn again, on a canvas of their own.
#include <type_traits>

#include "draw/svg_canvas.h"
#include "record/png.h"
#include "widgets/plot_widget.h"
#include "widgets/raster.h"

namespace isobar {

namespace {

/// ImGui 1.89.8 made a list of its own of what was a pointer.
template <typename Lists>
void hold(Lists& lists, ImDrawList** only) {
  if constexpr (std::is_pointer_v<Lists>)
    lists = only;
  else
    lists.push_back(*only);
}

}  // namespace

std::string drawing(Ui& ui, ExportKind kind, float width, float height,
                    const std::function<void(Canvas&)>& paint) {
  if (kind == ExportKind::svg) {
    SvgCanvas canvas(width, height, ui.theme().panel, ui.px(1));
    paint(canvas);
    return canvas.text();
  }
  ImDrawList list(ImGui::GetDrawListSharedData());
  list._ResetForNewFrame();
  list.PushTextureID(ImGui::GetIO().Fonts->TexID);
  list.PushClipRect({0, 0}, {width, height});
  ImGuiCanvas canvas(list, ui.fonts(), ui.textures());
  paint(canvas);
  ImDrawList* lists[1] = {&list};
  ImDrawData data;
  hold(data.CmdLists, lists);
  data.CmdListsCount = 1;
  const Picture picture = rasterise(data, {0, 0, width, height}, 1, ui.theme().panel, ui.textures());
  return encode_png(picture.rgba, picture.height, picture.width, 4);
}

std::string plot_file(Ui& ui, ExportKind kind, const PlotSpec& spec, const PlotView& view,
                      const PlotLink& link, float width, float height) {
  if (kind == ExportKind::csv) return plot_csv(spec, view);
  return drawing(ui, kind, width, height, [&](Canvas& canvas) {
    paint_whole(canvas, ui.theme(), spec, view, link, {0, 0, width, height}, ui.smoother());
  });
}

}  // namespace isobar
