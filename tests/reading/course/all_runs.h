#pragma once
// Runs that were made up, of every kind that rules ask about.
#include <cmath>
#include <filesystem>
#include <string>

#include "made_all_reduce.h"
#include "made_descent.h"
#include "record/json_line.h"
#include "support/made_memory.h"
#include "support/made_pipeline.h"
#include "support/made_ranks.h"
#include "support/made_runs.h"
#include "support/made_spans.h"

namespace isobar {

/// Runs that every rule can be asked about: two that are fit, one that was stopped.
class AllRuns {
 public:
  AllRuns() {
    MadeSteps made{.keys = {{"data.workers", "1"}},
                   .more = {{"forward_host_us", 900}},
                   .notes = JsonLine("note").add("text", "memory").add("activations_bytes", 1 << 20).text(),
                   .persistence = 0.5,
                   .score_every = 16};
    good = runs_.add_three("good", made);
    for (const char* const repeat : {"good1", "good2", "good3"})
      write_memory(good.parent_path() / repeat, made_memory());
    MadeSpans spans;
    for (int step = 0; step < 4; ++step)
      spans.span(step, "loop", "forward", 100 * step, 90).span(step, "upload", "copy", 100 * step + 10, 20);
    write_file_whole(good / "rank-0000.spans.jsonl",
                     std::string_view("" + MadeSpans().attempt(0).text() + spans.text()));
    made.keys["data.workers"] = "2";
    made.factor = 1.2;
    one_off = runs_.add_three("off-workers", made);
    made.factor = 2;
    made.keys["amp.mode"] = "\"tf32\"";
    both_off = runs_.add_three("before-all", made);
    made.factor = 1.5;
    made.keys["data.workers"] = "1";
    mode_off = runs_.add_three("off-mode", made);
    made.keys = {{"data.workers", "2"}, {"data.seed", "2"}};
    made.loss_factor = 2;
    other = runs_.add_three("other", made);
    // From step 10 on scores rise and training losses fall, which end above the first all the same.
    const auto loss = [](int step) {
      return step % 5 == 0 ? 2 + 0.1 * std::abs(step - 10) : 10 - 0.2 * step;
    };
    rising_losses = runs_.add("rising", {.keys = {{"data.workers", "4"}}, .loss = loss, .score_every = 5});
    less_memory = runs_.add("less_memory", {.keys = {{"data.workers", "5"}}});
    write_memory(good, made_memory());
    write_memory(other, made_memory());
    write_memory(less_memory, made_memory({.blocks = 1}));
    stopped = runs_.add("stopped", {.end = "stopped", .keys = {{"data.workers", "3"}}});
    one_rank = ranks("one", 1);
    two_ranks = ranks("two", 2);
    gpipe = pipeline("gpipe", PipelineForm::gpipe);
    one_f_one_b = pipeline("1f1b", PipelineForm::one_f_one_b);
    context = contexts("context");
    early = traced("early", 10'000);
    late = traced("late", 50'000);
    one_path = descents_.add_three("one", {.sets = {"train.global_batch=1000"}});
    rank_paths = descents_.add("ranks", {.ranks = 2});
    rising = descents_.add("rising", {.sets = {"train.global_batch=1000", "optim.lr=0.9"}});
    ring = all_reduces_.linked("ring");
    tree = all_reduces_.linked("tree", {"comm.algorithm=tree"});
    small = descents_.add_three("small", {.sets = {"train.global_batch=10"}});
  }

  std::filesystem::path good, other, stopped, one_rank, two_ranks, early, late, one_path, rank_paths, rising,
      small, ring, tree, one_off, mode_off, both_off, rising_losses, less_memory, gpipe, one_f_one_b, context;

 private:
  std::filesystem::path ranks(const std::string& name, int world) {
    for (const int i : {2, 1, 0}) {
      const auto run = runs_.path() / (name + std::to_string(i));
      std::filesystem::create_directory(run);
      MadeRanks made{.world = world, .step_us = 100'000 * world + 100 * i};
      made.config = "[run]\nranks = " + std::to_string(world) + "\n";
      made.more = [](int, int, JsonLine& line) {
        line.add("forward_us", 50'000).add("comm_us", 10'000).add("comm_total_us", 20'000);
        line.add("error_norm", 2).add("mean_error_norm", 1);
      };
      made.notes = [](int) {
        std::string out;
        for (const int step : {1, 2})
          out += JsonLine("note").add("text", "replicas").add("step", step).add("apart", 0.1).text();
        return out;
      };
      made.write(run);
    }
    return runs_.path() / (name + "0");
  }

  std::filesystem::path pipeline(const std::string& name, PipelineForm form) {
    std::filesystem::create_directory(runs_.path() / name);
    MadePipeline{.form = form, .steps = 12}.write(runs_.path() / name);
    return runs_.path() / name;
  }

  /// Two ranks that share tokens.
  std::filesystem::path contexts(const std::string& name) {
    std::filesystem::create_directory(runs_.path() / name);
    MadeRanks made{.lesson = "16_context_parallel", .config = "[run]\nranks = 2\n[mesh]\ncp = 2\n"};
    made.more = [](int, int, JsonLine& line) { line.add("wire_bytes", 5e6).add("comm_calls", 9); };
    made.write(runs_.path() / name);
    return runs_.path() / name;
  }

  /// A run of two ranks, whose one bucket is under way from then on, beside a backward of 50 ms.
  std::filesystem::path traced(const std::string& name, int begin_us) {
    MadeSpans spans;
    spans.attempt(0);
    for (int step = 0; step < 20; ++step) {
      spans.span(step, "loop", "backward", 100'000 * step, 50'000);
      spans.span(step, "loop", "comm", 100'000 * step + 50'000, 50'000);
      spans.span(step, "bucket.0", "all-reduce", 100'000 * step + begin_us, 45'000);
    }
    for (const int i : {2, 1, 0}) {
      const auto run = runs_.path() / (name + std::to_string(i));
      std::filesystem::create_directory(run);
      MadeRanks made{.step_us = 100'000 + 100 * i, .config = "[comm]\nsync = \"" + name + "\"\n"};
      made.more = [](int, int, JsonLine& line) {
        line.add("comm_us", 10'000)
            .add("comm_total_us", 45'000)
            .add("comm_calls", 1)
            .add("wire_bytes", 1'000)
            .add("local_square", 5)
            .add("mean_square", 3);
      };
      made.notes = [](int) {
        JsonLine note("note");
        note.add("text", "probe").add("latency_us", 10).add("algbw_gb_per_s", 1).add("busbw_gb_per_s", 1);
        return note.text();
      };
      made.write(run);
      write_file_whole(run / "rank-0000.spans.jsonl", std::string_view(spans.text()));
      write_memory(run, made_memory());
    }
    return runs_.path() / (name + "0");
  }

  MadeRuns runs_;
  MadeDescents descents_;
  MadeAllReduces all_reduces_;
};

}  // namespace isobar
