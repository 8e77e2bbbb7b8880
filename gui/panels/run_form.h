#pragma once
// The settings of the next run: checked as they are typed, started by the same program that a terminal
// starts.
#include "state/state.h"

namespace isobar {

/// The run that the form describes.
RunRequest request_of(const FormState& form);

/// Reads what the preset gives and checks what was changed, with the errors of the program.
void check_form(const Project& project, FormState& form);

/// As long as nothing was picked or changed, the next run of its lesson has the preset of this one.
void follow_preset(const Project& project, FormState& form, const RunEntry& run);

/// Fills the form with the settings of a run that was made before, as far as this lesson knows them.
void fill_form(const Project& project, FormState& form, const RunEntry& run);

void draw_run_form(Ui& ui, const Data& data, AppState& state, Requests& ask);

}  // namespace isobar
