#include "log/run_view.h"

#include <fmt/format.h>

#include <array>

#include "core/text.h"

namespace isobar {

const char* state_name(RunState state) {
  static constexpr std::array<const char*, 6> kNames = {"empty",   "running", "done",
                                                        "stopped", "failed",  "died"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string measure_text(const RunView& view) {
  const std::string& measure = view.summary.measure;
  if (measure.empty()) return "";
  return "measures " + measure + (view.point.empty() || view.point == measure ? "" : " at " + view.point);
}

std::vector<std::string> marks_of(const RunView& view) {
  std::vector<std::string> out;
  if (!view.replay_of.empty())
    out.push_back(fmt::format("replay of {} at {:g}x", printable(view.replay_of, 200), view.replay_speed));
  if (!view.yours.empty()) out.push_back("yours: " + view.yours);
  if (!view.fault.empty()) out.push_back("fault " + view.fault);
  if (view.throttle_mb_per_s > 0) out.push_back(fmt::format("disk of {} MB/s", view.throttle_mb_per_s));
  if (!view.data_source.empty())
    out.push_back(view.data_source == "memory" ? "data in memory" : view.data_source + " data");
  if (const std::string measure = measure_text(view); !measure.empty()) out.push_back(measure);
  return out;
}

std::string source_text(const RunView& view) {
  return view.source == "tutorial"    ? "the Python tutorial"
         : view.source == "lightning" ? "Lightning"
                                      : printable(view.source, 60);
}

std::string provenance_text(const RunView& view) {
  if (view.provenance.empty()) return "";
  const std::string device = view.device.empty() ? "another machine" : view.device;
  if (view.provenance == "predicted") return "predicted by model for " + device;
  const std::string day = view.started.substr(0, 10);
  const std::string with = view.source.empty() ? "" : " with " + source_text(view);
  const bool is_unsaid = view.device.empty() && !view.source.empty();  // a log that names no machine
  return view.provenance + with + (is_unsaid ? "" : " on " + device) + (day.empty() ? "" : ", " + day);
}

}  // namespace isobar
