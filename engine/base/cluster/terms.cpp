#include "cluster/terms.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr const char* kOption = "--term";

double number_in(const TermRange& range, std::string_view text) {
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || !(value >= range.least) ||
      !(value <= range.most))
    throw Error(fmt::format("{} = {}", range.name, printable(std::string(text), 40)), kOption,
                fmt::format("{} is a number from {:g} to {:g}", range.name, range.least, range.most));
  return value;
}

[[noreturn]] void refuse_word(std::string_view name, std::string_view word, const char* words) {
  throw Error(fmt::format("{} = {}", name, printable(std::string(word), 40)), kOption,
              fmt::format("{} is one of: {}", name, words));
}

}  // namespace

SimulationTerms fitted_terms(const std::vector<std::string>& set) {
  SimulationTerms out;
  out.jitter = 0.015;
  out.sharing = 0.08;
  out.contention = 0.1;
  out.update = 8;
  out.link.efficiency = 0.75;
  out.link.falloff = 0.05;
  out.link.gather_efficiency = 1;
  out.link.gather_falloff = 0.02;
  for (const std::string& word : set) set_term(out, word);
  return out;
}

const std::array<TermRange, 11>& term_ranges() {
  using Terms = SimulationTerms;
  static const std::array<TermRange, 11> kTerms = {{
      {"jitter", 0, 0.3, "standard deviation of the speed of ranks",
       [](Terms& t) -> double& { return t.jitter; }},
      {"sharing", 0, 1, "what a rank loses where all GPUs of its node work",
       [](Terms& t) -> double& { return t.sharing; }},
      {"contention", 0, 1, "what computing loses beside collectives",
       [](Terms& t) -> double& { return t.contention; }},
      {"overlap", 0, 1, "part of the backward pass in which gradients become ready",
       [](Terms& t) -> double& { return t.overlap; }},
      {"update", 0, 20, "work of a step on weights and gradients, in fused updates",
       [](Terms& t) -> double& { return t.update; }},
      {"efficiency", 0.05, 1, "part of a stated bandwidth that is reached",
       [](Terms& t) -> double& { return t.link.efficiency; }},
      {"falloff", 0, 0.9, "what bus bandwidth loses with each doubling of the nodes",
       [](Terms& t) -> double& { return t.link.falloff; }},
      {"gather_efficiency", 0.05, 1, "part of that which gathers reach",
       [](Terms& t) -> double& { return t.link.gather_efficiency; }},
      {"gather_falloff", 0, 0.9, "what gathers lose more with each doubling",
       [](Terms& t) -> double& { return t.link.gather_falloff; }},
      {"call_us", 0, 1000, "microseconds of a call before its first message",
       [](Terms& t) -> double& { return t.link.call_us; }},
      {"straggler", 1, 10, "so many times as long the slowest rank takes",
       [](Terms& t) -> double& { return t.straggler; }},
  }};
  return kTerms;
}

void set_term(SimulationTerms& terms, std::string_view text) {
  const std::size_t sign = text.find('=');
  const std::string_view name = text.substr(0, sign);
  const std::string_view value = sign == std::string_view::npos ? "" : text.substr(sign + 1);
  std::vector<std::string> names = {"way", "busbw"};
  for (const TermRange& range : term_ranges()) {
    if (name == range.name) {
      range.in(terms) = number_in(range, value);
      return;
    }
    names.emplace_back(range.name);
  }
  if (name == "way") {
    const auto way = choice_named<CollectiveWay>(value);
    if (!way) refuse_word(name, value, "ring, tree, hierarchical, quickest");
    terms.link.way = *way;
  } else if (name == "busbw") {
    if (value != "measured" && value != "constant") refuse_word(name, value, "measured, constant");
    terms.link.constant_busbw = value == "constant";
  } else {
    throw Error("no term is called \"" + printable(std::string(name), 40) + "\"", kOption,
                did_you_mean(std::string(name), names, "known: " + joined(names)));
  }
}

void set_unknown(ClusterMachine& machine, SimulationTerms& terms, const std::string& key, double value) {
  for (const TermRange& range : term_ranges())
    if (key == range.name) {
      range.in(terms) = value;
      return;
    }
  double* const number = number_of(machine, key);
  if (number == nullptr)
    throw Error("[machine.unknown] has no term \"" + printable(key, 40) + "\"", machine.name,
                "jitter, efficiency, falloff, .. or a number of [machine]");
  *number = value;
}

}  // namespace isobar
