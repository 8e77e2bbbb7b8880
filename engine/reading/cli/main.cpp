#include <string>
#include <vector>

#include "cli/ladder_command.h"
#include "cli/predict_command.h"
#include "cli/quartet_command.h"
#include "cli/record_command.h"
#include "cli/recorded_view.h"
#include "cli/run_command.h"
#include "cli/runs_command.h"
#include "cli/scale_command.h"
#include "cli/show_command.h"
#include "cli/submit_command.h"
#include "cli/sweep_command.h"
#include "core/error.h"
#include "core/text.h"

using namespace isobar;

namespace {

int dispatch(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments.front();
  const std::vector<std::string> rest(arguments.empty() ? arguments.end() : arguments.begin() + 1,
                                      arguments.end());
  if (command == "run") return run_command(rest, show_instead_of_running);
  if (command == "data") return data_command(rest);
  if (command == "show") return show_command(rest);
  if (command == "runs") return runs_command(rest);
  if (command == "quartet") return quartet_command(rest);
  if (command == "sweep") return sweep_command(rest);
  if (command == "predict") return predict_command(rest);
  if (command == "record") return record_command(rest);
  if (command == "ladder") return ladder_command(rest);
  if (command == "scale") return scale_command(rest);
  if (command == "submit") return submit_command(rest);
  const std::string nearest = nearest_name(command, {"run", "data", "ladder", "show", "runs", "quartet",
                                                     "sweep", "scale", "predict", "record", "submit"});
  throw Error("unknown command \"" + printable(command, 40) + "\"", "./isobar",
              nearest.empty() ? "./isobar help lists the commands" : "did you mean " + nearest + "?");
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar", [&] { return dispatch({argv + 1, argv + argc}); });
}
