#include "analyse/cluster_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "core/text.h"
#include "formula/memory_front.h"
#include "formula/vit_counts.h"

namespace isobar {
namespace {

constexpr double kMebi = 1 << 20;

/// Every unknown term at one end of its range, in each combination.
void for_corners(const ClusterMachine& machine, const SimulationTerms& terms,
                 const std::function<void(const ClusterMachine&, const SimulationTerms&)>& take) {
  const std::size_t count = machine.unknown.size();
  if (count > 10)
    throw Error(fmt::format("{} unknown terms", count), machine.name, "at most 10 in [machine.unknown]");
  for (std::size_t corner = 0; corner < std::size_t{1} << count; ++corner) {
    ClusterMachine one = machine;
    SimulationTerms with = terms;
    for (std::size_t i = 0; i < count; ++i) {
      const UnknownTerm& term = machine.unknown[i];
      set_unknown(one, with, term.key, (corner >> i & 1) != 0 ? term.most : term.least);
    }
    take(one, with);
  }
}

double middle_of(const UnknownTerm& term) { return (term.least + term.most) / 2; }

void set_middle(ClusterMachine& machine, SimulationTerms& terms, const std::vector<UnknownTerm>& unknown) {
  for (const UnknownTerm& term : unknown) set_unknown(machine, terms, term.key, middle_of(term));
}

/// A step of so many ranks, made from that of one.
class Scaled {
 public:
  Scaled(const Prediction& on_one, ScalingLaw law, double joint)
      : on_one_(on_one), config_(on_one.config), law_(law) {
    check_modelled(config_);
    samples_ = joint > 0 ? joint : static_cast<double>(config_.train.global_batch);
  }

  /// A rank alone computes what a pipeline does between its ranks.
  double samples(int ranks) const { return law_ == ScalingLaw::weak ? samples_ * copies(ranks) : samples_; }

  SimulatedStep step(const ClusterMachine& machine, const SimulationTerms& terms, int ranks) const {
    if (law_ == ScalingLaw::strong && std::fmod(samples_, copies(ranks)) != 0)
      throw Error(fmt::format("{} samples are not divided by {} ranks", samples_, ranks),
                  "train.global_batch", "a batch that all numbers of ranks divide, or --law weak");
    if (ranks > machine.gpus_per_node && !knows_network(machine))
      throw Error("the network of " + machine.name + " is not known", "[machine] between_gb_s",
                  "between_gb_s, or busbw_by_nodes of more than one node: ./isobar import takes a log of "
                  "nccl-tests for each number of nodes");
    const double share = samples(ranks) / copies(ranks);
    TrainingJob job = job_of(config_, on_one_.form.shape, share, on_one_.form.kept.value_bytes);
    job.gpus = ranks;
    if (ranks < ranks_of_ensemble()) {  // one rank alone
      job.stages = job.chunks = job.tensor = job.context = job.ensemble = 1;
      job.messages.clear();
    }
    if (machine.read_gb_s > 0)
      job.load_us = read_bytes_a_step(config_) * share / static_cast<double>(config_.train.global_batch) *
                    group_of(machine, ranks).ranks_per_node / (machine.read_gb_s * 1e3);
    return simulate_step(machine, job, terms, pass_us(share, job));
  }

  double rate(const ClusterMachine& machine, const SimulationTerms& terms, int ranks) const {
    return samples(ranks) / step(machine, terms, ranks).step_us() * 1e6;
  }

 private:
  int ranks_of_ensemble() const {
    return static_cast<int>(ranks_of_model(config_) * models_of_ensemble(config_));
  }
  /// Models, or ensembles of them, that train side by side.
  int copies(int ranks) const { return std::max(1, ranks / ranks_of_ensemble()); }

  /// Forward and backward of one of the passes over so many samples on one device, and its part of the
  /// update.
  double pass_us(double samples, const TrainingJob& job) const {
    StepForm form = on_one_.form;
    const double members = static_cast<double>(config_.mesh.members_per_device);
    form.batch = std::max<std::int64_t>(1, std::llround(samples / job.accumulate * members));
    form.passes = config_.train.rollout;
    if (job.context == 1) form.own_tokens = 0;
    if (job.tensor == 1) form.tp = 1;
    const StepTime time = predict_step(form, on_one_.device);
    return time.step_us() - time.optimize_us * (job.accumulate - 1) / job.accumulate;
  }

  const Prediction& on_one_;
  const Config& config_;
  ScalingLaw law_;
  double samples_ = 1;  ///< a rank's (weak), or all ranks' together (strong)
};

/// At each corner of the unknown terms.
std::vector<double> efficiencies(const Scaled& scaled, const ClusterMachine& machine,
                                 const SimulationTerms& terms, int ranks) {
  std::vector<double> out;
  for_corners(machine, terms, [&](const ClusterMachine& one, const SimulationTerms& with) {
    out.push_back(scaled.rate(one, with, ranks) / ranks / scaled.rate(one, with, 1));
  });
  return out;
}

void widen(OpenRange& range, double value) {
  range.least = std::min(range.least, value);
  range.most = std::max(range.most, value);
}

/// What ranks of a model and models of an ensemble send each other, of the samples of `job`.
void add_messages(const Config& config, const VitShape& shape, std::int64_t value_bytes, TrainingJob& job) {
  const double passes = job.accumulate;
  Config own = config;  // one ensemble's, with the micro-batch of the job
  own.run.ranks = ranks_of_model(own) * models_of_ensemble(own);
  own.train.global_batch = std::max<std::int64_t>(1, std::llround(job.micro_batch)) * own.train.accumulate;
  for (auto& messages :
       {context_messages(shape, context_form(own, value_bytes), passes),
        tensor_messages(shape, tensor_form(own, value_bytes), passes), ensemble_messages(own)})
    job.messages.insert(job.messages.end(), messages.begin(), messages.end());
}

}  // namespace

void check_modelled(const Config& config) {
  const auto refuse = [](const std::string& what, const std::string& key) {
    throw Error(what + " not modelled on a cluster yet", key,
                "data-parallel steps are; ./isobar scale measures it");
  };
  if (config.mesh.pp > 1 && config.mesh.schedule == PipelineForm::file)
    refuse("schedules of files are", "mesh.schedule_file");
  if (config.comm.compress != CompressKind::none) refuse("compressed gradients are", "comm.compress");
  if (config.comm.average == Averaged::weights) refuse("averages of weights are", "comm.average");
}

TrainingJob job_of(const Config& config, const VitShape& shape, double samples, std::int64_t value_bytes) {
  TrainingJob out;
  out.micro_batch = samples / static_cast<double>(config.train.accumulate);
  out.accumulate = static_cast<int>(config.train.accumulate);
  out.parameters = static_cast<double>(count_parameters(shape).total());
  out.layers = static_cast<int>(shape.depth);
  out.bucket_bytes = config.comm.bucket_mb * kMebi;
  out.first_bucket_bytes = std::min(config.comm.first_bucket_mb, config.comm.bucket_mb) * kMebi;
  out.overlaps = config.comm.overlap && config.comm.sync != SyncKind::at_end;
  if (config.comm.sync == SyncKind::at_end)
    out.first_bucket_bytes = out.bucket_bytes = out.parameters * out.reduce_bytes;
  out.stages = static_cast<int>(config.mesh.pp);
  out.chunks = static_cast<int>(config.mesh.chunks);
  out.schedule = config.mesh.schedule;
  out.order = config.mesh.order;
  out.tensor = static_cast<int>(config.mesh.tp);
  out.context = static_cast<int>(config.mesh.cp);
  out.ensemble = static_cast<int>(models_of_ensemble(config));
  const double members = static_cast<double>(config.mesh.members_per_device);
  out.message_bytes = 4 * out.micro_batch * members * static_cast<double>(shape.tokens() * shape.embed) /
                      static_cast<double>(out.context);
  add_messages(config, shape, value_bytes, out);
  return out;
}

std::vector<int> rank_counts(int ranks) {
  std::vector<int> out;
  for (std::int64_t count = 1; count < ranks; count *= 2) out.push_back(static_cast<int>(count));
  out.push_back(ranks);
  return out;
}

std::string ClusterPrediction::ended_by() const {
  const StepTerms& terms = last().step.terms;
  if (last().ranks == 1) return "";
  const auto named = terms.named();
  return std::max_element(named.begin() + 3, named.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

ClusterPrediction predict_on_cluster(const Prediction& on_one, const ClusterMachine& machine, ScalingLaw law,
                                     const std::vector<int>& ranks, const SimulationTerms& terms,
                                     double joint) {
  ClusterPrediction out{.machine = machine, .device = on_one.device.name, .law = law};
  const Scaled scaled(on_one, law, joint);
  ClusterMachine middle = machine;
  SimulationTerms middle_terms = terms;
  set_middle(middle, middle_terms, machine.unknown);
  for (const int count : ranks) {
    ClusterPoint& point = out.points.emplace_back();
    point.ranks = count;
    point.nodes = group_of(machine, count).nodes;
    point.batch = scaled.samples(count);
    point.step = scaled.step(middle, middle_terms, count);
    const double rate = point.batch / point.step.step_us() * 1e6;
    const double efficiency = rate / count / scaled.rate(middle, middle_terms, 1);
    point.samples_per_s = {rate, rate, rate};
    point.efficiency = {efficiency, efficiency, efficiency};
    for_corners(machine, terms, [&](const ClusterMachine& one, const SimulationTerms& with) {
      const double at_corner = scaled.rate(one, with, count);
      widen(point.samples_per_s, at_corner);
      widen(point.efficiency, at_corner / count / scaled.rate(one, with, 1));
    });
  }
  return out;
}

ClusterOrder order_of(const Prediction& on_one, const ClusterMachine& a, const Prediction& on_other,
                      const ClusterMachine& b, ScalingLaw law, int ranks, const SimulationTerms& terms,
                      double joint) {
  if (a.name == b.name)
    throw Error("two clusters are called " + printable(a.name, 40), "--cluster",
                "clusters with names of their own");
  const Scaled on_a(on_one, law, joint), on_b(on_other, law, joint);
  const std::vector<double> of_a = efficiencies(on_a, a, terms, ranks),
                            of_b = efficiencies(on_b, b, terms, ranks);
  ClusterOrder out;
  if (*std::ranges::min_element(of_a) > *std::ranges::max_element(of_b)) out.better = a.name;
  if (*std::ranges::min_element(of_b) > *std::ranges::max_element(of_a)) out.better = b.name;
  // How far one term alone moves its machine's efficiency, the others in the middle.
  double widest = -1;
  for (const auto& [scaled, machine] : {std::pair(&on_a, &a), std::pair(&on_b, &b)}) {
    for (const UnknownTerm& term : machine->unknown) {
      ClusterMachine alone = *machine;
      alone.unknown = {term};
      SimulationTerms others = terms;
      set_middle(alone, others, machine->unknown);
      const std::vector<double> ends = efficiencies(*scaled, alone, others, ranks);
      if (const double width = std::fabs(ends.back() - ends.front()); width > widest) {
        widest = width;
        out.term = term.key + " of " + machine->name;
      }
    }
  }
  return out;
}

Prediction predict_on_one(const LessonInfo& lesson, const Settings& settings, const ClusterMachine& machine,
                          const std::string& command) {
  if (machine.rates.empty())
    throw Error("the profile of " + machine.name + " does not name the GPU whose rates stand for its own",
                "[machine] rates",
                "rates = \"A100-40GB\"; ./isobar predict --help lists them under --device");
  Settings whole = settings;
  if (!add_ranks_of_model(whole)) return predict_on_device(lesson, settings, machine.rates, command);
  Prediction out = begin_prediction(lesson, whole, command, /*on_cuda=*/true);
  out.device = rates_of(machine.rates);
  check_memory(lesson, out.config, memory_facts(out.config, /*on_cuda=*/true), out.device.memory_bytes,
               "an " + out.device.name);
  out.time = predict_step(out.form, out.device);
  return out;
}

namespace {

/// One rank, then so many models, or ensembles of them, as powers of two.
std::vector<int> counts_of(const Config& config, int ranks) {
  const auto each = static_cast<int>(ranks_of_model(config) * models_of_ensemble(config));
  if (each == 1) return rank_counts(ranks);
  const bool is_pipeline = each == config.mesh.pp;
  if (ranks > 1 && ranks % each != 0)
    throw Error(
        fmt::format("{} ranks form no {} of {}", ranks, is_pipeline ? "pipelines" : "whole models", each),
        is_pipeline ? "mesh.pp" : "--ranks", "--ranks of which it is a divisor");
  std::vector<int> out = {1};
  for (const int models : rank_counts(std::max(1, ranks / each))) out.push_back(models * each);
  return out;
}

/// Sets the share of one of the models of so many ranks, which is what has to fit a GPU; returns the batch of
/// all.
double take_share(const LessonInfo& lesson, int ranks, Settings& settings) {
  Settings whole = settings;
  add_ranks_of_model(whole);
  const Config config = load_config(project_home(), lesson, whole,
                                    preset_device_kind(whole, [] { return std::string("cuda"); }))
                            .config;
  const std::int64_t joint = config.train.global_batch,
                     models = std::max<std::int64_t>(
                         1, ranks / (ranks_of_model(config) * models_of_ensemble(config)));
  if (joint % models != 0)
    throw Error(fmt::format("{} samples are not divided by {} ranks", joint, ranks), "train.global_batch",
                "a batch that all numbers of ranks divide, or --law weak");
  settings.sets.push_back(fmt::format("train.global_batch={}", joint / models));
  return static_cast<double>(joint);
}

}  // namespace

ClusterStudy study_clusters(std::vector<ClusterMachine> machines, const LessonInfo& lesson,
                            const Settings& settings, ScalingLaw law, int ranks,
                            const std::vector<std::string>& set, const std::string& command) {
  const SimulationTerms terms = fitted_terms(set);
  ClusterStudy out;
  std::vector<Prediction> on_one;
  Settings share = settings;
  const double joint = law == ScalingLaw::strong ? take_share(lesson, ranks, share) : 0;
  for (ClusterMachine& machine : machines) {
    std::erase_if(machine.unknown, [&](const UnknownTerm& term) {
      return std::ranges::any_of(set, [&](auto& word) { return word.starts_with(term.key + "="); });
    });
    on_one.push_back(predict_on_one(lesson, share, machine, command));
    out.config = on_one.back().config;
    out.clusters.push_back(predict_on_cluster(on_one.back(), machine, law,
                                              counts_of(on_one.back().config, ranks), terms, joint));
  }
  for (std::size_t i = 0; i + 1 < machines.size(); ++i)
    out.orders.push_back(
        order_of(on_one[i], machines[i], on_one[i + 1], machines[i + 1], law, ranks, terms, joint));
  return out;
}

std::string ClusterStudy::order_sentence(std::size_t index) const {
  const ClusterOrder& order = orders[index];
  const std::string &a = clusters[index].machine.name, &b = clusters[index + 1].machine.name;
  const int ranks = clusters[index].last().ranks;
  if (!order.better.empty())
    return fmt::format("{} GPUs: {} scales better than {} over the whole of what is not published", ranks,
                       order.better, order.better == a ? b : a);
  if (order.term.empty()) return fmt::format("{} GPUs: {} and {} scale alike", ranks, a, b);
  return fmt::format(
      "{} GPUs: cannot tell which of {} and {} scales better: {} decides it and is not published", ranks, a,
      b, order.term);
}

EarnedErrors earned_errors(const std::filesystem::path& home, const SimulationTerms& terms) {
  const std::filesystem::path file = home / "lessons" / "published_scaling.toml";
  if (!std::filesystem::exists(file)) return {};
  const PublishedFile points = read_published(file);
  const BackTest test = back_test(points, terms);
  return {test.errors(PointSplit::calibration), test.errors(PointSplit::test),
          test.errors(PointSplit::test, PointClass::dp), test.errors(PointSplit::test, PointClass::pp)};
}

std::string ungraded(const Config& config) {
  const bool is_ensemble = models_of_ensemble(config) > 1;
  if (config.mesh.cp > 1 || is_ensemble)
    return fmt::format("{}: this prediction is not graded",
                       is_ensemble ? "no published point of ensembles"
                                   : "one published point of context parallel (mp on 16 A100) is no part "
                                     "of the test");
  if (config.mesh.tp > 1)
    return "published points of split layers are not predicted yet: this prediction is not graded";
  return "";
}

std::string known_error(const EarnedErrors& earned, const Config& config) {
  const std::string none = ungraded(config);
  return none.empty() ? earned.sentence(config.mesh.pp > 1) : none;
}

std::string EarnedErrors::sentence(bool of_pipelines) const {
  const std::optional<ErrorFigures>& errors = of_pipelines ? pipelines : data_parallel;
  if (!errors) return "";
  return fmt::format(
      "{} that no term was fitted to: median {:.0f} %, nine of ten within {:.0f} % "
      "(./isobar predict --against lessons/published_scaling.toml)",
      counted(static_cast<std::int64_t>(errors->points),
              of_pipelines ? "published pipeline" : "published data-parallel point"),
      100 * errors->median, 100 * errors->nine_of_ten);
}

}  // namespace isobar
