#include "record/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace isobar {

namespace {

double share_of_peak(const RunSummary& summary, double flops_per_sample) {
  if (!(summary.peak_flops_per_s > 0)) return 0;
  return summary.samples_per_s / static_cast<double>(summary.world) * flops_per_sample /
         summary.peak_flops_per_s;
}

std::string rate_text(double rate) {
  return rate < 1e5 ? fmt::format("{:.1f}", rate) : human_count(std::llround(rate));
}

/// Of a run that left, too.
std::string loss_text(double loss) {
  return std::fabs(loss) < 1e6 ? fmt::format("{:.4f}", loss) : fmt::format("{:.4g}", loss);
}

std::string short_time_text(double time_us) {
  return time_us < 100 ? fmt::format("{:.1f} us", time_us) : fmt::format("{:.1f} ms", time_us * 1e-3);
}

}  // namespace

std::string RunSummary::arithmetic() const { return precision.empty() || emulated ? "fp32" : precision; }

std::optional<double> RunSummary::stage_us(const std::string& stage) const {
  for (const auto& [name, time_us] : stages_us) {
    if (name == stage) return time_us;
  }
  return std::nullopt;
}

double RunSummary::mfu() const { return peak_is_too_low() ? 0 : share_of_peak(*this, flops_per_sample); }

double RunSummary::hfu() const {
  return peak_is_too_low() ? 0 : share_of_peak(*this, flops_per_sample + redone_flops_per_sample);
}

bool RunSummary::peak_is_too_low() const {
  return share_of_peak(*this, flops_per_sample + redone_flops_per_sample) > 1;
}

std::int64_t warm_up_steps(std::int64_t steps_per_epoch, std::int64_t steps) {
  const std::int64_t usual = steps_per_epoch > 64 ? 20 : steps_per_epoch;
  return steps > 0 ? std::min(usual, std::max(kMeasureWarmUpSteps, steps / 4)) : usual;
}

std::string crowded_sentence(double processor_wait) {
  return fmt::format(
      "the training loop waited for a processor {:.0f} % of the time: other programs, more threads than "
      "processors, or a quota kept it from one; rates are low",
      100 * processor_wait);
}

std::string measure_sentence(const std::string& measure) {
  if (measure == "full") return "whole steps without validation";
  if (measure == "io") return "batches are read and dropped";
  if (measure == "synthetic") return "one made-up batch again and again: its losses mean nothing";
  return "";
}

JsonLine summary_event(const RunSummary& summary) {
  JsonLine line("summary");
  line.add("steps", summary.steps)
      .add("samples", summary.samples)
      .add("wall_us", std::llround(summary.wall_s * 1e6));
  if (summary.world > 1)
    line.add("world", summary.world)  // then the two figures of samples are of all ranks
        .add("replicas", summary.replicas);
  if (summary.has_losses) line.add("first_loss", summary.first_loss).add("loss", summary.last_loss);
  if (summary.scale > 0) line.add("scale", summary.scale).add("skipped", summary.skipped);
  line.add("samples_per_s", summary.samples_per_s).add("step_us", summary.step_us);
  for (const auto& [stage, time_us] : summary.stages_us) line.add(stage + "_us", time_us);
  if (summary.comm_calls > 0) {
    if (summary.comm_total_us >= 0) line.add("comm_total_us", summary.comm_total_us);
    line.add("comm_calls", summary.comm_calls).add("wire_bytes", summary.wire_bytes);
    if (summary.tp_calls > 0)
      line.add("tp_calls", summary.tp_calls).add("tp_wire_bytes", summary.tp_wire_bytes);
    if (summary.cp_calls > 0)
      line.add("cp_calls", summary.cp_calls).add("cp_wire_bytes", summary.cp_wire_bytes);
    if (summary.waited_for >= 0)
      line.add("waited_us", summary.waited_us).add("waited_for", summary.waited_for);
  }
  line.add("stall_us", summary.stall_us).add("read_bytes", summary.read_bytes);
  line.add("read_cpu_us", summary.read_cpu_us);
  if (summary.processor_wait >= 0) line.add("processor_wait", summary.processor_wait);
  if (summary.slots > 0) line.add("queue_slots", summary.ready_slots).add("slots", summary.slots);
  line.add("mfu", summary.mfu());
  if (summary.redone_flops_per_sample > 0) line.add("hfu", summary.hfu());
  line.add("peak_flops_per_s", summary.peak_flops_per_s);
  if (summary.peak_flops_per_s > 0)
    line.add("peak_source", summary.peak_of_data_sheet ? "data sheet" : "matrix products");
  if (summary.predicted_bytes > 0)
    line.add("predicted_bytes", static_cast<std::int64_t>(summary.predicted_bytes));
  if (summary.peak_bytes > 0) line.add("peak_bytes", static_cast<std::int64_t>(summary.peak_bytes));
  if (summary.has_valid_loss) line.add("valid_loss", summary.valid_loss);
  if (summary.has_scores) {
    line.add("rmse_" + summary.headline, summary.rmse);
    line.add("persistence_rmse_" + summary.headline, summary.persistence_rmse);
    if (summary.climatology_rmse > 0)
      line.add("climatology_rmse_" + summary.headline, summary.climatology_rmse);
  }
  return line;
}

std::string stage_shares(const std::vector<std::pair<std::string, double>>& stages_us, double step_us) {
  std::vector<std::string> parts;
  double rest_us = step_us;
  for (const auto& [stage, time_us] : stages_us) {
    parts.push_back(fmt::format("{} {:.0f} %", stage, 100 * time_us / step_us));
    rest_us -= time_us;
  }
  parts.push_back(fmt::format("rest {:.0f} %", 100 * std::max(0.0, rest_us) / step_us));
  return joined(parts);
}

namespace {

std::string peak_text(const RunSummary& summary, const std::string& provenance) {
  const std::string type = summary.arithmetic();
  if (provenance == "predicted" || summary.peak_of_data_sheet)
    return "dense peak of " + type + " by data sheet";
  return type + " matrix products, measured " + (provenance.empty() ? "here" : "there");
}

/// ", MFU ...", and HFU where it is more; "" when they are not known.
std::string mfu_text(const RunSummary& summary, const std::string& provenance) {
  const std::string peak =
      human_flops(summary.peak_flops_per_s) + " (" + peak_text(summary, provenance) + ")";
  const std::string hfu =
      summary.redone_flops_per_sample > 0 ? fmt::format(", HFU {:.1f} %", 100 * summary.hfu()) : "";
  if (summary.mfu() > 0) return fmt::format(", MFU {:.1f} %{} of {}", 100 * summary.mfu(), hfu, peak);
  return summary.peak_is_too_low() ? ", MFU not known: more than " + peak : "";
}

std::string loader_text(const RunSummary& summary) {
  const double gigabytes = static_cast<double>(summary.read_bytes) * 1e-9;
  const std::string ready = summary.slots > 0
                                ? fmt::format(", {:.1f} of {} batches ready when one is asked for",
                                              summary.ready_slots, summary.slots)
                                : "";
  return fmt::format("the loop waits {:.2f} ms a step ({:.1f} %){}; {:.2f} CPU-s a GB",
                     summary.stall_us * 1e-3, 100 * summary.stall_us / summary.step_us, ready,
                     static_cast<double>(summary.read_cpu_us) * 1e-6 / gigabytes);
}

std::vector<std::string> watched_lines(const WatchedSummary& watched) {
  if (watched.step < 0) return {};
  const double all_us = watched.all_us();
  const std::string moved =
      watched.moved_bytes > 0
          ? fmt::format(", {} moved", human_bytes(static_cast<std::uint64_t>(watched.moved_bytes)))
          : "";
  // A predicted step has no times of operators: nobody looked at it.
  const std::string counted = all_us > 0 ? fmt::format(" (counted in step {})", watched.step + 1) : "";
  std::vector<std::string> out = {fmt::format("  operators    {} {} a step{}{}",
                                              human_count(watched.launches),
                                              watched.launches == 1 ? "call" : "calls", moved, counted)};
  std::vector<std::string> parts;
  for (const auto& [name, time_us] : watched.class_us) {
    if (time_us >= 0.005 * all_us && time_us > 0)
      parts.push_back(fmt::format("{} {:.0f} %", name == "gemm" ? "GEMM" : name, 100 * time_us / all_us));
  }
  if (!parts.empty()) out.push_back("               of their time " + joined(parts));
  if (!watched.attention.empty()) out.push_back("  attention    " + attention_text(watched.attention));
  return out;
}

}  // namespace

void WatchedSummary::add_attention(const std::string& name) {
  constexpr std::size_t kMost = 20;
  if (attention.size() < kMost && std::find(attention.begin(), attention.end(), name) == attention.end())
    attention.push_back(name);
}

double WatchedSummary::all_us() const {
  double out = 0;
  for (const auto& [name, time_us] : class_us) out += time_us;
  return out;
}

double WatchedSummary::time_us(std::string_view operator_class) const {
  for (const auto& [name, time_us] : class_us) {
    if (name == operator_class) return time_us;
  }
  return 0;
}

std::string attention_text(const std::vector<std::string>& names) {
  std::vector<std::string> fused;
  for (const std::string& name : names) {
    if (name.find("attention") != std::string::npos) fused.push_back(name);
  }
  if (!fused.empty()) return joined(fused);
  return names.empty() ? "" : "plain operators (" + joined(names) + ")";
}

namespace {

/// samples/s, where they are known, and the time of a step.
std::vector<std::string> speed_lines(const RunSummary& summary, const std::string& provenance) {
  const bool is_steady = provenance != "predicted" && summary.warm_up_steps > 0;
  const std::string steady = is_steady ? " without the first " + counted(summary.warm_up_steps, "step") : "";
  std::string ranks = summary.world > 1 ? fmt::format(" on {} ranks", summary.world) : "";
  if (summary.replicas < summary.world)
    ranks += fmt::format(" ({} of {})", counted(summary.replicas, "model"), summary.world / summary.replicas);
  const std::string shares =
      summary.stages_us.empty() ? "" : ": " + stage_shares(summary.stages_us, summary.step_us);
  std::vector<std::string> out;
  if (summary.samples_per_s > 0)
    out.push_back(fmt::format("  throughput   {} samples/s{}{}{}", rate_text(summary.samples_per_s), ranks,
                              steady, mfu_text(summary, provenance)));
  out.push_back(fmt::format("  a step       {}{}", short_time_text(summary.step_us), shares));
  return out;
}

}  // namespace

std::vector<std::string> summary_lines(const RunSummary& summary, const std::string& provenance) {
  std::vector<std::string> out;
  const bool predicted = provenance == "predicted";
  if (!predicted) {
    const std::string samples = summary.samples > 0 ? human_count(summary.samples) + " samples " : "";
    const std::string time = summary.wall_s > 0 ? ", " + samples + "in " + human_seconds(summary.wall_s)
                             : samples.empty()  ? ""
                                                : ", " + samples.substr(0, samples.size() - 1);
    out.push_back(fmt::format("  steps        {} of {}{}", summary.steps, summary.wanted_steps, time));
  }
  if (summary.has_losses) {
    out.push_back(fmt::format("  train loss   {} at the start, {} at the end", loss_text(summary.first_loss),
                              loss_text(summary.last_loss)));
  } else if (!summary.measure.empty()) {
    out.push_back(fmt::format("  measures     {}: {}", printable(summary.measure, 20),
                              measure_sentence(summary.measure)));
  }
  if (summary.emulated) {
    out.push_back(fmt::format(
        "  precision    {} is emulated: {} processor has no instructions for it, so nothing is faster",
        summary.precision, provenance.empty() ? "this" : "that"));
  }
  if (summary.scale > 0) {
    out.push_back(fmt::format("  loss scale   {:.6g} at the end; {} skipped because a gradient overflowed",
                              summary.scale, counted(summary.skipped, "step")));
  }
  if (summary.has_valid_loss) out.push_back("  valid loss   " + loss_text(summary.valid_loss));
  if (summary.has_scores) {
    std::string line = fmt::format("  {:<12} RMSE {:.4f}", summary.headline, summary.rmse);
    if (summary.persistence_rmse > 0) {
      line += fmt::format("; persistence {:.4f}", summary.persistence_rmse);
      if (summary.climatology_rmse > 0) line += fmt::format(", climatology {:.4f}", summary.climatology_rmse);
      line += fmt::format(": {:.1f} % {} than persistence",
                          100 * std::fabs(summary.rmse / summary.persistence_rmse - 1),
                          summary.rmse < summary.persistence_rmse ? "better" : "worse");
    }
    out.push_back(line);
  }
  if (summary.samples_per_s > 0 || summary.step_us > 0) {
    for (std::string& line : speed_lines(summary, provenance)) out.push_back(std::move(line));
    if (summary.is_crowded()) out.push_back("  processors   " + crowded_sentence(summary.processor_wait));
    if (summary.read_bytes > 0) out.push_back("  loader       " + loader_text(summary));
  }
  if (summary.predicted_bytes > 0 && summary.peak_bytes > 0) {
    out.push_back(fmt::format("  memory       {} at most{}, {} were predicted",
                              human_bytes(summary.peak_bytes), summary.world > 1 ? " on this rank" : "",
                              human_bytes(summary.predicted_bytes)));
  }
  for (std::string& line : watched_lines(summary.watched)) out.push_back(std::move(line));
  return out;
}

}  // namespace isobar
