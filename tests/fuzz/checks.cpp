#include "fuzz/checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace isobar {
namespace {

constexpr std::size_t kMostNameBytes = 160;

void check_extent(const Series& series, std::size_t begin, std::size_t end) {
  const Extent extent = series.extent(begin, end);
  end = std::min(end, series.size());
  std::size_t finite = 0;
  double least = 0;
  double most = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(series[i])) continue;
    least = finite == 0 ? series[i] : std::min(least, series[i]);
    most = finite == 0 ? series[i] : std::max(most, series[i]);
    ++finite;
  }
  require(extent.size == (begin < end ? end - begin : 0));
  require(extent.finite == finite);
  require(finite == 0 || (extent.least == least && extent.most == most));
}

void check_extents(const Series& series) {
  const std::size_t size = series.size();
  check_extent(series, 0, size);
  check_extent(series, size / 3, size - size / 7);
  check_extent(series, 1, size + 1);
}

void check_place(const Series& place, std::size_t rows) {
  require(place.size() == rows);
  for (std::size_t i = 0; i < rows; ++i) {
    require(std::isfinite(place[i]));
    require(i == 0 || place[i - 1] <= place[i]);
  }
  if (rows == 0) return;
  const double middle = place[rows / 2];
  const std::size_t found = place.lower_bound(middle);
  require(found <= rows / 2 && place[found] == middle && (found == 0 || place[found - 1] < middle));
  check_extents(place);
}

void check_curve(const Curve& curve, std::size_t rows) {
  const std::size_t size = curve.y.size();
  require(size <= rows);
  require(curve.rows.empty() || curve.rows.size() == size);
  for (std::size_t i = 0; i < size; ++i) {
    require(curve.row(i) < rows);
    require(i == 0 || curve.row(i - 1) < curve.row(i));
    require(curve.index_of_row(curve.row(i)) == i);
  }
  check_extents(curve.y);
}

class Digest {
 public:
  void add(double value) {
    std::uint64_t bits = 1;
    if (!std::isnan(value)) std::memcpy(&bits, &value, sizeof(bits));
    value_ = (value_ ^ bits) * 0x100000001b3U;
    value_ ^= value_ >> 29;
  }
  void add(const Series& series) {
    add(static_cast<double>(series.size()));
    for (std::size_t i = 0; i < series.size(); ++i) add(series[i]);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace

void check_text(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    require(byte >= 0x20 && byte != 0x7f);
  }
}

void check_series(const RunSeries& series) {
  const std::vector<std::string> names = series.names();
  const Places* checked = nullptr;
  for (std::size_t i = 0; i < names.size(); ++i) {
    require(i == 0 || names[i - 1] < names[i]);
    require(names[i].size() <= kMostNameBytes);
    check_text(names[i]);
    const CurveRef found = series.find(names[i]);
    require(found.places != nullptr && found.curve != nullptr);
    const std::size_t rows = found.places->step.size();
    check_curve(*found.curve, rows);
    if (found.places == checked) continue;
    checked = found.places;
    for (const XAxis axis : {XAxis::step, XAxis::epoch, XAxis::time, XAxis::samples})
      check_place(found.places->of(axis), rows);
  }
  require(!series.find("\n"));
  require(series.step_rows() == series.steps().places.step.size());
  require(std::isfinite(series.last_step()) && series.last_step() >= 0);
}

std::uint64_t digest(const RunSeries& series) {
  Digest out;
  out.add(static_cast<double>(series.left_out().count()));
  for (const std::string& name : series.names()) {
    for (const char c : name) out.add(static_cast<double>(c));
    const CurveRef found = series.find(name);
    for (const XAxis axis : {XAxis::step, XAxis::epoch, XAxis::time, XAxis::samples})
      out.add(found.places->of(axis));
    out.add(found.curve->rows);
    out.add(found.curve->y);
  }
  return out.value();
}

void Growth::cut(std::size_t size) {
  for (std::size_t i = 0; i < 2; ++i) cuts[i] = wishes_[i] % (size + 1);
  cuts[2] = size;
  std::sort(cuts, cuts + 2);
}

Growth growth_of(const std::uint8_t* data, std::size_t size) {
  Growth out;
  std::uint8_t head[Growth::kHeadBytes] = {};
  const std::size_t known = std::min(size, Growth::kHeadBytes);
  std::copy(data, data + known, head);
  out.mode = head[0];
  out.wishes_[0] = static_cast<std::size_t>(head[1]) * 256 + head[2];
  out.wishes_[1] = static_cast<std::size_t>(head[3]) * 256 + head[4];
  out.bytes.assign(reinterpret_cast<const char*>(data) + known, size - known);
  out.cut(out.bytes.size());
  return out;
}

}  // namespace isobar
