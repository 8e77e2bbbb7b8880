#pragma once
// The pictures of each lesson, one file a lesson.
#include "draw/drawing.h"

namespace isobar {

Drawing loop_and_loaders_picture();

}  // namespace isobar
