#pragma once
// The views of the window, and what surrounds them. Each draws what Data holds and its own part of AppState,
// and adds what was asked for to the Requests.
#include "state/state.h"

namespace isobar {

using DrawPanel = void(Ui& ui, const Data& data, AppState& state, Requests& ask);

/// One run as it goes: losses, throughput, where the time goes, how good the forecast is.
DrawPanel draw_watch;
/// Any number of runs over each other, with the keys that differ.
DrawPanel draw_compare;
/// What a lesson lets a learner go through step by step (draw/scene.h).
DrawPanel draw_scene;
/// A step as the formulas give it for this machine, for settings that are turned.
DrawPanel draw_playground;
/// Some steps of a run with everything that ran beside the training loop, and its ranks side by side.
DrawPanel draw_timeline;
/// A step of all ranks of a pipeline in one picture, and what each of them held meanwhile.
DrawPanel draw_pipeline;
/// The ranks of a run on their nodes, their groups along each axis, and what links carry in a step.
DrawPanel draw_mesh;
/// What a step held in memory, by category: of the chosen run, or of the ticked ones beside each other.
DrawPanel draw_memory;
/// Input, target, prediction and error of one validation sample, channel by channel.
DrawPanel draw_maps;
/// A lesson's page with the difference to the lesson before, or any other file of the project.
DrawPanel draw_code;
/// A lesson as a way from beat to beat: read, predict, run, reveal, break.
DrawPanel draw_lesson_page;
/// The settings of the next run.
DrawPanel draw_run_form;
/// The lessons in order, and below them the runs: "where am I".
DrawPanel draw_ladder, draw_runs;

inline constexpr float kBarHeight = 48;
inline constexpr float kConsoleBar = 30;

/// The bar above, the console below, the help sheet, passing messages.
DrawPanel draw_bar;
void draw_console(Ui& ui, const Data& data, AppState& state);
void draw_help(Ui& ui, AppState& state);
void draw_toast(Ui& ui, AppState& state, Requests& ask);

/// What Stop or Space ends: the chosen run where it is live, else the one that was started here. False when
/// nothing runs.
bool ask_to_stop(const Data& data, const AppState& state, Requests& ask);

/// Fields that Maps wants the feed to read; "" for the run when there is nothing.
std::pair<std::string, std::int64_t> wanted_fields(const Data& data, const AppState& state);

}  // namespace isobar
