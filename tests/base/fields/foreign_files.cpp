#include "fields/foreign_files.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "fields/year_file_writer.h"

namespace isobar {
namespace {

std::array<hsize_t, 4> extents_of(const std::array<std::int64_t, 4>& values) {
  std::array<hsize_t, 4> out{};
  std::transform(values.begin(), values.end(), out.begin(),
                 [](std::int64_t n) { return static_cast<hsize_t>(n); });
  return out;
}

hid_t make_properties(const Layout& layout) {
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  if (layout.chunk) H5Pset_chunk(properties, 4, extents_of(*layout.chunk).data());
  if (layout.shuffle) H5Pset_shuffle(properties);
  if (layout.gzip > 0) H5Pset_deflate(properties, static_cast<unsigned>(layout.gzip));
  if (layout.external) H5Pset_external(properties, "/etc/hostname", 0, H5F_UNLIMITED);
  if (layout.compact) H5Pset_layout(properties, H5D_COMPACT);
  if (layout.fill != 0) H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &layout.fill);
  if (layout.never_fill) H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
  return properties;
}

hid_t make_space(const Layout& layout) {
  const std::array<hsize_t, 4> extents = extents_of(layout.shape);
  if (layout.dims == 4) {
    std::array<hsize_t, 4> most = extents;
    if (layout.growing) most[0] = H5S_UNLIMITED;
    return H5Screate_simple(4, extents.data(), most.data());
  }
  const std::array<hsize_t, 3> flat = {extents[0] * extents[1], extents[2], extents[3]};
  return H5Screate_simple(3, flat.data(), nullptr);
}

void write_values(hid_t dataset, const Layout& layout) {
  const std::vector<float> values = all_values(layout.shape);
  if (layout.skip_times.empty()) {
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    return;
  }
  const std::size_t record = values.size() / static_cast<std::size_t>(layout.shape[0]);
  for (std::int64_t t = 0; t < layout.shape[0]; ++t) {
    if (std::count(layout.skip_times.begin(), layout.skip_times.end(), t) > 0) continue;
    const std::array<hsize_t, 4> begin = {static_cast<hsize_t>(t), 0, 0, 0};
    std::array<hsize_t, 4> count = extents_of(layout.shape);
    count[0] = 1;
    const hid_t to = H5Dget_space(dataset);
    const hid_t from = H5Screate_simple(4, count.data(), nullptr);
    H5Sselect_hyperslab(to, H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr);
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, from, to, H5P_DEFAULT,
             values.data() + static_cast<std::size_t>(t) * record);
    H5Sclose(from);
    H5Sclose(to);
  }
}

}  // namespace

std::vector<float> all_values(const std::array<std::int64_t, 4>& shape) {
  std::vector<float> out(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  for (std::size_t n = 0; n < out.size(); ++n) out[n] = value_at(n);
  return out;
}

void write_foreign(const std::filesystem::path& path, const Layout& layout, const Added& added) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  if (layout.latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  if (layout.user_block > 0) H5Pset_userblock(creation, layout.user_block);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access);
  const hid_t space = make_space(layout);
  const hid_t properties = make_properties(layout);
  const hid_t dataset =
      H5Dcreate2(file, layout.name, layout.type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  if (dataset < 0) throw std::runtime_error("the library does not make such a dataset");
  if (layout.write) write_values(dataset, layout);
  if (added) added(file, dataset);
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
  H5Pclose(creation);
  H5Pclose(access);
  if (H5Fclose(file) < 0) throw std::runtime_error("the library cannot close the file");
}

void write_ours(const std::filesystem::path& path) {
  YearFileWriter writer(path, kShape,
                        {{"u10m", "v10m", "t2m"}, {"m s-1", "m s-1", "K"}, {90, -90}, {0, 180}, "a test"});
  const std::vector<float> values = all_values();
  for (std::size_t t = 0; t < 5; ++t) writer.append(std::span(values).subspan(t * kRecord, kRecord));
  writer.finish();
}

std::string opening_error(const std::filesystem::path& path, const H5Program& program) {
  const std::vector<OpenedYearFile> opened = try_open_year_files({path}, program);
  return opened.front().error ? opened.front().error->text() : "";
}

std::vector<float> record_of(const YearFile& file, std::int64_t time, std::int64_t height,
                             std::int64_t width) {
  std::vector<float> out(static_cast<std::size_t>(file.shape()[1] * height * width), -1.0F);
  file.read_record(time, height, width, out);
  return out;
}

std::vector<float> wanted_record(const std::array<std::int64_t, 4>& shape, std::int64_t time,
                                 std::int64_t height, std::int64_t width) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(shape[1] * height * width));
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t n = ((time * shape[1] + c) * shape[2] + y) * shape[3] + x;
        out.push_back(value_at(static_cast<std::size_t>(n)));
      }
    }
  }
  return out;
}

}  // namespace isobar
