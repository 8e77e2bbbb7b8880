#include "formula/machine_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/machine.h"
#include "core/processors.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr double kTera = 1e12;

template <class Owner, class Value>
struct Field {
  const char* name;
  Value Owner::*member;
};

constexpr Field<TypeRates, std::vector<RateAt>> kTables[] = {
    {"gemm", &TypeRates::gemm},
    {"attention_forward", &TypeRates::attention_forward},
    {"attention_backward", &TypeRates::attention_backward},
    {"element", &TypeRates::element},
    {"element_fused", &TypeRates::element_fused}};

constexpr Field<ThreadRates, double> kNumbers[] = {
    {"memory_bytes_per_s", &ThreadRates::memory_bytes_per_s},
    {"ends_us_per_value", &ThreadRates::ends_us_per_value},
    {"fused_ends_us_per_value", &ThreadRates::fused_ends_us_per_value}};

constexpr Field<ThreadRates, std::vector<RateAt>> kUpdates[] = {{"adam", &ThreadRates::adam},
                                                                {"fused_adam", &ThreadRates::fused_adam}};

constexpr Field<TypeRates, double> kTypeNumbers[] = {{"peak_flops_per_s", &TypeRates::peak_flops_per_s},
                                                     {"patch_flops_per_s", &TypeRates::patch_flops_per_s}};

constexpr Field<ThreadRates, TypeRates> kTypes[] = {
    {"fp32", &ThreadRates::fp32}, {"bf16", &ThreadRates::bf16}, {"fp16", &ThreadRates::fp16}};

Error not_rates(const TomlEntry& entry) {
  return Error(
      fmt::format("{} = {} is no rate of a machine", printable(entry.key, 60), plain_text(entry.value)),
      entry.origin, "./isobar predict --measure writes the file anew");
}

double number_of(const TomlEntry& entry) {
  const auto* const whole = std::get_if<std::int64_t>(&entry.value);
  const auto* const real = std::get_if<double>(&entry.value);
  const double out = whole != nullptr ? static_cast<double>(*whole) : real != nullptr ? *real : 0;
  if (!(out > 0) || !std::isfinite(out)) throw not_rates(entry);
  return out;
}

std::string text_of(const TomlEntry& entry) {
  const auto* const text = std::get_if<std::string>(&entry.value);
  if (text == nullptr) throw not_rates(entry);
  return *text;
}

double size_of(const std::string& word, const TomlEntry& entry) {
  int out = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (code != std::errc() || end != word.data() + word.size() || out < 1) throw not_rates(entry);
  return out;
}

ThreadRates& rates_with(std::vector<ThreadRates>& all, int threads) {
  const auto at = std::find_if(all.begin(), all.end(), [&](auto& rates) { return rates.threads >= threads; });
  if (at != all.end() && at->threads == threads) return *at;
  ThreadRates fresh;
  fresh.threads = threads;
  return *all.insert(at, fresh);
}

void add_rate(std::vector<RateAt>& rates, RateAt rate) {
  const auto at =
      std::find_if(rates.begin(), rates.end(), [&](const RateAt& other) { return other.size > rate.size; });
  rates.insert(at, rate);
}

/// "threads.2.fp32.gemm.96" in its words.
void take_of_type(TypeRates& rates, const std::vector<std::string>& words, const TomlEntry& entry) {
  for (const auto& [name, member] : kTypeNumbers) {
    if (words.size() != 4 || words[3] != name) continue;
    rates.*member = number_of(entry);
    return;
  }
  for (const auto& [name, member] : kTables) {
    if (words.size() == 5 && words[3] == name)
      return add_rate(rates.*member, {size_of(words[4], entry), number_of(entry)});
  }
  throw not_rates(entry);
}

void take_of_threads(ThreadRates& rates, const std::vector<std::string>& words, const TomlEntry& entry) {
  for (const auto& [name, member] : kNumbers) {
    if (words.size() == 3 && words[2] == name) {
      rates.*member = number_of(entry);
      return;
    }
  }
  for (const auto& [name, member] : kUpdates) {
    if (words.size() == 4 && words[2] == name)
      return add_rate(rates.*member, {size_of(words[3], entry), number_of(entry)});
  }
  for (const auto& [type_name, type] : kTypes) {
    if (words[2] == type_name) return take_of_type(rates.*type, words, entry);
  }
  throw not_rates(entry);
}

void take(MachineRates& rates, const TomlEntry& entry) {
  const std::vector<std::string> words = split(entry.key, '.');
  if (entry.key == "schema") {
    if (number_of(entry) == kSchema) return;
    throw Error("rates in a form that this version does not know", entry.origin,
                "./isobar predict --measure writes the file anew");
  }
  if (entry.key == "processor_wait") {
    const auto* const share = std::get_if<double>(&entry.value);
    if (share == nullptr || !(*share >= 0 && *share <= 1)) throw not_rates(entry);
    rates.processor_wait = *share;
  } else if (entry.key == "machine") {
    rates.machine = text_of(entry);
  } else if (entry.key == "measured") {
    rates.measured = text_of(entry);
  } else if (entry.key == "read_bytes_per_s") {
    rates.read_bytes_per_s = number_of(entry);
  } else if (entry.key == "link.latency_us") {
    rates.link.latency_us = number_of(entry);
  } else if (entry.key == "link.bytes_per_us") {
    rates.link.bytes_per_us = number_of(entry);
  } else if (words.size() > 2 && words[0] == "threads") {
    take_of_threads(rates_with(rates.threads, static_cast<int>(size_of(words[1], entry))), words, entry);
  } else {
    throw not_rates(entry);
  }
}

std::string table_text(const std::string& name, const std::vector<RateAt>& rates) {
  std::string out;
  for (const RateAt& rate : rates) out += fmt::format("{}.{:.0f} = {:.4g}\n", name, rate.size, rate.per_s);
  return out;
}

void check_whole(const MachineRates& rates, const std::filesystem::path& file) {
  const auto want = [&](bool is_there, const std::string& what) {
    if (!is_there)
      throw Error("rates without " + what, file.string(), "./isobar predict --measure writes the file anew");
  };
  want(!rates.machine.empty(), "the machine whose they are");
  want(rates.read_bytes_per_s > 0, "read_bytes_per_s");
  want(rates.link.latency_us > 0 && rates.link.bytes_per_us > 0, "the link between two ranks");
  want(!rates.threads.empty(), "a number of threads");
  for (const ThreadRates& threads : rates.threads) {
    const std::string place = fmt::format("threads.{}.", threads.threads);
    for (const auto& [name, member] : kNumbers) want(threads.*member > 0, place + name);
    for (const auto& [name, member] : kUpdates) want(!(threads.*member).empty(), place + name);
    for (const auto& [type_name, type] : kTypes) {
      const TypeRates& of_type = threads.*type;
      const bool is_left_out = std::all_of(std::begin(kTables), std::end(kTables), [&](const auto& table) {
        return (of_type.*table.member).empty();
      });
      if (is_left_out && type != &ThreadRates::fp32) continue;
      for (const auto& [name, member] : kTypeNumbers)
        want(of_type.*member > 0, place + type_name + "." + name);
      for (const auto& [name, member] : kTables)
        want(!(of_type.*member).empty(), place + type_name + "." + name);
    }
  }
}

}  // namespace

double rate_at(const std::vector<RateAt>& rates, double size) {
  if (rates.empty()) return 0;
  const auto above =
      std::find_if(rates.begin(), rates.end(), [&](const RateAt& rate) { return rate.size >= size; });
  if (above == rates.begin()) return above->per_s;
  if (above == rates.end()) return rates.back().per_s;
  const RateAt below = *std::prev(above);
  const double part = std::log(size / below.size) / std::log(above->size / below.size);
  return below.per_s + part * (above->per_s - below.per_s);
}

const ThreadRates& MachineRates::with(int count) const {
  return *std::min_element(threads.begin(), threads.end(), [&](auto& a, auto& b) {
    return std::abs(a.threads - count) < std::abs(b.threads - count);
  });
}

const TypeRates& ThreadRates::of(AmpMode mode) const {
  return mode == AmpMode::bf16 ? bf16 : mode == AmpMode::fp16 ? fp16 : fp32;
}

std::string machine_name() {
  const Processors here = processors_here();
  // Rates under a quota that ends within a processor are low by its part.
  return fmt::format("{}, {}", cpu_name(),
                     here.time == here.count ? counted(here.count, "processor")
                                             : fmt::format("{:.2f} processors", here.time));
}

std::filesystem::path machine_rates_file() { return cache_prefix() / "rates.toml"; }

std::string to_toml(const MachineRates& rates) {
  std::string out = fmt::format(
      "# What this machine reaches in the work of a training step; ./isobar predict --measure measures it "
      "again.\n"
      "schema = {}\nmachine = {}\nmeasured = {}\nprocessor_wait = {:.2f}\nread_bytes_per_s = "
      "{:.4g}\n\n[link]  # between two ranks\n"
      "latency_us = {:.4g}\nbytes_per_us = {:.4g}\n",
      kSchema, toml_string(rates.machine), toml_string(rates.measured), rates.processor_wait,
      rates.read_bytes_per_s, rates.link.latency_us, rates.link.bytes_per_us);
  for (const ThreadRates& threads : rates.threads) {
    out += fmt::format("\n[threads.{}]\n", threads.threads);
    for (const auto& [name, member] : kNumbers) out += fmt::format("{} = {:.4g}\n", name, threads.*member);
    for (const auto& [name, member] : kUpdates) out += table_text(name, threads.*member);
    for (const auto& [type_name, type] : kTypes) {
      const TypeRates& of_type = threads.*type;
      if (!of_type.known()) continue;
      const std::string place = std::string(type_name) + ".";
      for (const auto& [name, member] : kTypeNumbers)
        out += fmt::format("{}{} = {:.4g}\n", place, name, of_type.*member);
      for (const auto& [name, member] : kTables) out += table_text(place + name, of_type.*member);
    }
  }
  return out;
}

MachineRates read_machine_rates(const std::filesystem::path& file) {
  MachineRates out;
  for (const TomlEntry& entry : read_toml(file)) take(out, entry);
  check_whole(out, file);
  return out;
}

std::optional<MachineRates> kept_machine_rates(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  MachineRates out = read_machine_rates(file);
  if (out.machine != machine_name()) return std::nullopt;
  return out;
}

DeviceRates device_rates_of(const MachineRates& rates, const VitShape& shape, std::int64_t batch,
                            AmpMode precision, int threads) {
  const ThreadRates& of_threads = rates.with(threads);
  const TypeRates& type = of_threads.of(precision);
  if (!type.known())
    throw Error(fmt::format("this machine has no instructions for {}, and its steps are not predicted",
                            precision_text(precision)),
                "amp.mode", "amp.mode=none; or --device for a GPU");
  const auto tokens = static_cast<double>(shape.tokens());
  const double values = static_cast<double>(batch * shape.embed) * tokens;
  const auto tera = [](double per_s) { return per_s / kTera; };
  DeviceRates out;
  out.name = fmt::format("this machine ({}, {})", rates.machine, counted(of_threads.threads, "thread"));
  out.is_processor = true;
  out.peak_fp32 = out.peak_16 = tera(type.peak_flops_per_s);
  out.gemm_fp32 = out.gemm_16 = tera(rate_at(type.gemm, values));
  out.usual_attention = AttentionKind::flash;
  out.flash.forward64 = out.flash.forward128 = tera(rate_at(type.attention_forward, tokens));
  out.flash.backward64 = out.flash.backward128 = tera(rate_at(type.attention_backward, tokens));
  out.element_tb_per_s = tera(rate_at(type.element, values));
  out.fused_element_tb_per_s = tera(rate_at(type.element_fused, values));
  const auto parameters = static_cast<double>(count_parameters(shape).total());
  out.patch_tflops = tera(type.patch_flops_per_s);
  out.adam_tb_per_s = tera(rate_at(of_threads.adam, parameters));
  out.fused_adam_tb_per_s = tera(rate_at(of_threads.fused_adam, parameters));
  out.ends_us_per_value = of_threads.ends_us_per_value;
  out.fused_ends_us_per_value = of_threads.fused_ends_us_per_value;
  return out;
}

}  // namespace isobar
