#pragma once
// Folders of runs with several ranks, made up: a stream for each, and spans where they are wanted.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/files.h"
#include "record/json_line.h"
#include "record/run_folder.h"
#include "support/temp_folder.h"

namespace isobar {

struct MadeRanks {
  int world = 2;
  int steps = 20;
  std::int64_t samples = 8;  ///< a step and rank
  std::string lesson = "06_ddp";
  std::string host = "node-1";
  std::string end = "done";  ///< "" = no end line
  std::int64_t pid = 0;
  std::string measure = "full";  ///< three steps of warm-up
  std::int64_t step_us = 100'000;
  std::int64_t swing_us = 0;  ///< by which each of five steps in turn is longer than the one before
  /// What a step line says beyond samples and step_us.
  std::function<void(int rank, int step, JsonLine& line)> more = [](int, int, JsonLine&) {};
  std::string config = "";                               ///< run.toml
  std::function<std::string(int rank)> notes = nullptr;  ///< lines behind the plan

  std::string stream(int rank) const {
    std::string out = JsonLine("run")
                          .add("schema", 1)
                          .add("lesson", lesson)
                          .add("rank", rank)
                          .add("world", world)
                          .add("device", "cpu")
                          .add("host", host)
                          .add("pid", pid)
                          .add("measure", measure)
                          .add("wanted_steps", steps)
                          .text();
    out += JsonLine("note").add("text", "plan").add("steps_per_epoch", 128).text();
    if (notes) out += notes(rank);
    for (int step = 0; step < steps; ++step) {
      JsonLine line("step");
      line.add("step", step)
          .add("t_us", step_us * (step + 1))
          .add("samples", samples)
          .add("step_us", step_us + step % 5 * swing_us);
      more(rank, step, line);
      out += line.text();
    }
    if (!end.empty()) out += JsonLine("end").add("status", end).add("reason", "").text();
    return out;
  }

  /// The streams of all ranks but `without`.
  void write(const TempFolder& folder, int without = -1) const { write(folder.path(), without); }
  void write(const std::filesystem::path& folder, int without = -1) const {
    const RunFolder run{folder};
    write_file_whole(run.config_file(), std::string_view(config));
    for (int rank = 0; rank < world; ++rank) {
      if (rank != without) write_file_whole(run.stream_file(rank), std::string_view(stream(rank)));
    }
  }
};

}  // namespace isobar
