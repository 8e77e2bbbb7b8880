#include "foreign/h5_program/string_attributes.h"

#include <array>

#include "foreign/h5_protocol.h"
#include "foreign/hdf5_handle.h"

namespace isobar {
namespace {

using Strings = std::vector<std::string>;

/// Texts of one length, padded with zeros or spaces.
Strings fixed_strings(hid_t attribute, hid_t type, std::size_t count) {
  const std::size_t length = H5Tget_size(type);
  if (length < 1 || length > kMostStringBytes || count * length > kMostAttributeBytes) return {};
  std::string text(count * length, '\0');
  if (H5Aread(attribute, type, text.data()) < 0) return {};
  Strings out;
  for (std::size_t at = 0; at < text.size(); at += length) {
    std::string word = text.substr(at, length);
    word.resize(std::min(word.find('\0'), word.size()));
    if (H5Tget_strpad(type) == H5T_STR_SPACEPAD) word.resize(word.find_last_not_of(' ') + 1);
    out.push_back(std::move(word));
  }
  return out;
}

Strings variable_strings(hid_t attribute, hid_t space, std::size_t count) {
  const Hdf5Handle memory(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(memory.id(), H5T_VARIABLE);
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  H5Tset_cset(memory.id(), H5Tget_cset(type.id()));
  std::vector<char*> words(count, nullptr);
  if (H5Aread(attribute, memory.id(), words.data()) < 0) return {};
  Strings out;
  for (const char* word : words) {
    out.emplace_back(word == nullptr ? "" : std::string(word, strnlen(word, kMostStringBytes)));
  }
  H5Dvlen_reclaim(memory.id(), space, H5P_DEFAULT, words.data());
  return out;
}

Strings strings_of(hid_t attribute) {
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  if (!type || !space || H5Tget_class(type.id()) != H5T_STRING) return {};
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  if (count < 1 || count > static_cast<hssize_t>(kMostStrings)) return {};
  const auto number = static_cast<std::size_t>(count);
  const htri_t variable = H5Tis_variable_str(type.id());
  if (variable < 0) return {};
  return variable > 0 ? variable_strings(attribute, space.id(), number)
                      : fixed_strings(attribute, type.id(), number);
}

}  // namespace

std::map<std::string, Strings> string_attributes(hid_t dataset) {
  std::map<std::string, Strings> out;
  std::size_t bytes = 0;
  for (hsize_t n = 0; n < kMostAttributes; ++n) {
    const Hdf5Handle attribute(
        H5Aopen_by_idx(dataset, ".", H5_INDEX_NAME, H5_ITER_INC, n, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    if (!attribute) break;
    std::array<char, 256> name{};
    if (H5Aget_name(attribute.id(), name.size(), name.data()) < 1) continue;
    Strings values = strings_of(attribute.id());
    for (const std::string& value : values) bytes += value.size() + sizeof(std::uint32_t);
    if (bytes > kMostAttributeBytes) break;
    if (!values.empty()) out[std::string(name.data(), strnlen(name.data(), name.size()))] = std::move(values);
  }
  return out;
}

}  // namespace isobar
