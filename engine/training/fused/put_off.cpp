// For whom layers leave gradients of weights; what these are is in functions.cpp.
#include "fused/weight_gradients.h"

namespace isobar {
namespace {

thread_local std::shared_ptr<WeightGradients> put_off_to;

}  // namespace

PutOff::PutOff(const std::shared_ptr<WeightGradients>& later) : outer_(std::exchange(put_off_to, later)) {}
PutOff::~PutOff() { put_off_to = std::move(outer_); }
const std::shared_ptr<WeightGradients>& PutOff::later() { return put_off_to; }

}  // namespace isobar
