#include "analyse/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/find.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr double kFault = 1.03;
constexpr double kSlower = 0.97;  // IO against SYNTHETIC
constexpr double kReaches = 0.9;  // FULL against what bounds it
constexpr double kCommShare = 0.10;
constexpr double kStragglerShare = 0.10;
constexpr double kHostShare = 0.95;
constexpr double kIdleShare = 0.10;
constexpr double kNoisy = 0.10;  // inter-quartile range over median

struct Case {
  const char* name;
  const Spread* rate;
};

std::array<Case, 4> cases_of(const QuartetFigures& f) {
  return {{{"IO", &f.io}, {"SYNTHETIC", &f.synthetic}, {"FULL", &f.full}, {"NO-COMM", &f.no_comm}}};
}

bool is_same(const Spread& one, const Spread& other) {
  const std::optional<Compared> found = compare(one, other);
  return found && found->is_same();
}

/// FULL's time that is lost against the slower of IO and SYNTHETIC, and who takes it.
std::string name_contention(const QuartetFigures& f, double slower) {
  const double step_us = f.field("step_us").value_or(0);
  const double lost_us = step_us * (1 - f.full.median() / slower);
  const std::optional<double> load_us = f.field("load_us"), copy_us = f.field("copy_us");
  if (!(lost_us > 0) || (!load_us && !copy_us))
    return "stages that could overlap do not; the step has no times of its stages to name one";
  const bool is_load = load_us >= copy_us;
  const double larger_us = is_load ? *load_us : *copy_us;
  const std::string times = (is_load ? "load takes " : "copy takes ") + of_step(larger_us, step_us);
  if (larger_us < 0.5 * lost_us) {
    return fmt::format("loader and model take each other's cores or memory: {:.1f} ms of a step are lost, {}",
                       lost_us * 1e-3, times);
  }
  if (is_load && !f.reads_ahead)
    return times + ": it could overlap with computing and does not (the training loop reads)";
  return times + ": it could overlap with computing and does not";
}

std::string describe_compute(const QuartetFigures& f) {
  std::string out;
  if (f.attention_share) {
    out = fmt::format(
        "attention {:.0f} % and other matrix products {:.0f} % of the operations (predicted by model; "
        "element-wise work is not counted)",
        100 * *f.attention_share, 100 * (1 - *f.attention_share));
  }
  if (f.mfu) out += fmt::format("{}MFU {:.1f} % (measured here)", out.empty() ? "" : "; ", 100 * *f.mfu);
  return out;
}

/// What FULL lacks against SYNTHETIC although computing bounds it.
std::string describe_loss(const QuartetFigures& f) {
  const double lost = 1 - f.full.median() / f.synthetic.median();
  if (lost <= 0) return "FULL loses nothing against SYNTHETIC";
  return fmt::format("{:.0f} % are lost to {}", 100 * lost,
                     f.reads_ahead ? "copying and to cores and memory that the loader takes"
                                   : "loading and copying, during which nothing computes");
}

/// The trial of FULL that shows its straggler best, when more than half of them name the same rank.
const RanksView* straggling(const QuartetFigures& f) {
  const RanksView* out = nullptr;
  for (const RanksView& one : f.ranks) {
    if (!one.straggler) continue;
    const auto same = std::ranges::count_if(f.ranks, [&](const RanksView& other) {
      return other.straggler && other.straggler->rank == one.straggler->rank;
    });
    if (2 * static_cast<std::size_t>(same) <= f.ranks.size()) continue;
    if (out == nullptr || one.straggler->of_step < out->straggler->of_step) out = &one;
  }
  return out;
}

Verdict fault(const std::string& sentence) { return {Bound::fault, sentence, {}, -1}; }

Verdict by_rules(const QuartetFigures& f) {
  for (const Case& one : cases_of(f)) {
    if (one.rate != &f.no_comm && !(one.rate->median() > 0))
      return fault(fmt::format("{} gave no figure", one.name));
  }
  const double io = f.io.median();
  const double synthetic = f.synthetic.median();
  const double full = f.full.median();
  const bool io_is_slower = io < synthetic;
  const Spread& slower = io_is_slower ? f.io : f.synthetic;
  const auto reaches = [&](const Spread& rate) {
    return full >= kReaches * rate.median() || is_same(f.full, rate);
  };
  if (full > kFault * slower.median() && !is_same(f.full, slower)) {
    return fault(
        fmt::format("FULL cannot be {:.0f} % faster than {} alone: the machine was not the same for both",
                    100 * (full / slower.median() - 1), io_is_slower ? "IO" : "SYNTHETIC"));
  }
  const bool waits_for_data = io < kSlower * synthetic && reaches(f.io);
  if (const RanksView* const found = straggling(f); found != nullptr) {
    const Straggler& slow = *found->straggler;
    if (slow.of_step >= kStragglerShare && (!waits_for_data || slow.stage == "load"))
      return {Bound::straggler, straggler_sentence(*found), {}, slow.rank};
  }
  if (waits_for_data) {
    return {Bound::data,
            fmt::format("batches come at {:.1f} samples/s, the model could take {:.1f}", io, synthetic),
            {}};
  }
  if (!reaches(slower)) return {Bound::contention, name_contention(f, slower.median()), {}};
  if (const double all = f.no_comm.median(); all > 0 && 1 - synthetic / all >= kCommShare) {
    return {Bound::communication,
            fmt::format("{:.0f} % of a step is communication between ranks{}", 100 * (1 - synthetic / all),
                        latency_or_bandwidth(f.ranks)),
            {}};
  }
  const double step_us = f.field("step_us").value_or(0), idle_us = f.field("idle_us").value_or(0);
  double host_us = 0;
  for (const char* const stage : {"forward_host_us", "backward_host_us", "optimize_host_us"})
    host_us += f.field(stage).value_or(0);
  if (f.on_device && step_us > 0 && host_us >= kHostShare * step_us && idle_us >= kIdleShare * step_us) {
    return {Bound::launch,
            fmt::format("the host takes {} to hand over the work, and the device is idle for {:.0f} %",
                        of_step(host_us, step_us), 100 * idle_us / step_us),
            {}};
  }
  const std::string split = describe_compute(f);
  return {Bound::compute, "the model's own work bounds the run" + (split.empty() ? "" : ": " + split), {}};
}

/// Where both were measured.
void add_against(std::vector<std::string>& out, const char* what, const Spread& rate, const char* whom,
                 const Spread& other) {
  const std::optional<Compared> found = compare(rate, other);
  if (!found || found->direction == Direction::unknown) return;
  const double percent = found->high < 10 ? 100 : 1;
  const char* const unit = found->high < 10 ? " %" : " times";
  const std::string interval =
      fmt::format("{:.0f} to {:.0f}{}", percent * found->low, percent * found->high, unit);
  out.push_back(found->is_same() ? fmt::format("{} and {} are the same ({})", what, whom, interval)
                                 : fmt::format("{} is {:.0f}{} of {} ({})", what, percent * found->ratio,
                                               unit, whom, interval));
}

}  // namespace

const char* bound_name(Bound bound) {
  static constexpr std::array<const char*, 7> kNames = {
      "measurement fault", "straggler",     "data",   "copy or contention",
      "communication",     "host (launch)", "compute"};
  return kNames[static_cast<std::size_t>(bound)];
}

std::optional<MeanMessage> mean_message(const RanksView& view) {
  const bool known =
      view.probe && view.probe->busbw_gb_per_s > 0 && view.comm.comm_calls > 0 && view.comm.wire_bytes > 0;
  if (!known) return std::nullopt;
  MeanMessage out;
  out.bytes = *view.comm.wire_bytes / *view.comm.comm_calls;
  out.latency_us = view.probe->latency_us;
  out.moving_us = out.bytes / (view.probe->busbw_gb_per_s * 1e3);
  return out;
}

std::string of_step(double part_us, double step_us) {
  const int digits = step_us < 1000 ? 3 : 1;
  if (part_us > step_us) return fmt::format("{:.{}f} ms a step", part_us * 1e-3, digits);
  return fmt::format("{:.{}f} of {:.{}f} ms a step", part_us * 1e-3, digits, step_us * 1e-3, digits);
}

std::string latency_or_bandwidth(const std::vector<RanksView>& ranks) {
  for (const RanksView& view : ranks) {
    const std::optional<MeanMessage> message = mean_message(view);
    if (!message) continue;
    return fmt::format(", bound by {}: of a message of {} the link's latency is {:.0f} %", message->bound(),
                       human_bytes(static_cast<std::uint64_t>(message->bytes)),
                       100 * message->latency_share());
  }
  return "";
}

QuartetFigures quartet_figures(const Repeats& io, const Repeats& synthetic, const Repeats& full,
                               const Repeats& no_comm) {
  QuartetFigures out;
  out.io = rates(io);
  out.synthetic = rates(synthetic);
  out.full = rates(full);
  out.no_comm = rates(no_comm);
  if (full.empty()) return out;
  for (const SteadyFigures& one : full) {
    if (one.ranks) out.ranks.push_back(*one.ranks);
  }
  for (const auto& [name, value] : full.front().means) out.fields[name] = means(full, name).median();
  out.on_device = full.front().view.device.rfind("cpu", 0) != 0;
  const Spread mfu = over(full, [](const SteadyFigures& one) { return one.view.summary.mfu(); });
  if (mfu.median() > 0) out.mfu = mfu.median();
  return out;
}

std::optional<double> QuartetFigures::field(std::string_view name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::nullopt : std::optional(found->second);
}

Verdict judge_quartet(const QuartetFigures& f) {
  Verdict out = by_rules(f);
  add_against(out.evidence, "FULL", f.full, "SYNTHETIC", f.synthetic);
  add_against(out.evidence, "FULL", f.full, "IO", f.io);
  add_against(out.evidence, "IO", f.io, "SYNTHETIC", f.synthetic);
  add_against(out.evidence, "SYNTHETIC", f.synthetic, "NO-COMM", f.no_comm);
  if (out.bound == Bound::compute) {
    if (!is_same(f.full, f.synthetic)) out.evidence.push_back(describe_loss(f));
    if (f.on_device && !f.field("idle_us"))
      out.evidence.push_back(
          "no idle time of the device was recorded: launching by the host is not ruled out");
  }
  if (const RanksView* const found = straggling(f); found != nullptr && out.bound != Bound::straggler)
    out.evidence.push_back(straggler_sentence(*found));
  if (!f.ranks.empty()) {
    if (const std::string comm = comm_sentence(f.ranks.front()); !comm.empty())
      out.evidence.push_back("communication of FULL: " + comm);
  }
  if (const std::optional<Compared> found = compare(f.full, f.synthetic);
      found && found->direction == Direction::unknown)
    out.evidence.push_back(
        fmt::format("fewer than {} trials give no interval: --trials {}", kLeastRepeats, kLeastRepeats));
  for (const Case& one : cases_of(f)) {
    if (one.rate->relative() <= kNoisy) continue;
    out.evidence.push_back(fmt::format(
        "the trials of {} lie between {:.1f} and {:.1f}: more trials, or a quieter machine, say it better",
        one.name, one.rate->least(), one.rate->most()));
  }
  return out;
}

namespace {

std::string command(const std::string& verb, const std::string& lesson, const std::string& more,
                    const std::string& words) {
  return "./isobar " + verb + " " + lesson + (more.empty() ? "" : " " + more) +
         (words.empty() ? "" : " " + words);
}

}  // namespace

std::string next_command(const Verdict& verdict, const NextStep& step) {
  const auto later = [&](const char* bound) -> std::string {
    const auto* const found = find_where(
        step.lessons, [&](const auto& one) { return one.first > step.lesson && holds(one.second, bound); });
    return found == nullptr ? "" : found->first;
  };
  std::string other;
  std::string sweep = "train.global_batch=1,2,4,8,16";
  switch (verdict.bound) {
    case Bound::fault:
      return command("quartet", step.lesson, "--steps 200 --trials 5", step.words(step.lesson, ""));
    case Bound::straggler:
      return fmt::format("./isobar show {} --timeline --rank {}", step.full_run, verdict.straggler);
    case Bound::data:
    case Bound::contention:
      if (holds(step.honours, "data.workers")) {
        if (verdict.bound == Bound::contention) other = later("contention");
        sweep = "data.workers=1,2,4,8";
      } else {
        other = later("data");
        sweep = "data.source=files,memory";
      }
      break;
    case Bound::communication:
      other = later("communication");
      if (holds(step.honours, "comm.sync")) sweep = "comm.sync=buckets,at_end,per_parameter";
      break;
    case Bound::launch:
      other = later("launch");
      break;
    case Bound::compute:
      if (step.products_count) other = later("products");
      if (other.empty()) other = later("compute");
      break;
  }
  if (!other.empty()) return command(step.verb, other, "", step.words(other, ""));
  return command("sweep", step.lesson, sweep, step.words(step.lesson, sweep.substr(0, sweep.find('='))));
}

}  // namespace isobar
