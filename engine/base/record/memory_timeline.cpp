#include "record/memory_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "record/json_line.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMemorySchema = 1;
constexpr std::uint64_t kMostMemoryFile = std::uint64_t{16} << 20;
constexpr std::int64_t kMostMemoryCount = std::int64_t{1} << 53;
constexpr std::size_t kMostMemoryNameBytes = 80;
constexpr const char* kBytesKey = "_bytes";

/// One line of the file as it is read. Errors name the line.
class MemoryLine {
 public:
  MemoryLine(std::string_view text, std::string where) : where_(std::move(where)) {
    try {
      json_ = Json::parse(text);
    } catch (const Error& error) {
      refuse(error.what());
    }
    if (json_.keys().empty()) refuse("the line is no event");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(what, where_, "the file is damaged; the run's other files are read without it");
  }
  std::int64_t count(std::string_view key) const {
    std::int64_t value = 0;
    try {
      value = json_.at(key).as_integer();
    } catch (const Error&) {
      refuse(fmt::format("\"{}\" is no whole number, or is not there", key));
    }
    if (value < 0 || value > kMostMemoryCount) refuse(fmt::format("\"{}\" cannot be {}", key, value));
    return value;
  }
  std::uint64_t bytes(std::string_view key) const { return static_cast<std::uint64_t>(count(key)); }
  /// Printable; "" where it is not there.
  std::string text(std::string_view key) const {
    if (!json_.contains(key)) return "";
    try {
      return printable(json_.at(key).as_text(), kMostMemoryNameBytes);
    } catch (const Error&) {
      refuse(fmt::format("\"{}\" is no text", key));
    }
  }
  const Json& json() const { return json_; }

 private:
  std::string where_;
  Json json_;
};

/// "blocks.3" of "blocks.3.activations_bytes"; "" of another key.
std::string owner_of(const std::string& key) {
  constexpr std::string_view kEnd = ".activations_bytes";
  return key.ends_with(kEnd) ? printable(key.substr(0, key.size() - kEnd.size()), kMostMemoryNameBytes) : "";
}

/// What the first line promises to follow.
struct Promised {
  std::int64_t stages = 0, moments = 0, tensors = 0;
};

Promised take_head(const MemoryLine& line, MemoryTimeline& out) {
  if (const std::int64_t schema = line.count("schema"); schema != kMemorySchema)
    line.refuse(fmt::format("the memory has schema {}, this program reads {}", schema, kMemorySchema));
  out.rank = static_cast<int>(std::min<std::int64_t>(line.count("rank"), 1'000'000));
  out.attempt = line.count("attempt");
  out.step = line.count("step");
  out.device = line.text("device");
  out.micro_batches = line.count("micro_batches");
  out.step_us = line.count("step_us");
  out.allocations = line.count("allocations");
  out.program_bytes = line.bytes("program_bytes");
  out.peak_stage = line.text("peak_stage");
  out.peak_module = line.text("peak_module");
  return {line.count("stages"), line.count("moments"), line.count("tensors")};
}

void take_stage(const MemoryLine& line, MemoryTimeline& out) {
  const MemoryStage stage{line.text("name"), line.count("begin_us"), line.count("end_us")};
  if (stage.name.empty()) line.refuse("the stage has no name");
  const std::int64_t before = out.stages.empty() ? 0 : out.stages.back().end_us;
  if (stage.begin_us < before || stage.end_us < stage.begin_us)
    line.refuse("the stage begins before the one in front of it ends, or ends before it begins");
  out.stages.push_back(stage);
}

void take_moment(const MemoryLine& line, MemoryTimeline& out) {
  MemoryMoment moment{.at_us = line.count("at_us")};
  if (!out.moments.empty() && moment.at_us < out.moments.back().at_us)
    line.refuse("the moment lies before the one in front of it");
  for (std::size_t i = 0; i < kHeldCategories; ++i) {
    const std::string key = std::string(kMemoryCategories[i]) + kBytesKey;
    if (line.json().contains(key)) moment.bytes[i] = line.bytes(key);
  }
  moment.activations.resize(out.owners.size());
  for (const std::string& key : line.json().keys()) {
    const std::string owner = owner_of(key);
    if (owner.empty()) continue;
    const auto at = static_cast<std::size_t>(std::ranges::find(out.owners, owner) - out.owners.begin());
    if (at == out.owners.size()) {
      out.owners.push_back(owner);
      moment.activations.push_back(0);
    }
    moment.activations[at] = line.bytes(key);
  }
  out.moments.push_back(std::move(moment));
}

void take_tensor(const MemoryLine& line, MemoryTimeline& out) {
  const std::string name = line.text("category");
  const std::optional<MemoryCategory> category = memory_category(name);
  if (!category) line.refuse(fmt::format("there is no category \"{}\"", name));
  if (out.largest.size() < kMostPeakTensors)
    out.largest.push_back({line.bytes("bytes"), *category, line.text("module"), line.text("stage")});
}

/// Places of moments that stay in any case.
std::vector<bool> kept_moments(const MemoryTimeline& timeline) {
  const std::vector<MemoryMoment>& moments = timeline.moments;
  std::vector<bool> keep(moments.size(), false);
  keep.front() = keep.back() = true;
  const auto peak = std::ranges::max_element(moments, {}, &MemoryMoment::total);
  keep[static_cast<std::size_t>(peak - moments.begin())] = true;
  const auto first_from = [&](std::int64_t at_us) {
    return static_cast<std::size_t>(std::ranges::lower_bound(moments, at_us, {}, &MemoryMoment::at_us) -
                                    moments.begin());
  };
  for (const MemoryStage& stage : timeline.stages) {
    const std::size_t begin = first_from(stage.begin_us), end = first_from(stage.end_us);
    if (end > 0) keep[end - 1] = true;
    if (begin >= end) continue;
    const auto highest =
        std::max_element(moments.begin() + static_cast<std::ptrdiff_t>(begin),
                         moments.begin() + static_cast<std::ptrdiff_t>(end),
                         [](const MemoryMoment& a, const MemoryMoment& b) { return a.total() < b.total(); });
    keep[static_cast<std::size_t>(highest - moments.begin())] = true;
  }
  return keep;
}

}  // namespace

std::optional<MemoryCategory> memory_category(std::string_view name) {
  const auto* const found = std::ranges::find(kMemoryCategories, name);
  if (found == kMemoryCategories.end()) return std::nullopt;
  return static_cast<MemoryCategory>(found - kMemoryCategories.begin());
}

std::uint64_t MemoryMoment::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

const MemoryMoment& MemoryTimeline::peak() const {
  static const MemoryMoment kNothing;
  return moments.empty() ? kNothing : *std::ranges::max_element(moments, {}, &MemoryMoment::total);
}

std::uint64_t MemoryTimeline::most_block_bytes() const {
  std::uint64_t out = 0;
  for (const MemoryMoment& moment : moments) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < owners.size() && i < moment.activations.size(); ++i)
      if (owners[i].starts_with("blocks.")) bytes += moment.activations[i];
    out = std::max(out, bytes);
  }
  return out;
}

MemoryCategory MemoryTimeline::peak_owner() const {
  const auto& bytes = peak().bytes;
  return static_cast<MemoryCategory>(std::ranges::max_element(bytes) - bytes.begin());
}

void thin_moments(MemoryTimeline& timeline, std::size_t most) {
  std::vector<MemoryMoment>& moments = timeline.moments;
  if (moments.size() <= most) return;
  std::vector<bool> keep = kept_moments(timeline);
  const auto kept = static_cast<std::size_t>(std::ranges::count(keep, true));
  // Stretches of equal time, each with its highest and its last.
  const std::size_t stretches = most > kept ? (most - kept) / 2 : 0;
  const std::int64_t begin_us = moments.front().at_us, all_us = moments.back().at_us - begin_us + 1;
  for (std::size_t i = 0, stretch = 0; stretch < stretches && i < moments.size(); ++stretch) {
    const std::int64_t end_us =
        begin_us + all_us * static_cast<std::int64_t>(stretch + 1) / static_cast<std::int64_t>(stretches);
    std::size_t highest = i, end = i;
    for (; end < moments.size() && moments[end].at_us < end_us; ++end)
      if (moments[end].total() > moments[highest].total()) highest = end;
    if (end > i) keep[highest] = keep[end - 1] = true;
    i = end;
  }
  std::vector<MemoryMoment> out;
  for (std::size_t i = 0; i < moments.size(); ++i)
    if (keep[i]) out.push_back(std::move(moments[i]));
  moments = std::move(out);
}

std::string memory_text(const MemoryTimeline& timeline) {
  std::string out = JsonLine("memory")
                        .add("schema", kMemorySchema)
                        .add("rank", timeline.rank)
                        .add("attempt", timeline.attempt)
                        .add("step", timeline.step)
                        .add("device", timeline.device)
                        .add("micro_batches", timeline.micro_batches)
                        .add("step_us", timeline.step_us)
                        .add("allocations", timeline.allocations)
                        .add("program_bytes", timeline.program_bytes)
                        .add("peak_bytes", timeline.peak_bytes())
                        .add("peak_owner", name_of(timeline.peak_owner()))
                        .add("peak_stage", timeline.peak_stage)
                        .add("peak_module", timeline.peak_module)
                        .add("stages", timeline.stages.size())
                        .add("moments", timeline.moments.size())
                        .add("tensors", timeline.largest.size())
                        .text();
  for (const MemoryStage& stage : timeline.stages)
    out += JsonLine("stage")
               .add("name", stage.name)
               .add("begin_us", stage.begin_us)
               .add("end_us", stage.end_us)
               .text();
  for (const MemoryMoment& moment : timeline.moments) {
    JsonLine line("moment");
    line.add("at_us", moment.at_us);
    for (std::size_t i = 0; i < kHeldCategories; ++i)
      if (moment.bytes[i] > 0) line.add(std::string(kMemoryCategories[i]) + kBytesKey, moment.bytes[i]);
    for (std::size_t i = 0; i < moment.activations.size(); ++i)
      if (moment.activations[i] > 0)
        line.add(timeline.owners[i] + ".activations_bytes", moment.activations[i]);
    out += line.text();
  }
  for (const MemoryTensor& tensor : timeline.largest)
    out += JsonLine("tensor")
               .add("bytes", tensor.bytes)
               .add("category", name_of(tensor.category))
               .add("module", tensor.module)
               .add("stage", tensor.stage)
               .text();
  return out;
}

MemoryTimeline parse_memory(std::string_view text, const std::string& where) {
  MemoryTimeline out;
  std::optional<Promised> promised;
  std::int64_t tensors = 0;
  const std::vector<std::string> lines = split(std::string(text), '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const MemoryLine line(lines[i], fmt::format("{}, line {}", where, i + 1));
    const std::string kind = line.text("kind");
    if (!promised && kind != "memory") line.refuse("the file does not begin with what it describes");
    if (kind == "memory") promised = take_head(line, out);
    if (kind == "stage") take_stage(line, out);
    if (kind == "moment") take_moment(line, out);
    if (kind == "tensor") {
      take_tensor(line, out);
      ++tensors;
    }
  }
  for (MemoryMoment& moment : out.moments) moment.activations.resize(out.owners.size());
  const bool whole = promised && std::ssize(out.stages) >= promised->stages &&
                     std::ssize(out.moments) >= promised->moments && tensors >= promised->tensors;
  if (!whole || out.moments.empty())
    throw Error("the file is cut short", where, "the run's other files are read without it");
  return out;
}

MemoryTimeline read_memory(const fs::path& folder, int rank) {
  const fs::path file = RunFolder{folder}.memory_file(rank);
  if (!has_memory(folder, rank))
    throw Error(
        "the run has no memory timeline", file.string(),
        "runs that train record one step; those of earlier versions, imported and predicted ones have "
        "none");
  return parse_memory(read_text_file(file, kMostMemoryFile), file.string());
}

bool has_memory(const fs::path& folder, int rank) {
  std::error_code code;
  return fs::is_regular_file(RunFolder{folder}.memory_file(rank), code);
}

}  // namespace isobar
