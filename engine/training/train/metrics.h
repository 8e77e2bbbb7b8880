#pragma once
// Latitude-weighted scores, in normalised units, per channel.
// Source: WeatherBench (Rasp et al. 2020), section 4, with the weights of the tutorial.
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace isobar {

/// Weight of each row: lat_j = 90 - 180 j / (H - 1) degrees, w_j = H cos(lat_j) / sum_j cos(lat_j); mean 1.
/// [H] float32.
at::Tensor latitude_weights(std::int64_t height);

/// Root of the weighted mean square error of each sample and channel: [B, C, H, W] twice -> [B, C].
at::Tensor weighted_rmse(const at::Tensor& prediction, const at::Tensor& target, const at::Tensor& weights);

/// Anomaly correlation sum(w p t) / sqrt(sum(w p p) sum(w t t)) of each sample and channel; inputs are
/// anomalies from the climatology: [B, C, H, W] twice -> [B, C].
at::Tensor weighted_acc(const at::Tensor& prediction, const at::Tensor& target, const at::Tensor& weights);

}  // namespace isobar
