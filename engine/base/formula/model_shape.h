#pragma once
#include "config/config.h"
#include "formula/vit_counts.h"

namespace isobar {

/// The shape of the model that `config` asks for.
VitShape vit_shape(const Config& config);

}  // namespace isobar
