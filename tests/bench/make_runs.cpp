#include "bench/make_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <random>

#include "core/files.h"
#include "record/json_line.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

std::string end_of(int run, int steps, double rate) {
  std::string out = JsonLine("summary")
                        .add("steps", steps)
                        .add("samples", 4 * steps)
                        .add("wall_us", static_cast<std::int64_t>(rate * steps))
                        .add("first_loss", 1.05)
                        .add("loss", 0.27)
                        .add("samples_per_s", 4e6 / rate)
                        .add("step_us", rate)
                        .add("valid_loss", 0.3)
                        .add("rmse_u10m", 0.2 + 0.001 * (run % 100))
                        .add("persistence_rmse_u10m", 0.34)
                        .text();
  out += JsonLine("end").add("status", "done").add("reason", "").text();
  return out;
}

std::string stream_of(int run, int steps) {
  std::mt19937 random(static_cast<unsigned>(run));
  std::normal_distribution<double> noise(0, 0.02);
  std::string out = JsonLine("run")
                        .add("schema", 1)
                        .add("lesson", "01_baseline")
                        .add("preset", "cpu_tiny")
                        .add("attempt", 0)
                        .add("rank", 0)
                        .add("world", 1)
                        .add("host", "node01")
                        .add("pid", 4242)
                        .add("wanted_steps", steps)
                        .add("flops_per_sample", 7.5e8)
                        .add("device", "cpu")
                        .add("started", "2026-11-20T10:00:00Z")
                        .text();
  out += JsonLine("note").add("text", "plan").add("steps_per_epoch", 128).text();
  const double rate = 20'000 + 100 * (run % 50);
  const auto evaluate = [&](int step) {
    JsonLine line("eval");
    const double rmse = 0.2 + 0.8 / std::sqrt(1.0 + step) + noise(random) * 0.1;
    line.add("step", step).add("t_us", static_cast<std::int64_t>(rate * step)).add("loss", rmse + 0.05);
    for (const char* const channel : {"u10m", "v10m", "t2m", "sp", "msl"}) {
      line.add(std::string("rmse_") + channel, rmse).add(std::string("persistence_rmse_") + channel, 0.34);
    }
    out += line.text();
  };
  for (int step = 0; step < steps; ++step) {
    if (step % 128 == 0) evaluate(step);
    const double step_us = rate * (1 + noise(random));
    JsonLine line("step");
    line.add("step", step)
        .add("t_us", static_cast<std::int64_t>(rate * (step + 1)))
        .add("epoch", step / 128)
        .add("samples", 4);
    line.add("load_us", std::round(step_us * 0.05))
        .add("copy_us", 4)
        .add("forward_us", std::round(step_us * 0.33));
    line.add("backward_us", std::round(step_us * 0.58))
        .add("optimize_us", std::round(step_us * 0.03))
        .add("step_us", std::round(step_us));
    line.add("lr", 1e-3 * (1 - static_cast<double>(step) / steps));
    if (step % 10 == 0)
      line.add("loss", 0.25 + 0.8 / std::sqrt(1.0 + step) + noise(random)).add("peak_bytes", 230'000'000);
    out += line.text();
  }
  evaluate(steps);
  out += end_of(run, steps, rate);
  return out;
}

void write_folder(const fs::path& folder, const std::string& toml, const std::string& stream) {
  fs::create_directories(folder);
  const FileDescriptor config(open((folder / "run.toml").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  write_fully(config, folder / "run.toml", std::as_bytes(std::span(toml)));
  const FileDescriptor file(open((folder / "rank-0000.jsonl").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  write_fully(file, folder / "rank-0000.jsonl", std::as_bytes(std::span(stream)));
}

}  // namespace

void make_runs(const fs::path& folder, int runs, int steps, const std::function<void(int)>& progress) {
  for (int run = 0; run < runs; ++run) {
    const std::string name = fmt::format("01_baseline-20261120-{:02}{:02}{:02}-{:04x}", run / 3600 % 24,
                                         run / 60 % 60, run % 60, run);
    write_folder(
        folder / name,
        fmt::format("[optim]\nlr = {}\n[train]\nseed = {}\nsteps = {}\n", 1e-4 * (1 + run % 20), run, steps),
        stream_of(run, steps));
    progress(run + 1);
  }
}

void make_noise(const fs::path& folder, int count) {
  std::mt19937 random(11);
  for (int i = 0; i < count; ++i) {
    std::string bytes =
        i % 3 == 0 ? JsonLine("run").add("schema", 1).add("lesson", "01_baseline").text() : "";
    const auto size = random() % 100'000;
    for (unsigned k = 0; k < size; ++k) bytes += static_cast<char>(random() % 256);
    write_folder(folder / fmt::format("noise##%n{}", i), i % 4 == 0 ? bytes : "", bytes);
  }
}

void forget_pages(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    for (const char* const name : {"rank-0000.jsonl", "run.toml"}) {
      const FileDescriptor file(open((entry.path() / name).c_str(), O_RDONLY | O_CLOEXEC));
      if (!file.is_open()) continue;
      fdatasync(file.number());
      posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
    }
  }
}

}  // namespace isobar
