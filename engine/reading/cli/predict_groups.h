#pragma once
// A predicted step whose ranks share the tokens of a model, read together, or forecast ensembles.
#include "analyse/predicted_run.h"
#include "cli/report.h"

namespace isobar {

/// With mesh.cp above 1: tokens of each rank, the four ways side by side (bytes that a rank sends in a step,
/// calls, their time, memory of a rank), what is sent beside them, and the same ranks on mesh.tp. Only for
/// this machine: a step of several ranks is refused on a device.
void add_context(Report& report, const LessonInfo& lesson, const Prediction& prediction);

/// Where the lesson has such groups: models, replicas, members, the effective batch, and the read groups that
/// there could be with what each reads and sends.
void add_model_groups(Report& report, const LessonInfo& lesson, const Prediction& prediction);

}  // namespace isobar
