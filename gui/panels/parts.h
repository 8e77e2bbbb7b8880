#pragma once
// What views share: which run it is and how it stands, its ranks, plots and their controls, knobs and steps,
// what is saved of a drawing, the settings of the next run, and the parts of a comparison.
#include "state/state.h"

namespace isobar {

/// What stands above the plots: which run it is, how it stands, and what must be known of it.
void draw_run_head(Ui& ui, const RunEntry& run);

/// The title of a run ("" = its own) and a child below it, which the caller ends. False where nothing is
/// known of the run (null: none is chosen), and no child begins.
bool begin_run_view(Ui& ui, const RunEntry* run, const char* name, const std::string& title = "");

/// "24.7 % below persistence"; "" where persistence has no error.
std::string skill_text(double rmse, double persistence);

/// What bounds the run, what to notice, and the next step at a click. Nothing while no step behind the
/// warm-up is known.
void draw_verdict(Ui& ui, const Data& data, const std::shared_ptr<const RunEntry>& run, AppState& state,
                  Requests& ask);

/// Draws a row a rank, the sentence on communication and the one that names a straggler. The rank of a row
/// that was clicked.
std::optional<int> draw_ranks(Ui& ui, const RanksView& view, int chosen);

/// The channel whose score Watch shows.
std::string watched_channel(const AppState& state, const RunEntry& run);

/// The RMSE of a channel over the run, beside persistence and climatology.
PlotSpec rmse_plot(Ui& ui, const AppState& state, const std::shared_ptr<const RunEntry>& run,
                   const std::string& channel);

/// The row of choices that plots of a view share: x axis, logarithm, smoothing.
void draw_plot_controls(Ui& ui, AppState& state, PlotLink& link);

/// Step, Back, Play, To the start and To the end; N and B are the keys of the first two.
void draw_player(Ui& ui, StepPlayer& player, std::size_t last, double now_s);

/// One of a few places; true where `value` became another.
bool draw_knob(Ui& ui, const std::string& name, const std::string& title, const std::string& tip,
               const std::vector<double>& places, const std::string& words, double& value);

/// Knobs of settings of the next run; the key of the one that was turned, "" = none.
std::string draw_form_knobs(Ui& ui, FormState& form, const std::vector<Knob>& knobs);

/// A step of the lesson on clusters that are not here, with the errors that such predictions had.
void draw_clusters(Ui& ui, const Data& data, const LessonCard& card, AppState& state, Requests& ask);

/// What a step of the lesson takes of memory, moment by moment, and what would fit under a cap.
void draw_memory_play(Ui& ui, const Data& data, const LessonCard& card, AppState& state, Requests& ask);

/// A step of a pipeline by p, m, v and schedule, on a clock of events.
void draw_pipeline_play(Ui& ui, AppState& state, const LessonCard& card, Requests& ask);

/// A picture at the cursor, in a place of this name and width; 0 = the line, but for a margin.
Box paint_here(Ui& ui, const std::string& name, float width, const decltype(Drawing::body)& paint);

/// Pictures two beside each other where there is room, with so many pixels below each row.
void draw_in_columns(Ui& ui, std::size_t count, float below,
                     const std::function<void(std::size_t i, float width)>& draw);

/// A few lines beside the mouse.
void tip_at_mouse(Ui& ui, const std::string& words);

/// Saves what the menu of a plot asked for, drawn again as a file that is named after the run ("" = the plot
/// alone).
void save_plot(Ui& ui, const PlotAsk& plot, const PlotSpec& spec, const PlotView& view, const PlotLink& link,
               const std::string& run, Requests& ask);

/// A menu over what was drawn in `box`: saves it as a picture, or `csv`.
void save_drawing(Ui& ui, const Box& box, const std::string& name, const std::function<std::string()>& csv,
                  const std::function<void(Canvas&, const Box&)>& paint, Requests& ask);

/// Draws it over the line, with that menu.
void show_drawing(Ui& ui, const std::string& name, const Drawing& drawing,
                  const std::function<std::string()>& csv, Requests& ask);

/// Draws the maps again when channel or fields changed, with equal limits and signed errors; both RMSE, and
/// the spread of an ensemble, are weighted by latitude.
void update_pictures(MapsState& maps, const std::shared_ptr<const FieldSet>& set, int channel);

/// The run that the form describes.
RunRequest request_of(const FormState& form);

/// Reads what the preset gives and checks what was changed, with the errors of the program.
void check_form(const Project& project, FormState& form);

/// While nothing was picked or changed, the next run of its lesson has the preset of this one.
void follow_preset(const Project& project, FormState& form, const RunEntry& run);

/// Fills the form with the settings of a run that was made before, as far as this lesson has them.
void fill_form(const Project& project, FormState& form, const RunEntry& run);

/// All keys, those that differ first, each group sorted. What belongs to the moment (environment, times)
/// comes last.
std::vector<KeyRow> key_rows(const Runs& runs);

using Labels = std::map<std::string, std::string>;  ///< run id -> what distinguishes it from the others

/// The colour and the mark that a run keeps everywhere.
Colour run_colour(const Ui& ui, AppState& state, const RunEntry& run);
Mark run_mark(AppState& state, const RunEntry& run);

void draw_scoreboard(Ui& ui, const ComparedRuns& compared, const Labels& labels, AppState& state,
                     Requests& ask);

}  // namespace isobar
