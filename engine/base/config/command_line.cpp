#include "config/command_line.h"

#include <charconv>

#include "config/option_parser.h"
#include "config/resume.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

void add_settings(OptionParser& app, Settings& out, const std::filesystem::path& home) {
  app.add("--preset", out.preset, "sizes of model and data: " + joined(preset_names(home)));
  app.add("--config", out.config_files,
          "a TOML file with keys, such as the run.toml of a run; again for more");
  app.add("--set", out.sets, "key=value, such as optim.lr=1e-3; again for more");
}

RunArguments parse_run_arguments(const std::vector<std::string>& arguments, const LessonInfo& lesson,
                                 const std::filesystem::path& home) {
  RunArguments out;
  OptionParser app(lesson.title, "./isobar run " + lesson.name);
  add_settings(app, out.settings, home);
  std::string ranks;
  app.add("--ranks", ranks,
          "so many processes of this machine train together; wins over the key run.ranks. Under Slurm srun "
          "starts them instead, and elsewhere whatever sets RANK and WORLD_SIZE");
  app.add("--run-dir", out.run_dir, "the run folder; default runs/" + lesson.name + "-<date>-<time>-<xxxx>");
  app.add("--resume", out.settings.resume,
          "continue this run (a folder, a name, or last), in its folder, from its newest good checkpoint");
  app.footer("Every key, its default and what it means: lessons/base.toml");
  out.help = !app.parse(arguments, out.help_text);
  out.resumes_by_key = take_resume_key(out.settings);
  if (app.given("--ranks")) {
    const auto parsed = std::from_chars(ranks.data(), ranks.data() + ranks.size(), out.ranks);
    if (parsed.ec != std::errc() || parsed.ptr != ranks.data() + ranks.size() || out.ranks < 1 ||
        out.ranks > kMostLocalRanks) {
      throw Error("--ranks is \"" + printable(ranks, 40) + "\"", "command line",
                  "a number of processes from 1 to " + std::to_string(kMostLocalRanks) +
                      ", such as --ranks 2; more machines are for srun");
    }
    out.settings.sets.push_back("run.ranks=" + std::to_string(out.ranks));
  }
  return out;
}

}  // namespace isobar
