#include "run/resume.h"

#include "config/resume.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

Resume find_resume(const RunArguments& arguments, const std::string& lesson) {
  Resume out;
  out.settings = arguments.settings;
  out.by_key = arguments.resumes_by_key;
  out.folder = arguments.settings.resume;
  if (!out.wanted()) return out;
  if (!arguments.run_dir.empty() && arguments.run_dir != out.folder) {
    throw Error("a resumed run continues in its own folder", "--run-dir " + arguments.run_dir.string(),
                "leave it out");
  }
  out.settings = resumed_settings(arguments.settings, out.folder);
  CheckpointSearch search = find_checkpoint(RunFolder{out.folder}.checkpoints());
  out.passed_over = std::move(search.passed_over);
  if (!search.newest) {
    throw Error("the run has no complete checkpoint to resume from" +
                    (out.passed_over.empty() ? "" : " (" + joined(out.passed_over, "; ") + ")"),
                out.folder.string(),
                "start it anew; train.checkpoint_every=N saves one every N steps, and a request to stop "
                "saves one too");
  }
  out.checkpoint = std::move(search.newest);
  out.state = read_run_state(out.checkpoint->path / kStateFile);
  if (out.state.lesson != lesson) {
    throw Error("the run is one of lesson " + printable(out.state.lesson, 40) + ", not of " + lesson,
                out.folder.string(), "./isobar run " + printable(out.state.lesson, 40) + " continues it");
  }
  return out;
}

LoadedConfig resumed_config(const LessonInfo& lesson, const Resume& resume, const std::string& device_kind) {
  LoadedConfig loaded = load_config(project_home(), lesson, resume.settings, device_kind);
  if (!resume.wanted()) {
    if (loaded.config.train.resume.empty()) return loaded;
    throw Error("a run is resumed from the command line only", loaded.origins["train.resume"],
                "--resume " + loaded.config.train.resume);
  }
  // What made the checkpoint stands in it: the run's own file may have been changed since.
  const Settings made = {.config_files = {resume.checkpoint->path / kCheckpointConfig}};
  check_resumable(load_config(project_home(), lesson, made, device_kind).config, loaded);
  check_run_state(resume.state, loaded.config, resume.checkpoint->step, resume.checkpoint->path / kStateFile);
  loaded.preset = resume.state.preset;
  loaded.config.train.resume.clear();  // so that the file of this attempt repeats it, and does not resume it
  loaded.config.train.init.clear();
  loaded.config.train.save_init.clear();
  return loaded;
}

}  // namespace isobar
