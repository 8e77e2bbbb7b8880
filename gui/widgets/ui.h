#pragma once
// The widgets that panels are made of. Each one that can be used is recorded by name: tests click by name,
// and Tab goes from one to the next.
#include <imgui.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/colour.h"
#include "plot/band.h"
#include "widgets/imgui_canvas.h"

struct ImGuiWindow;

namespace isobar {

enum class ButtonKind { plain, primary, danger, quiet };

struct UiItem {
  std::string name;
  Box box;
  ImGuiID id = 0;
  ImGuiWindow* window = nullptr;
  std::string words = {};  ///< contents of a text field
};

/// A row of words that a person would select and copy, where it stands in the frame.
struct ReadableRow {
  std::string words;  ///< ends with a newline where the line that it is of does
  Box box;            ///< box of all of it
  Box seen;           ///< the part of it that no clip rectangle cuts off
  bool operator==(const ReadableRow&) const = default;
};

/// A place that the mouse and the focus can use.
struct Area {
  Box box;
  bool clicked = false, hovered = false, active = false;
};

/// Keys that are letters or signs, as GLFW and ImGui 1.86 number them.
enum class Hotkey : int { space = 32, slash = 47, equal = 61, minus = 45, zero = 48, f1 = 290 };

class Ui {
 public:
  explicit Ui(TextureMaker& textures) : textures_(textures) {}

  /// Fonts and style; call before a frame when scale or theme changed.
  void set_look(bool dark, float scale);
  void begin_frame();
  /// Moves the focus when Tab was pressed.
  void end_frame();
  /// The input that follows gets the keyboard.
  void focus_here();

  const Theme& theme() const { return *theme_; }
  const Fonts& fonts() const { return fonts_; }
  float px(float pixels) const { return pixels * fonts_.scale; }
  TextureMaker& textures() { return textures_; }
  Smoother& smoother() { return smoother_; }
  Bands& bands() { return bands_; }
  ImGuiCanvas canvas() { return ImGuiCanvas(*ImGui::GetWindowDrawList(), fonts_, textures_); }

  /// `name` distinguishes it from others with the same label; "" = the label does.
  bool button(std::string_view label, ButtonKind kind = ButtonKind::plain, bool enabled = true,
              std::string_view name = {});
  /// Words in small letters that do something.
  bool link(std::string_view label, std::string_view name);
  float button_width(std::string_view label);
  /// One of several, such as a tab; true when clicked.
  bool choice(std::string_view label, bool chosen);
  bool checkbox(std::string_view name, bool* value, std::string_view label);
  bool input(std::string_view name, std::string& text, std::string_view hint, float width, bool good = true);
  bool combo(std::string_view name, const std::vector<std::string>& options, std::string& chosen,
             float width);
  bool slider(std::string_view name, double* value, double least, double most, float width);
  /// One of `count` places; true when it was moved.
  bool scrubber(std::string_view name, int* place, int count, float width);
  /// One of `count` places in order, which a mouse drags from one to the next; `words` show where it is.
  bool notches(std::string_view name, int* at, int count, std::string_view words, float width);
  /// A place of this size at the cursor that can be clicked; draw its content over its box afterwards.
  Area area(std::string_view name, ImVec2 size);
  /// A row that can be chosen over the whole width; draw its content over `box` afterwards.
  bool row(std::string_view name, bool chosen, float height, Box* box);

  void text(std::string_view words, Face face = Face::text) { text(words, face, theme().text); }
  void text(std::string_view words, Face face, Colour colour);
  /// Cut to the rest of the line, less so many pixels.
  void fitted(std::string_view words, Face face, Colour colour, float less = 0);
  void dim(std::string_view words) { text(words, Face::small, theme().dim); }
  void wrapped(std::string_view words, Face face, Colour colour);
  /// `wrapped` for words that a user would copy.
  void wrapped_readable(std::string_view words, Face face, Colour colour);
  /// Sentences in small letters: what explains, what is to be noticed, what is wrong.
  void note(std::string_view words) { wrapped(words, Face::small, theme().dim); }
  void warning(std::string_view words) { wrapped(words, Face::small, theme().warn); }
  void problem(std::string_view words) { wrapped(words, Face::small, theme().bad); }
  void sentence(std::string_view words) { wrapped(words, Face::text, theme().text); }
  /// What follows stands on the line of what was drawn last, so many pixels right of it (-1 = as widgets
  /// usually are), or at this x of the window.
  Ui& beside(float gap = -1);
  Ui& at_x(float x);
  /// Text that follows stands as high as the words of a button.
  Ui& framed();
  /// Words before a field, on its line.
  void label(std::string_view words, float gap = 6);
  /// Space over the rest of the line to be drawn on, named for tests; `panel`: on the ground of a panel.
  Box space(float height, std::string_view name = {});
  Box panel(float height, std::string_view name = {});
  /// What to do next, in the middle of an empty place; true when `action` (may be "") was clicked.
  bool empty_state(std::string_view title, std::string_view words, std::string_view action = {});
  void nothing(std::string_view title, std::string_view words) { empty_state(title, words); }
  void tip(std::string_view words);
  void gap(float pixels) { ImGui::Dummy({0, px(pixels)}); }

  /// Names the last ImGui item.
  void record(std::string_view name);
  /// Names a place of the plot kind, which is no ImGui item of its own.
  void record(std::string_view name, const Box& box);
  const std::vector<UiItem>& items() const { return items_; }

  /// Marks a row of words, drawn there, as such that a person would select and copy; `goes_on`: the next row
  /// is of the same line. Where no tab of a browser needs them, none are kept.
  void readable(std::string_view words, Face face, PlotPoint at, float height, bool goes_on = false);
  /// The last ImGui item shows them, or their beginning.
  void readable(std::string_view words, Face face);
  void keep_readable(bool on) { keep_readable_ = on; }
  /// Rows of the last frame, in the order in which they were drawn.
  const std::vector<ReadableRow>& readable_rows() const { return rows_; }

  /// A key was pressed and no text is being typed.
  bool pressed(int key) const;
  bool pressed(Hotkey key) const { return pressed(static_cast<int>(key)); }
  /// In the last frame a text field had the focus.
  bool was_at_field() const { return was_at_field_; }
  /// Part of the way to new limits that this frame goes: they are there after about 150 ms, at once where
  /// frames are slow.
  float ease() const;
  void set_slow(bool slow) { slow_ = slow; }
  /// For some frames letters are no hotkeys: a field is about to take them.
  void ignore_hotkeys() { deaf_frames_ = 5; }
  /// Something moves: draw another frame soon.
  void ask_frame() { moving_ = true; }
  bool moving() const { return moving_; }
  /// ImGui keeps input for the next frame: from 1.87 on it takes one letter or key a frame.
  static bool has_input_left();

 private:
  void focus_next(int direction);
  /// Draws an item in an id of its own, and records it by that name.
  bool named(std::string_view name, float width, const std::function<bool()>& draw);
  std::string lines_of(std::string_view words, Face face);
  static void silence_imgui_keys();

  TextureMaker& textures_;
  const Theme* theme_ = &theme_of(true);
  Fonts fonts_;
  Smoother smoother_;
  Bands bands_;
  std::vector<UiItem> items_;
  std::vector<ReadableRow> rows_;
  std::size_t rows_bytes_ = 0;
  bool keep_readable_ = false;
  bool moving_ = false;
  bool slow_ = false;
  int deaf_frames_ = 0;
  bool at_field_ = false;
  bool was_at_field_ = false;
};

}  // namespace isobar
