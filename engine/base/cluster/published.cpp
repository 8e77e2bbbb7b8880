#include "cluster/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "config/toml_keys.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"

namespace isobar {
namespace {

using Entry = const TomlEntry&;
using Point = PublishedPoint;

constexpr std::uint64_t kMostFileBytes = 1 << 20;
constexpr int kMostGpus = 1'000'000;
// Bytes of a parameter that an update moves, as formula/step_time.h has them: one kernel, chains of
// operations.
constexpr double kFusedBytes = 28, kPlainBytes = 65;
constexpr double kMicroseconds = 1e6;
constexpr std::array<std::string_view, 4> kRequired = {"id", "class", "samples_per_s_per_gpu", "job.gpus"};
constexpr int kUsualLayers = 24;
constexpr double kMostLayers = 10'000;
constexpr double kUsualVocabulary = 50'000;

struct PointNumber {
  const char* key;
  double Point::*member;
};
constexpr PointNumber kPointNumbers[] = {
    {"model.parameters", &Point::parameters}, {"model.layers", &Point::layers},
    {"model.width", &Point::width},           {"model.sequence", &Point::sequence},
    {"model.vocabulary", &Point::vocabulary}, {"model.flops_per_sample", &Point::flops_per_sample},
    {"job.micro_batch", &Point::micro_batch}, {"samples_per_s_per_gpu", &Point::samples_per_s_per_gpu}};
struct PointCount {
  const char* key;
  int Point::*member;
};
constexpr PointCount kPointCounts[] = {
    {"job.gpus", &Point::gpus},     {"job.dp", &Point::replicas},
    {"job.tp", &Point::tensor},     {"job.cp", &Point::context},
    {"job.pp", &Point::pipeline},   {"job.accumulate", &Point::accumulate},
    {"job.chunks", &Point::chunks}, {"job.shard_group", &Point::shard_group}};
struct PointText {
  const char* key;
  std::string Point::*member;
};
constexpr PointText kPointTexts[] = {{"id", &Point::id},
                                     {"source", &Point::source},
                                     {"series", &Point::series},
                                     {"model.sample", &Point::sample},
                                     {"job.precision", &Point::precision},
                                     {"job.reduce_precision", &Point::reduce_precision},
                                     {"job.order", &Point::order},
                                     {"job.anchor", &Point::anchor},
                                     {"anchor", &Point::anchor}};

template <class Choice>
void take_choice(Entry entry, Choice& out) {
  const Choices names = choices_of(out);
  const std::string text = one_of_in(entry, {names.begin(), names.end()});
  for (std::size_t i = 0; i < names.size(); ++i)
    if (text == names[i]) out = static_cast<Choice>(i);
}

void take_anything_else(Point& point, Entry entry, std::map<std::string, int>& unknown) {
  if (entry.key == "class") {
    take_choice(entry, point.kind);
  } else if (entry.key == "split") {
    take_choice(entry, point.split);
  } else if (entry.key == "job.schedule") {
    take_choice(entry, point.schedule.emplace());
  } else if (entry.key == "assumed") {
    const auto* const one = std::get_if<std::string>(&entry.value);
    point.assumed = one != nullptr ? std::vector<std::string>{*one} : texts_in(entry);
  } else if (entry.key == "job.checkpoint") {
    const auto* const kind = std::get_if<std::string>(&entry.value);  // "full", "selective"; or true
    point.checkpoint = kind != nullptr ? *kind != "none" && *kind != "no" : flag_in(entry);
  } else if (entry.key == "job.overlap") {
    point.overlap = flag_in(entry);
  } else if (entry.key == "job.zero") {
    point.zero = static_cast<int>(integer_in(entry, 0, 3));
  } else {
    ++unknown[entry.key];
  }
}

/// "" and 0 stand for what is not known.
bool is_blank(Entry entry) {
  const auto* const text = std::get_if<std::string>(&entry.value);
  const auto* const whole = std::get_if<std::int64_t>(&entry.value);
  const auto* const broken = std::get_if<double>(&entry.value);
  return (text != nullptr && text->empty()) || (whole != nullptr && *whole == 0) ||
         (broken != nullptr && *broken == 0);
}

int count_in(Entry entry) {
  const auto* const broken = std::get_if<double>(&entry.value);
  if (broken == nullptr || *broken != std::floor(*broken) || !(*broken >= 1 && *broken <= kMostGpus))
    return static_cast<int>(integer_in(entry, 1, kMostGpus));
  return static_cast<int>(*broken);
}

void take(Point& point, Entry entry, std::map<std::string, int>& unknown) {
  if (is_blank(entry) && !holds(kRequired, entry.key) && entry.key != "job.zero") return;
  constexpr std::string_view kMachine = "machine.";
  if (entry.key.starts_with(kMachine)) {
    if (!take_machine_key(point.machine, entry, std::string_view(entry.key).substr(kMachine.size())))
      ++unknown[entry.key];
    return;
  }
  for (const PointNumber& key : kPointNumbers)
    if (entry.key == key.key) {
      point.*key.member = positive_in(entry);
      return;
    }
  for (const PointCount& key : kPointCounts)
    if (entry.key == key.key) {
      point.*key.member = count_in(entry);
      return;
    }
  for (const PointText& key : kPointTexts)
    if (entry.key == key.key) {
      point.*key.member = text_in(entry);
      return;
    }
  take_anything_else(point, entry, unknown);
}

void check_fields(const Point& point, const TomlTable& table) {
  for (const std::string_view key : kRequired) {
    if (!std::ranges::any_of(table.entries, [&](Entry entry) { return entry.key == key; }))
      throw Error(
          fmt::format("{} has no {}", point.id.empty() ? "a point" : "point " + printable(point.id, 60), key),
          table.origin, "each [[point]] has id, class, samples_per_s_per_gpu and, in [point.job], gpus");
  }
}

void check_anchors(const PublishedFile& file) {
  std::set<std::string> ids;
  for (const Point& point : file.points)
    if (!ids.insert(point.id).second)
      throw Error("two points are called " + printable(point.id, 60), point.origin, "an id is given once");
  for (const Point& point : file.points) {
    std::vector<std::string> way = {point.id};
    for (const Point* at = &point; !at->anchor.empty();) {
      const Point* const next = file.find(at->anchor);
      if (next == nullptr)
        throw Error(fmt::format("the anchor of {} is {}, and no point is called so", printable(at->id, 60),
                                printable(at->anchor, 60)),
                    at->origin,
                    did_you_mean(at->anchor, {ids.begin(), ids.end()}, "anchor = the id of a point"));
      way.push_back(next->id);
      if (std::count(way.begin(), way.end(), next->id) > 1)
        throw Error("anchors form a cycle: " + printable(joined(way, " -> "), 300), point.origin,
                    "a point that calibrates others has no anchor of its own, or one that has none");
      at = next;
    }
  }
}

double bytes_of(std::string precision, double otherwise, std::vector<std::string>& assumed) {
  if (precision.empty()) return otherwise;
  std::ranges::transform(precision, precision.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const auto& [name, bytes] : {std::pair{"fp32", 4.0},
                                    {"tf32", 4.0},
                                    {"float32", 4.0},
                                    {"fp64", 8.0},
                                    {"float64", 8.0},
                                    {"fp8", 1.0},
                                    {"mxfp8", 1.0},
                                    {"fp16", 2.0},
                                    {"bf16", 2.0},
                                    {"float16", 2.0},
                                    {"bfloat16", 2.0},
                                    {"amp", 2.0},
                                    {"mixed", 2.0}})
    if (precision.starts_with(name)) return bytes;
  assumed.push_back("precision " + printable(precision, 40) + " is not known: two bytes");
  return 2;
}

/// "tokens" and "token", "images" and "image"; where it is missing, models with a sequence count tokens.
std::string sample_of(const Point& point) {
  if (point.sample.starts_with("token")) return "token";
  return point.sample.empty() && point.sequence > 0 ? "token" : "image";
}

/// `job` is that of whole models.
void take_stages(const Point& point, TrainingJob& job, std::vector<std::string>& assumed) {
  job.stages = point.pipeline;
  job.chunks = point.chunks;
  job.schedule = point.schedule.value_or(PipelineForm::one_f_one_b);
  job.tensor = point.tensor;
  if (!point.schedule) assumed.push_back("schedule is not stated: 1f1b");
  if (point.order.empty() && point.replicas > 1) assumed.push_back("order is not stated: tp-cp-dp-pp");
  job.order = point.order.empty() ? "tp-cp-dp-pp" : point.order;
  job.optimizer_us /= point.model_ranks();
  if (point.width <= 0) assumed.push_back("width is not stated: messages take no time");
  const double bytes = job.gather_bytes < 4 ? job.gather_bytes : 4;
  job.message_bytes = job.micro_batch * point.width * bytes / point.tensor;
}

}  // namespace

const PublishedPoint* PublishedFile::find(const std::string& id) const {
  return find_by(points, &Point::id, id);
}

PublishedFile parse_published(const std::string& text, const std::string& name) {
  PublishedFile out;
  std::map<std::string, int> unknown;
  for (const TomlEntry& entry : parse_toml(text, name)) {
    if (entry.key != "point") {
      ++unknown[entry.key];
      continue;
    }
    for (const TomlTable& table : tables_in(entry)) {
      Point& point = out.points.emplace_back();
      point.origin = table.origin;
      for (const TomlEntry& key : table.entries) take(point, key, unknown);
      check_fields(point, table);
      point.sample = sample_of(point);
      if (point.machine.name.empty()) point.machine.name = point.machine.gpu;
    }
  }
  if (out.points.empty())
    throw Error("no [[point]] stands in it", name, "lessons/published_scaling.toml shows the form");
  check_anchors(out);
  for (const auto& [key, count] : unknown)
    out.notes.push_back(fmt::format("{} of {} is not used", printable(key, 60), counted(count, "point")));
  return out;
}

PublishedFile read_published(const std::filesystem::path& file) {
  return parse_published(read_text_file(file, kMostFileBytes), file.string());
}

TrainingJob job_of(const PublishedPoint& point, std::vector<std::string>& assumed) {
  TrainingJob out;
  out.gpus = point.gpus;
  out.parameters = point.parameters;
  out.micro_batch = point.micro_batch > 0 ? point.micro_batch : 1;
  if (point.sample == "token") {
    if (point.sequence <= 0) assumed.push_back("sequence is not stated: 2048 tokens");
    out.micro_batch *= point.sequence > 0 ? point.sequence : 2048;
  }
  out.accumulate = point.accumulate;
  out.zero = point.zero >= 0 ? point.zero : point.kind == PointClass::fsdp ? 3 : 0;
  out.layers = point.layers > 0 ? static_cast<int>(std::clamp(point.layers, 1.0, kMostLayers)) : kUsualLayers;
  if (point.layers <= 0 && out.zero == 3)
    assumed.push_back(fmt::format("layers are not stated: {}", kUsualLayers));
  const bool has_words = point.sample == "token" && point.width > 0;
  if (has_words && point.vocabulary <= 0)
    assumed.push_back(fmt::format("vocabulary is not stated: {:.0f}", kUsualVocabulary));
  const double vocabulary = point.vocabulary > 0 ? point.vocabulary : has_words ? kUsualVocabulary : 0;
  out.outer_parameters = std::min(vocabulary * point.width, 0.9 * point.parameters);
  out.shard_group = point.shard_group;
  out.checkpoint = point.checkpoint;
  out.overlaps = point.overlap;
  out.gather_bytes = bytes_of(point.precision, out.zero > 0 ? 2 : 4, assumed);
  out.reduce_bytes = bytes_of(point.reduce_precision, out.zero > 0 ? out.gather_bytes : 4, assumed);
  const double ranks = point.kind == PointClass::pp ? out.gpus / point.model_ranks() : out.gpus;
  const double shards = out.zero > 0 ? (out.shard_group > 0 ? out.shard_group : ranks) : 1;
  if (point.machine.memory_gb_s > 0)
    out.optimizer_us = point.parameters / shards * (out.zero > 0 ? kPlainBytes : kFusedBytes) /
                       (point.machine.memory_gb_s * 1e9) * kMicroseconds;
  if (point.kind == PointClass::pp) take_stages(point, out, assumed);
  return out;
}

}  // namespace isobar
