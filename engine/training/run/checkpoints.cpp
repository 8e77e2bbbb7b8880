#include "run/checkpoints.h"

#include <fmt/format.h>

#include <cstring>
#include <sstream>

#include "config/resume.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "run/gradient_guard.h"

namespace isobar {
namespace {

void check_same_data(const std::string& kind, const std::string& then, const std::string& now,
                     const std::filesystem::path& checkpoint) {
  if (then == now) return;
  throw Error(fmt::format("the checkpoint was trained on another data set: its {} data is {}, this is {}",
                          kind, printable(then, 20), now),
              checkpoint.string(),
              "resume with the same data, or start a new run from its weights with train.init=");
}

}  // namespace

Checkpoints::Checkpoints(const RunPlan& plan, const Training& training, const DataIdentity& data,
                         RankGroups& groups, Progress& progress, Recorder& recorder)
    : plan_(plan),
      training_(training),
      data_(data),
      groups_(groups),
      progress_(progress),
      recorder_(recorder) {}

void Checkpoints::resume() {
  const Resume& from = plan_.resume;
  if (!from.wanted()) return;
  const std::filesystem::path& path = from.checkpoint->path;
  check_same_data("training", from.state.train_data, data_.train, path);
  check_same_data("validation", from.state.valid_data, data_.valid, path);
  load_training(*from.checkpoint, training_, {from.state.batches, from.state.optimizer_steps}, plan_.device,
                groups_.along("pp"));
  RunOutput& output = recorder_.output();
  if (Board* const board = output.board()) board->load(from.state, plan_.device);
  Console& console = output.console();
  if (from.by_key) console.line(std::string("  note    ") + kResumeKeyNote);
  for (const std::string& sentence : from.passed_over) console.line("  passed over  " + sentence);
  console.line(fmt::format("  resume  attempt {}, after step {} from {}", output.attempt(),
                           progress_.steps_done, path.string()));
}

void Checkpoints::save_when_due() {
  const std::int64_t every = plan_.config().train.checkpoint_every;
  if (every > 0 && progress_.steps_done % every == 0) save();
}

void Checkpoints::save() {
  if (progress_.measures || progress_.checkpoint_step == progress_.steps_done) return;
  recorder_.begin_phase("checkpoint");
  recorder_.record_done_steps(/*wait_for_all=*/true);
  const std::int64_t begin_us = steady_us();
  if (const std::string broken = first_broken_weight(training_.parameters); !broken.empty()) {
    throw Error("a weight is not a finite number, so no checkpoint was saved", broken,
                progress_.checkpoint_step < 0
                    ? "there is none before it"
                    : fmt::format("the one after step {} is still there", progress_.checkpoint_step),
                Exit::failed);
  }
  CheckpointState state{.lesson = plan_.lesson.name,
                        .preset = plan_.loaded.preset,
                        .train_data = data_.train,
                        .valid_data = data_.valid,
                        .step = progress_.steps_done,
                        .scored_step = progress_.scored_step};
  recorder_.put_into(state);
  RunOutput& output = recorder_.output();
  output.flush();  // no step that the checkpoint holds is missing in the stream, whatever happens next
  const std::filesystem::path saved = write(state);
  progress_.checkpoint_step = progress_.steps_done;
  groups_.world().barrier("checkpoint");
  if (!groups_.speaks()) return;
  remove_old_checkpoints(output.folder().checkpoints(), plan_.config().train.keep_checkpoints,
                         progress_.steps_done);
  const std::int64_t duration_us = steady_us() - begin_us;
  output.trace_loop("checkpoint", begin_us, progress_.steps_done);
  output.write(JsonLine("note")
                   .add("text", "checkpoint")
                   .add("step", progress_.steps_done)
                   .add("t_us", begin_us - output.begin_us())
                   .add("duration_us", duration_us));
  output.console().line(fmt::format("saved  {} ({})", saved.lexically_relative(output.folder().path).string(),
                                    human_seconds(static_cast<double>(duration_us) * 1e-6)));
}

/// Each rank of the first copy writes its share, all at a time, into the folder that rank 0 began.
void Checkpoints::write_shares(CheckpointWriter* writer) {
  Comm& world = groups_.world();
  const bool writes = groups_.along("copies").rank() == 0 && groups_.along("cp").rank() == 0;
  const std::string aside = writer == nullptr ? "" : writer->aside().filename().string();
  int files = 0, before = 0;
  const std::vector<std::string> all =
      world.all_gather_text((writes ? "writes " : "waits ") + aside, "checkpoint begun");
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].starts_with("writes")) continue;
    ++files;
    if (static_cast<int>(rank) < world.rank()) ++before;
  }
  std::string written;
  if (writes) {
    const std::filesystem::path folder =
        recorder_.output().folder().checkpoints() / all.front().substr(std::strlen("writes "));
    const ShareFile file =
        save_share(folder, training_.parameters, training_.optimizer, groups_.model(), before, files);
    written = fmt::format("{} {} {}", file.name, file.digest.bytes, file.digest.crc32c);
  }
  for (const std::string& one : world.all_gather_text(written, "checkpoint shares")) {
    if (one.empty() || writer == nullptr) continue;
    std::istringstream words(one);
    std::string name;
    FileDigest digest;
    words >> name >> digest.bytes >> digest.crc32c;
    writer->add(name, digest);
  }
}

std::filesystem::path Checkpoints::write(const CheckpointState& so_far) {
  Comm& world = groups_.world();
  if (!groups_.speaks()) {  // rank 0 writes for all
    const bool is_of_first = groups_.along("dp-cp").rank() == 0;
    if (training_.parameters.is_shared_out())
      write_shares(nullptr);
    else if (is_of_first)
      save_training(nullptr, training_, plan_.device, groups_.model(), groups_.along("pp"));
    world.barrier("checkpoint written");
    return {};
  }
  CheckpointState state = so_far;
  RunOutput& output = recorder_.output();
  output.board()->save(state);
  CheckpointWriter writer(output.folder().checkpoints(), progress_.steps_done);
  const TrainingCounts counts =
      save_training(&writer, training_, plan_.device, groups_.model(), groups_.along("pp"));
  if (training_.parameters.is_shared_out()) write_shares(&writer);
  state.batches = counts.batches;
  state.optimizer_steps = counts.optimizer_steps;
  writer.write_text(kStateFile, to_toml(state));
  writer.write_text(kCheckpointConfig, to_toml(plan_.config()));
  // Nothing is complete that was computed with a rank that is gone: values of an aborted collective are
  // noise.
  world.barrier("checkpoint written");
  return writer.finish();
}

}  // namespace isobar
