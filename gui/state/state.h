#pragma once
// What the window shows and what the user asks for. Panels read Data, keep their own part of AppState, and
// add to Requests; only the application acts on them.
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyse/mesh_figures.h"
#include "analyse/pipeline_run.h"
#include "analyse/run_verdict.h"
#include "analyse/timeline.h"
#include "draw/sketch.h"
#include "log/run_files.h"
#include "state/answers.h"
#include "state/cluster_answers.h"
#include "state/comparison.h"
#include "state/course_worker.h"
#include "state/feed.h"
#include "state/launcher.h"
#include "state/memory_play.h"
#include "state/playground.h"
#include "state/project.h"
#include "state/scenes.h"
#include "state/settings.h"
#include "widgets/plot_widget.h"

namespace isobar {

class Error;

enum class View { watch, scene, compare, predict, timeline, pipeline, mesh, memory, maps, code, lesson, run };
inline constexpr int kViews = 12;
/// "watch", "compare", ... as the command line and the tabs call them.
const char* view_name(View view);
/// "Watch", "Compare", ...; that of `run` is "Settings", that of `scene` what the lesson calls it.
const char* view_title(View view, const LessonInfo* lesson = nullptr);
/// Whether it has something to show of this lesson.
bool suits(View view, const LessonInfo& lesson);
std::optional<View> view_of(std::string_view name);
/// All of them: "watch, compare, ...".
std::string view_names();

/// A picture or table to be written to a file.
struct SaveRequest {
  std::string name;  ///< without folder and ending
  ExportKind kind = ExportKind::svg;
  std::string bytes;  ///< bytes of the file
};

/// The settings of a lesson's next run.
struct FormState {
  std::string lesson;
  std::string preset;
  std::map<std::string, std::string> changed;  ///< key -> text, what differs from the preset
  std::map<std::string, std::string> values;   ///< values of every key in the preset
  std::string filter;
  std::string problem;      ///< the error that the program would print; "" = fine
  std::string problem_key;  ///< the key it is about; "" = several
  bool stale = true;        ///< to be checked again
  bool picked = false;      ///< the preset was chosen here; else it is that of the run that is looked at
  std::vector<PresetFact> presets = {};  ///< while their menu is open

  /// The text of a key as the next run has it; "" = there is no such key.
  std::string text(const std::string& key) const;
  /// The value of the preset is no change.
  void set(const std::string& key, const std::string& text);
};

/// A link that was clicked, on a page of this lesson.
struct LinkRequest {
  std::string lesson;
  std::string link;
};

/// Something the learner did; of a part `id` is the lesson.
struct CourseRequest {
  enum class Kind { commit, reveal, done };
  Kind kind = Kind::commit;
  std::string id;  ///< id of the question; for a part the lesson
  Answer answer = {};
  bool again = false;     ///< asked once more, with something new
  std::size_t seen = 0;   ///< line of the newest answer that the card showed, 0 = none
  std::string part = {};  ///< the part that is done
};

CourseRequest done_request(const std::string& lesson, const std::string& part);

struct Requests {
  std::optional<RunRequest> start;
  std::vector<RunRequest> queue;      ///< to be started one after the other
  std::optional<RunRequest> restart;  ///< stop what runs, then start this
  bool stop_started = false;          ///< the run that this window started
  std::string stop_run;               ///< another live run of this machine, by id
  std::string resume;                 ///< a run that ended before it was done, by id
  std::string show_run;               ///< choose this run
  std::string show_lesson;
  std::optional<LinkRequest> link;
  std::string edit;     ///< a file to be opened in the learner's editor
  std::string changes;  ///< a lesson: its skeleton beside what the learner made of it
  std::optional<CourseRequest> course;
  std::vector<std::string> look_at;  ///< folders of runs: the first is chosen, all are ticked
  std::optional<View> view;
  std::optional<SaveRequest> save;
  std::string copy;               ///< to the clipboard
  std::string place;              ///< a folder to read runs from
  std::string say;                ///< a line for the user
  std::optional<FormState> undo;  ///< settings that this line offers to bring back
  std::optional<FormState> form;  ///< settings to go back to
  bool measure_machine = false;   ///< its rates (formula/machine_rates.h)
  bool toggle_theme = false;
  double zoom_by = 0;  ///< 0 = as it is, else a factor
  bool help = false;
};

/// Brings the form back to its preset, and offers to undo that.
void reset_form(FormState& form, Requests& ask);

/// What panels read.
struct Data {
  const Project& project;
  FeedState feed;
  bool starting = false;   ///< a program that this window started is at work
  std::size_t queued = 0;  ///< number of those that will follow it
  int started_pid = 0;     ///< its process, or that of the last one
  RunRequest started = {};
  std::string started_run = {};                         ///< id of its run folder, "" while there is none
  std::shared_ptr<const MachineRates> rates = nullptr;  ///< rates kept of this machine
  std::string rates_problem = {};                       ///< why a file of them cannot be used
  std::shared_ptr<const CourseView> course = std::make_shared<CourseView>();
};

struct WatchState {
  std::shared_ptr<const RunEntry> judged;  ///< run of `verdict`
  RunVerdict verdict;
  PlotLink link;
  std::map<std::string, PlotView> views;
  std::string channel;  ///< channel of the RMSE plot; "" = the headline
};

struct CompareState {
  PlotLink link;
  std::map<std::string, PlotView> views;
  std::string extra;  ///< a further curve to overlay; "" = none
  std::string key_filter;
  bool all_keys = false;   ///< equal keys too
  std::string place;       ///< folder being typed
  std::string other = {};  ///< run that stands against the base, by id; "" = the last
  // Worked out from the runs, and again when they change.
  std::shared_ptr<const ComparedRuns> made;
  std::vector<KeyRow> keys;
  std::map<std::string, std::string> labels;  ///< run id -> what distinguishes it from the others
  std::string common;                         ///< what all of them have, which no label repeats
  std::map<std::string, std::vector<std::size_t>> equals;  ///< plot -> which of its lines are equal
};

enum class MapPart { prediction, error, persistence, persistence_error, target };
inline constexpr std::size_t kMapParts = 5;

struct MapsState {
  std::int64_t step = -1;  ///< -1 = the newest
  int channel = -1;        ///< -1 = the one that is watched
  bool playing = false;    ///< one validation after the other
  double next_s = 0;       ///< when the next one is due
  bool spread = true;      ///< an ensemble's spread, and the size of its error, in the place of persistence
  PlotLink link;
  PlotView view;
  // What was drawn last, and from what.
  std::shared_ptr<const FieldSet> drawn;
  int drawn_channel = -1;
  std::shared_ptr<const Picture> pictures[kMapParts];
  bool drawn_spread = false;
  double least = 0, most = 0, error_most = 0, spread_most = 0;
  double rmse = 0, persistence_rmse = 0, rms_spread = 0;

  bool is_due(double now_s) const { return playing && now_s >= next_s; }
};

struct TimelineState {
  int rank = 0;
  std::int64_t first = -1;  ///< -1 = those nearest to the median step
  std::int64_t steps = 1;
  // What was worked out last, and from what.
  std::string run;
  std::shared_ptr<const SpanTable> table;
  std::int64_t made_first = -1, made_steps = 0;
  StepRange made_over;
  std::optional<Timeline> made;
  std::string problem;
};

struct PipelineViewState {
  std::int64_t wanted = -1;  ///< -1 = the step nearest to the median
  bool scheduled = true;     ///< the schedule with the run's own times, below
  // What was worked out last, and from what.
  std::string run;
  std::vector<std::shared_ptr<const SpanTable>> tables;
  std::int64_t made_wanted = -1;
  StepRange made_over;
  std::optional<PipelineRun> made;
  std::vector<std::string> sentences;
  std::string problem;
};

struct MeshViewState {
  std::string axis;  ///< whose groups alone are drawn; "" = those of all
  int per_node = 0;  ///< ranks of a node; 0 = as they ran
  int pointed = -1;  ///< rank below the pointer in the last frame
  // What was worked out last, and from what.
  std::string run;
  std::shared_ptr<const RanksView> ranks;
  int made_per_node = 0;
  std::optional<MeshFigures> made;
  std::string problem;
};

struct MemoryViewState {
  int rank = 0;
};

/// The playground on clusters.
struct ClusterPlay {
  bool shown = false;   ///< in the place of this machine
  bool looked = false;  ///< profiles were read
  std::vector<ClusterMachine> machines;
  std::vector<std::string> problems;  ///< profiles that cannot be read
  std::set<std::string> chosen;
  ClusterAsk wanted;
  Answers<ClusterAnswer> answers;
  bool rates = false;  ///< samples/s instead of efficiency
  PlotLink link;
  std::array<PlotView, 2> views;  ///< efficiency first, then samples/s
};

/// The playground of memory.
struct MemoryPlay {
  bool shown = false;   ///< in the place of this machine
  bool on_gpu = false;  ///< a rank on a GPU of its own
  bool front = false;   ///< all ways instead of one step
  // What was worked out last, and from what.
  MemoryAsk asked;
  std::vector<Knob> knobs;
  PlayedMemory played;
  Answers<FrontAnswer> fronts;
};

/// A step of a pipeline of equal stages by the numbers of the form.
struct PipelinePlay {
  bool shown = false;
  double message = 0;  ///< time of one, in forward passes of a rank
  // What was drawn last, and from what.
  std::string made_from;
  PipelineStep made;
  Drawing drawing;
  std::string problem;
};

struct PlayState {
  PipelinePlay pipeline;
  ClusterPlay cluster;
  MemoryPlay memory;
  std::string turned;  ///< key of the knob that was turned last
  PlotLink link;
  PlotView view;
  // What was worked out last, and from what.
  std::string made_of;
  std::vector<Knob> knobs;
  PlayedStep step, plain;                        ///< with the settings, and with the preset as it is
  std::vector<std::pair<double, double>> curve;  ///< curve of that knob
};

/// A card that is being filled in: kept while another one is looked at.
struct CardState {
  std::string typed = {};
  std::size_t hints = 0;     ///< hints that were asked for
  std::string problem = {};  ///< why what stands there is no answer; "" = nothing was tried
  bool entered = false;      ///< Enter was pressed in its field
  std::size_t again_of = 0;  ///< line of the answer beside which another is asked for; 0 = none is
};

struct CourseState {
  std::map<std::string, std::size_t> parts;  ///< lesson -> index of the part that is shown; none = the next
  std::map<std::string, std::string> shown;  ///< "lesson part" -> question on its card
  std::map<std::string, CardState> cards;    ///< by question
  std::set<std::string> unfolded;  ///< parts of pages, "lesson/words"; sections of reveals, "id/more"
  std::string question;            ///< on the screen in this frame; "" = none
  std::map<std::string, std::string> sweeps;  ///< lesson -> "key=a,b", the typed words
  std::string section;                        ///< heading of the page to scroll to, as a link names it
  std::string ranks = "1,2";                  ///< ranks of a scale, the typed words

  CardState& card(const std::string& id) { return cards[id]; }
};

/// What the Code view shows beside a lesson's page.
struct CodeState {
  std::string file = {};  ///< below the project; "" = the page of the chosen lesson
  std::string text = {};
  CodePage page = {};     ///< page of that text
  std::int64_t line = 0;  ///< marked, and scrolled to once
  bool scroll = false;
  bool is_diff = false;    ///< `page` leads from another text to this one
  std::string asked = {};  ///< the card whose answer is a line of the lesson's page; "" = none
};

struct AppState {
  WindowSettings settings;
  std::string lesson;
  bool asked_lesson = false;  ///< by name, when the window began: no run of another one takes its place
  std::string run;            ///< chosen run, by id; "" = none
  bool follow_new = true;     ///< show a started run as soon as it has a folder
  std::set<std::string> compared;
  View view = View::watch;
  View side = View::lesson;  ///< view in the right column: lesson or run
  std::string run_filter;
  std::map<std::string, std::size_t> colours;  ///< slots of runs, kept as long as the window is open
  WatchState watch;
  CompareState compare;
  TimelineState timeline;
  PipelineViewState pipeline;
  MeshViewState mesh;
  MemoryViewState memory;
  MapsState maps;
  PlayState play;
  ScenesState scenes;
  CourseState course;
  CodeState code;
  std::map<std::string, FormState> forms;  ///< by lesson, kept while another one is looked at
  bool help = false;
  bool focus_filter = false;
  std::string ladder_at, list_at;  ///< lesson and run that their lists were scrolled to last
  float console_bottom = 0;        ///< bottom of its lines when they were drawn last
  std::string toast;
  double toast_until_s = 0;
  std::string toast_action;  ///< on a button of the message; "" = it has none
  Requests toast_ask;        ///< what that button asks for
  double now_s = 0;

  /// The slot of a run's colour and marker.
  std::size_t slot(const std::string& run_id) {
    return colours.emplace(run_id, colours.size()).first->second;
  }
  XAxis x_axis() const;
  /// The form of the chosen lesson.
  FormState& form();
};

/// The curve as a line of a plot over this axis; without data when the run does not have it, or not over this
/// axis.
PlotLine line_of(const std::shared_ptr<const RunEntry>& run, std::string_view curve, XAxis axis,
                 std::string label, Colour colour, Mark mark);

/// The name of each XAxis: "step", "epoch", ...
inline constexpr std::array<const char*, 4> kAxisTitles = {"step", "epoch", "time", "samples"};

/// What a plot of throughput shows: its lines are bands (draw/band.h).
std::string throughput_title();

/// Title and marks of the x axis of a plot or stack.
template <class Spec>
void set_x_axis(Spec& spec, XAxis axis) {
  spec.x_title = kAxisTitles[static_cast<std::size_t>(axis)];
  spec.x_is_time = axis == XAxis::time;
  spec.x_is_whole = axis == XAxis::step || axis == XAxis::samples;
}

/// "NN_name-20261121-113828-0312" -> "11:38:28  0312"; other names as they are.
std::string short_run_name(const RunEntry& run);

/// What stands above a view of one run: its lesson and its short name.
std::string title_of(const RunEntry& run);

/// What happened to a run, in a line: "done after 900 steps", "died; last sign 12 s ago", ...
std::string run_line(const RunEntry& run);

Colour state_colour(const Theme& theme, RunState state);

/// What went wrong, and what to do about it, where that is known.
std::string sentence_of(const Error& error);

}  // namespace isobar
