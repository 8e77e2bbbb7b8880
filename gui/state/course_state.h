#pragma once
// What the learner does in the window: the beat that is shown, the cards that are being filled in, the code
// that is read.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "course/course.h"
#include "text/code_page.h"

namespace isobar {

/// A card that is being filled in: kept while another one is looked at.
struct CardState {
  std::string typed = {};
  std::size_t hints = 0;     ///< that were asked for
  std::string problem = {};  ///< why what stands there is no answer; "" = nothing was tried
  bool entered = false;      ///< Enter was pressed in its field
  std::size_t again_of = 0;  ///< line of the answer beside which another is asked for; 0 = none is
};

struct CourseState {
  std::map<std::string, Beat> beats;          ///< of each lesson the one that is shown; none = the next one
  std::map<std::string, std::string> shown;   ///< "lesson beat" -> question on its card
  std::map<std::string, CardState> cards;     ///< by question
  std::set<std::string> unfolded;             ///< parts of pages, "lesson/words"
  std::string question;                       ///< on the screen in this frame; "" = none
  std::map<std::string, std::string> sweeps;  ///< of each lesson "key=a,b" as typed
  std::string section;                        ///< heading of the page to scroll to, as a link names it
  std::string ranks = "1,2";                  ///< of a scale, as typed

  CardState& card(const std::string& id) { return cards[id]; }
};

/// What the Code view shows beside a lesson's page.
struct CodeState {
  std::string file = {};  ///< below the project; "" = the page of the chosen lesson
  std::string text = {};
  CodePage page = {};     ///< of that text
  std::int64_t line = 0;  ///< marked, and scrolled to once
  bool scroll = false;
  bool is_diff = false;    ///< `page` leads from another text to this one
  std::string asked = {};  ///< the card whose answer is a line of the lesson's page; "" = none
};

}  // namespace isobar
