#include "cli/gradients_command.h"

#include <cstdio>

#include "analyse/gradient_histograms.h"
#include "record/console.h"

namespace isobar {

void show_gradients(const std::filesystem::path& run, std::int64_t step, bool json) {
  const std::vector<GradientHistogram> all = read_gradient_histograms(run);
  if (json) {
    std::printf("%s\n", gradients_json(all, run.filename().string()).c_str());
    return;
  }
  Console console;
  console.line(printable(run.filename().string()));
  for (const std::string& line : gradient_lines(histogram_at(all, step))) console.line(line);
}

}  // namespace isobar
