#include "draw/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "draw/nice_step.h"

namespace isobar {
namespace {

constexpr double kFar = 1e6;  // pixels; a place so far outside that clipping takes care of it

/// A label with as many decimals as the step needs; `most` is the largest value of the axis, so that all its
/// labels are written alike.
std::string tick_label(double value, double step, double most) {
  const double shown = std::fabs(value) < step * 1e-6 ? 0 : value;
  if (most >= 1e4 || most < 1e-4) return engineering(shown, 4);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 8);
  return fmt::format("{:.{}f}", shown, decimals);
}

double largest(const Axis& axis) { return std::max(std::fabs(axis.least), std::fabs(axis.most)); }

void add_minor_logs(std::vector<Tick>& out, double power, const Axis& axis, bool labelled) {
  for (int digit = 2; digit <= 9; ++digit) {
    const double value = digit * power;
    if (value < axis.least || value > axis.most) continue;
    const bool label = labelled && (digit == 2 || digit == 5);
    out.push_back({value, label ? engineering(value, 3) : ""});
  }
}

std::vector<Tick> log_ticks(const Axis& axis, double count) {
  std::vector<Tick> out;
  const double low = std::log10(axis.least);
  const double high = std::log10(axis.most);
  if (high - low < 1.2) {  // within a decade, plain steps are clearer
    const double step = nice_step(axis.most - axis.least, count);
    for (double value = std::ceil(axis.least / step) * step; value <= axis.most * (1 + 1e-12);
         value += step) {
      out.push_back({value, tick_label(value, step, largest(axis))});
    }
    return out;
  }
  const int every = std::max(1, static_cast<int>(std::ceil((high - low) / count)));
  for (int power = static_cast<int>(std::floor(low)); power <= static_cast<int>(std::ceil(high)); ++power) {
    const double value = std::pow(10.0, power);
    if (value >= axis.least && value <= axis.most) {
      out.push_back({value, power % every == 0 ? engineering(value, 3) : ""});
    }
    if (high - low < 8) add_minor_logs(out, value, axis, (high - low) * 2.5 < count);
  }
  return out;
}

}  // namespace

float Axis::pixel(double at) const {
  double part = 0;
  if (log) {
    if (!(at > 0)) return begin - (end - begin) * 1e3F;
    part = std::log(at / least) / std::log(most / least);
  } else {
    part = (at - least) / (most - least);
  }
  const double length = static_cast<double>(end) - static_cast<double>(begin);
  return static_cast<float>(std::clamp(static_cast<double>(begin) + part * length, -kFar, kFar));
}

double Axis::value(float at) const {
  const double part = (static_cast<double>(at) - static_cast<double>(begin)) /
                      (static_cast<double>(end) - static_cast<double>(begin));
  return log ? least * std::pow(most / least, part) : least + part * (most - least);
}

std::vector<Tick> ticks(const Axis& axis, float spacing) {
  std::vector<Tick> out;
  if (!(axis.most > axis.least) || !std::isfinite(axis.least) || !std::isfinite(axis.most)) return out;
  const double count = std::max(2.0, static_cast<double>(std::fabs(axis.end - axis.begin) / spacing));
  if (axis.log && axis.least > 0) return log_ticks(axis, count);
  double step = nice_step(axis.most - axis.least, count);
  if (axis.whole) step = std::max(1.0, step);
  if (!(step > 0) || !std::isfinite(step)) return out;
  const double first = std::ceil(axis.least / step - 1e-9);
  for (double i = 0; i < 200; ++i) {
    const double value = (first + i) * step;
    if (value > axis.most + step * 1e-9) break;
    out.push_back({value, tick_label(value, step, largest(axis))});
  }
  return out;
}

std::string engineering(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  static constexpr std::array<const char*, 13> kPrefixes = {"a", "f", "p", "n", "µ", "m", "",
                                                            "k", "M", "G", "T", "P", "E"};
  const double size = std::fabs(value);
  if (size >= 1e-3 && size < 1e4) {
    const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
    std::string text = fmt::format("{:.{}f}", value, std::clamp(digits - std::max(1, before), 0, 6));
    if (text.find('.') != std::string::npos) {
      text.erase(text.find_last_not_of('0') + 1);
      if (text.back() == '.') text.pop_back();
    }
    return text;
  }
  const int group = static_cast<int>(std::floor(std::log10(size) / 3));
  if (group < -6 || group > 6) return fmt::format("{:.{}g}", value, digits);
  const double scaled = value / std::pow(10.0, 3 * group);
  return fmt::format("{:.{}g} {}", scaled, digits, kPrefixes[static_cast<std::size_t>(group + 6)]);
}

std::string csv_quoted(std::string words) {
  std::ranges::replace(words, '"', '\'');
  return "\"" + words + "\"";
}

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (std::fabs(seconds) < 60) return engineering(seconds, 3) + " s";
  const auto whole = static_cast<long long>(std::min(1e15, std::fabs(seconds)));
  const char* const sign = seconds < 0 ? "-" : "";
  if (whole < 3600) return fmt::format("{}{}:{:02}", sign, whole / 60, whole % 60);
  return fmt::format("{}{}:{:02}:{:02}", sign, whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace isobar
