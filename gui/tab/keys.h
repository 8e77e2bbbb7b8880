#pragma once
// Mouse and keys into ImGui, by its arrays (1.86) or its queue of events (later). Keys are numbered as GLFW
// does. Tests without a display use these too.

namespace isobar {

/// Once for a context: which of ImGui's keys each number is.
void map_keys();
void place_mouse(float x, float y);
void press_button(int button, bool down);
void turn_wheel(float across, float down);
void hold_modifiers(bool control, bool shift, bool alt);
/// A key that the table does not have counts by its number alone, as our own hotkeys ask.
void press_key(int code, bool down);
void release_keys();

}  // namespace isobar
