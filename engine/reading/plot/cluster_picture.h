#pragma once
// Pictures of what the simulation of clusters predicts: how far off it was, and how far a lesson goes.
#include <string>
#include <vector>

#include "analyse/cluster_prediction.h"
#include "cluster/back_test.h"
#include "draw/sketch.h"

namespace isobar {

/// Errors in % by number of GPUs: a shape for each class, hollow where terms were fitted to the points,
/// filled where they were not, over bands of 10 and 25 %. What lies beyond the area is a mark at its edge.
Drawing errors_drawing(const BackTest& test, const std::string& source);

/// Efficiency by number of GPUs: a dotted line for each cluster, with bars over what is not published of it.
Drawing clusters_drawing(const std::string& lesson, const std::vector<ClusterPrediction>& clusters);

}  // namespace isobar
