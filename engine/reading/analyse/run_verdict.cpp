#include "analyse/run_verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "log/run_files.h"
#include "record/run_folder.h"

namespace isobar {
namespace {

constexpr double kStragglerShare = 0.10;
constexpr double kWorthNoticing = 0.05;  // share of a step

bool reads_ahead(const ConfigText& config) {
  const std::string kind = value_in(config, "loader.kind");
  return !kind.empty() && kind != "inline" && value_in(config, "data.workers") != "0";
}

/// Settings that a quartet has otherwise than the run that it explains.
bool is_of_measuring(const KeyRow& row) {
  return row.is_label() || row.key == "run.measure" || row.key == "train.steps" ||
         row.key == "train.checkpoint_every" || row.key == "comm.sync";
}

bool is_explained_by(const ConfigText& run, const ConfigText& full) {
  const std::vector<KeyRow> rows = key_rows({&run, &full});
  return std::ranges::all_of(rows, [](const KeyRow& row) {
    return !row.differs || (is_of_measuring(row) && row.key != "comm.sync");
  });
}

Roofline roofline_of(const RunCase& run, const RunFacts& facts) {
  Roofline out;
  const RunSummary& summary = run.view().summary;
  const double samples = run.samples_a_step() / static_cast<double>(std::max<std::int64_t>(1, summary.world));
  out.flops = samples * (summary.flops_per_sample + summary.redone_flops_per_sample);
  if (facts.attention_flops > 0 && summary.flops_per_sample > 0)
    out.attention_share = facts.attention_flops / summary.flops_per_sample;
  if (summary.peak_flops_per_s > 0 && !summary.peak_is_too_low())
    out.arithmetic_us = out.flops / summary.peak_flops_per_s * 1e6;
  out.moved_bytes = static_cast<double>(std::max<std::int64_t>(0, summary.watched.moved_bytes));
  if (facts.memory_bytes_per_s > 0) out.memory_us = out.moved_bytes / facts.memory_bytes_per_s * 1e6;
  out.computing_us = computing_us(run.repeats);
  return out;
}

struct Candidate {
  Bound bound;
  double us;
  std::string sentence;
};

void judge_anatomy(const RunCase& run, RunVerdict& out) {
  const double step_us = mean_us(run.repeats, "step_us");
  const std::optional<RanksView>& ranks = run.repeats.front().ranks;
  if (ranks && ranks->straggler && ranks->straggler->of_step >= kStragglerShare) {
    out.verdict = {Bound::straggler, straggler_sentence(*ranks), {}, ranks->straggler->rank};
    out.share = ranks->straggler->of_step;
    return;
  }
  const double load_us = mean_us(run.repeats, "load_us"), copy_us = mean_us(run.repeats, "copy_us");
  const double comm_us =
      ranks && ranks->comm.exposed_us ? *ranks->comm.exposed_us : mean_us(run.repeats, "comm_us");
  // Who waits for a processor computes nothing either, and hands nothing over.
  const RunSummary& summary = run.view().summary;
  const double waited_us = summary.is_crowded() ? summary.processor_wait * step_us : 0;
  const double host_us = out.parts[Part::host] * step_us - waited_us;
  const double computes_us = out.parts.computing() * step_us;
  const std::vector<RanksView> views = ranks ? std::vector{*ranks} : std::vector<RanksView>{};
  const Candidate candidates[] = {
      {Bound::data, load_us, "the loop waits " + of_step(load_us, step_us) + " for its batch"},
      {Bound::contention, copy_us, "copying takes " + of_step(copy_us, step_us)},
      {Bound::contention, waited_us,
       "other programs, or more threads than processors, had the processor in " +
           of_step(waited_us, step_us)},
      {Bound::communication, comm_us,
       "communication that nothing hides takes " + of_step(comm_us, step_us) + latency_or_bandwidth(views)},
      {Bound::launch, host_us,
       "nobody computes in " + of_step(host_us, step_us) + ": work is being handed over"},
      {Bound::compute, computes_us,
       "computing takes " + of_step(computes_us, step_us) + ": " + out.parts.text(3)}};
  const Candidate& most = *std::ranges::max_element(candidates, [](auto& a, auto& b) { return a.us < b.us; });
  out.verdict = {most.bound, most.sentence, {}, -1};
  out.share = step_us > 0 ? std::min(1.0, most.us / step_us) : 0;
}

void add_evidence(const RunCase& run, RunVerdict& out) {
  const RunSummary& summary = run.view().summary;
  std::vector<std::string>& evidence = out.verdict.evidence;
  if (summary.mfu() > 0)
    evidence.push_back(fmt::format(
        "MFU {:.1f} %{} of {:.0f} GFLOP/s ({}, {})", 100 * summary.mfu(),
        summary.redone_flops_per_sample > 0 ? fmt::format(", HFU {:.1f} %", 100 * summary.hfu()) : "",
        summary.peak_flops_per_s * 1e-9, summary.arithmetic(),
        summary.peak_of_data_sheet ? "data sheet" : "measured"));
  if (const std::string text = roofline_sentence(out.roofline); !text.empty()) evidence.push_back(text);
  if (summary.slots > 0)
    evidence.push_back(fmt::format("{:.1f} of {} batches were ready when one was asked for",
                                   summary.ready_slots, summary.slots));
  if (const std::optional<RanksView>& ranks = run.repeats.front().ranks) {
    if (const std::string comm = comm_sentence(*ranks); !comm.empty())
      evidence.push_back("communication: " + comm);
    for (const std::string& lost : lost_rank_sentences(*ranks, 2)) evidence.push_back(lost);
  }
  if (summary.processor_wait >= 0 && !summary.is_crowded())
    evidence.push_back(
        fmt::format("the training loop got its processor {:.0f} % of the time that it wanted it",
                    100 * (1 - summary.processor_wait)));
}

void add_warnings(const RunCase& run, RunVerdict& out) {
  const RunView& view = run.view();
  if (!view.is_measured_here()) out.warnings.push_back(provenance_text(view));
  if (view.state == RunState::running)
    out.warnings.push_back("it is still running: figures cover the steps so far");
  if (view.state == RunState::died || view.state == RunState::failed)
    out.warnings.push_back("the run did not end well: figures cover the steps until then");
  if (view.summary.is_crowded())
    out.warnings.push_back("other programs took part: " + crowded_sentence(view.summary.processor_wait));
  for (const std::string& mark : marks_of(view)) out.warnings.push_back("not a plain run: " + mark);
}

std::string notice_of(const RunCase& run, const RunVerdict& out) {
  const RunSummary& summary = run.view().summary;
  const double load = out.parts[Part::data];
  const bool ahead = reads_ahead(run.config);
  if (summary.peak_is_too_low())
    return "the steps did more operations a second than the peak that was measured, so the peak was measured "
           "beside other programs and MFU is not known";
  if (out.verdict.bound == Bound::data)
    return ahead ? "the loader reads ahead and is still slower than the model: more workers or fewer bytes "
                   "help, a "
                   "faster model does not"
                 : "while the loop waits for its batch nothing computes";
  if (load >= kWorthNoticing && !ahead)
    return fmt::format("reading takes {:.0f} % of a step, and nothing computes meanwhile", 100 * load);
  if (summary.emulated)
    return summary.precision +
           " is emulated on this processor: its products cost more than in fp32, not less";
  const Roofline& roofline = out.roofline;
  if (out.verdict.bound == Bound::compute && roofline.least_us() > 0)
    return fmt::format(
        "computing takes {:.1f} ms where the roofline allows {:.1f}: the rest is small matrices, passes over "
        "memory and "
        "calls of operators",
        roofline.computing_us * 1e-3, roofline.least_us() * 1e-3);
  if (summary.has_scores && summary.persistence_rmse > 0 && summary.rmse > summary.persistence_rmse)
    return "its forecast is not yet better than persistence";
  return "";
}

bool is_here(const RunFacts& facts, const std::string& lesson) { return facts.lessons.contains(lesson); }

/// The timeline of a rank where the run kept one, else what else the run can show.
std::string look_into(const RunCase& run, int rank) {
  const std::string show = "./isobar show " + shell_quoted(run.folder.string());
  std::error_code code;
  if (!std::filesystem::exists(RunFolder{run.folder}.spans_file(std::max(0, rank)), code)) return show;
  return show + " --timeline" + (rank < 0 ? "" : fmt::format(" --rank {}", rank));
}

std::string next_of(const RunCase& run, const RunVerdict& out, const RunFacts& facts) {
  const RunView& view = run.view();
  if (!out.is_known || !is_here(facts, view.lesson)) return look_into(run, -1);
  const std::string again = fmt::format("./isobar run {} --config {}", shell_quoted(view.lesson),
                                        shell_quoted((run.folder / "run.toml").string()));
  if (view.summary.is_crowded() || view.summary.peak_is_too_low()) return run.config.empty() ? "" : again;
  const Bound bound = out.verdict.bound;
  if (bound == Bound::straggler) return look_into(run, out.verdict.straggler);
  if (bound == Bound::launch && view.device.rfind("cuda", 0) != 0)  // no graph helps it
    return look_into(run, -1);
  const auto words = [&view](const std::string&, const std::string& varied) {
    std::vector<std::string> out_words;
    if (!view.preset.empty()) out_words.push_back("--preset " + shell_quoted(view.preset));
    if (view.summary.world > 1) out_words.push_back(fmt::format("--ranks {}", view.summary.world));
    if (view.throttle_mb_per_s > 0 && varied != "data.throttle_mb_per_s")
      out_words.push_back(fmt::format("--set data.throttle_mb_per_s={}", view.throttle_mb_per_s));
    return joined(out_words, " ");
  };
  return next_command(out.verdict, {.verb = "run",
                                    .lesson = view.lesson,
                                    .lessons = facts.lessons,
                                    .honours = facts.honours,
                                    .products_count = facts.computes_16_bit &&
                                                      out.parts[Part::memory] <= out.parts[Part::gemm],
                                    .full_run = shell_quoted(run.folder.string()),
                                    .words = words});
}

std::string why_unknown(const RunCase& run) {
  const std::string what = run.view().source.empty() ? "run" : "log";
  if (run.repeats.front().steps == 0) return "no step behind the warm-up was recorded";
  const double step_us = mean_us(run.repeats, "step_us");
  if (!(step_us > 0)) return "the " + what + " has no times of its steps";
  return fmt::format(
      "the {} has no times of the stages of a step (load, forward, backward, ...), so where "
      "the {:.1f} ms of one go is not known",
      what, step_us * 1e-3);
}

}  // namespace

std::optional<QuartetFigures> find_quartet(const RunCase& run, const RunFacts& facts) {
  if (run.config.empty()) return std::nullopt;
  std::error_code code;
  const auto beside = known_runs(std::filesystem::weakly_canonical(run.folder, code).parent_path());
  const auto is_full = [&](const KnownRun& one) {
    return value_in(one.config, "run.group").rfind("quartet-", 0) == 0 &&
           value_in(one.config, "run.point") == "full" && is_explained_by(run.config, one.config);
  };
  const auto full = std::ranges::find_if(beside, is_full);
  if (full == beside.end()) return std::nullopt;
  std::map<std::string, Repeats> cases;
  for (const KnownRun& one : beside) {
    if (value_in(one.config, "run.group") != value_in(full->config, "run.group")) continue;
    try {
      cases[value_in(one.config, "run.point")].push_back(steady_figures(one.folder));
    } catch (const Error&) {  // a trial that cannot be read is none
    }
  }
  QuartetFigures out = quartet_figures(cases["io"], cases["synthetic"], cases["full"], cases["no_comm"]);
  out.reads_ahead = reads_ahead(run.config);
  if (facts.attention_flops > 0 && run.view().summary.flops_per_sample > 0)
    out.attention_share = facts.attention_flops / run.view().summary.flops_per_sample;
  return out;
}

RunVerdict judge_run(const RunCase& run, const std::optional<QuartetFigures>& quartet,
                     const RunFacts& facts) {
  RunVerdict out;
  add_warnings(run, out);
  out.parts = step_parts(run.repeats);
  out.is_known = out.parts.is_known();
  if (!out.is_known) {
    out.why_unknown = why_unknown(run);
    out.next = next_of(run, out, facts);
    return out;
  }
  out.roofline = roofline_of(run, facts);
  judge_anatomy(run, out);
  if (quartet) {
    out.of_quartet = true;
    const Bound by_anatomy = out.verdict.bound;
    out.verdict = judge_quartet(*quartet);
    if (out.verdict.bound != by_anatomy) out.share = 0;
  }
  add_evidence(run, out);
  out.notice = notice_of(run, out);
  out.next = next_of(run, out, facts);
  for (const auto& [lesson, helps] : facts.lessons) {
    if (lesson != run.view().lesson && out.next.rfind("./isobar run " + lesson, 0) == 0)
      out.next_lesson = lesson;
  }
  return out;
}

std::string verdict_sentence(const RunVerdict& verdict) {
  if (!verdict.is_known) return "nothing can be said: " + verdict.why_unknown;
  const bool is_fault = verdict.verdict.bound == Bound::fault;
  return fmt::format("{}{}: {}", is_fault ? "" : "bound by ", bound_name(verdict.verdict.bound),
                     verdict.verdict.sentence);
}

std::string roofline_sentence(const Roofline& roofline) {
  if (!(roofline.flops > 0) || !(roofline.arithmetic_us > 0)) return "";
  std::string out = fmt::format("{:.1f} GFLOP a step", roofline.flops * 1e-9);
  if (roofline.attention_share) out += fmt::format(" ({:.0f} % attention)", 100 * *roofline.attention_share);
  out += fmt::format(" take {:.1f} ms at the peak", roofline.arithmetic_us * 1e-3);
  if (roofline.memory_us > 0)
    out +=
        fmt::format(", {} moved take {:.1f} ms at the bandwidth of memory",
                    human_bytes(static_cast<std::uint64_t>(roofline.moved_bytes)), roofline.memory_us * 1e-3);
  return out + fmt::format("; computing took {:.1f} ms", roofline.computing_us * 1e-3);
}

}  // namespace isobar
