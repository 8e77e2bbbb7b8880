#pragma once
#include <hdf5.h>

#include <map>
#include <string>
#include <vector>

namespace isobar {

/// The text attributes of a dataset that fit the bounds of h5_protocol.h; others are left out.
std::map<std::string, std::vector<std::string>> string_attributes(hid_t dataset);

}  // namespace isobar
