#include "draw/own_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/find.h"
#include "core/text.h"
#include "draw/own/own_run.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

struct OwnKind {
  const char* lesson;
  OwnPicture (*make)(const OwnRun&);
};
constexpr std::array<OwnKind, 11> kOwnKinds = {{{"00_sgd", own_descent},
                                                {"01_baseline", own_step_and_memory},
                                                {"02_workers", own_workers},
                                                {"03_gpu_loader", own_loaders},
                                                {"04_amp", own_gradients},
                                                {"05_fusion", own_roofline},
                                                {"06_ddp", own_buckets},
                                                {"07_tensor_parallel", own_split_layers},
                                                {"08_cuda_graphs", own_host_and_device},
                                                {"09_all_reduce", own_all_reduce},
                                                {"10_buckets", own_buckets}}};

/// "measured here: 02_workers, cpu_micro, on cpu, 2026-11-25, run NAME"
std::string own_note(const fs::path& folder, const RunView& view) {
  const std::string where = provenance_text(view).empty() ? "measured here" : provenance_text(view);
  std::string out = where + ": " + printable(view.lesson, 40);
  if (!view.preset.empty()) out += ", " + printable(view.preset, 40);
  if (view.is_measured_here() && !view.device.empty()) out += ", on " + printable(view.device, 60);
  for (const std::string& mark : marks_of(view)) out += ", " + printable(mark, 80);
  return out + ", run " + printable(folder.filename().string(), 60);
}

}  // namespace

OwnPicture nothing_to_draw(const std::string& why, const std::string& hint) { return {{}, why, hint}; }

OwnPicture own_picture(const fs::path& run) {
  OwnRun own{run, std::make_shared<RunReader>(run, /*keep_series=*/true), {}, ""};
  own.reader->read_all();
  const std::string& lesson = own.view().lesson;
  const OwnKind* const kind = find_by(kOwnKinds, &OwnKind::lesson, std::string_view(lesson));
  if (kind == nullptr)
    return nothing_to_draw(lesson.empty() ? "the run does not say of which lesson it is"
                                          : printable(lesson, 40) + " has no picture of its own",
                           "./isobar show RUN shows what it recorded");
  own.steady = steady_figures(own.view(), own.reader->series(), std::nullopt);
  own.note = own_note(run, own.view());
  return kind->make(own);
}

}  // namespace isobar
