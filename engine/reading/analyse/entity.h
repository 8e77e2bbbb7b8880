#pragma once
// Characters that a page of Markdown writes by name or number: "&lt;", "&#65;", "&#x42;".
#include <string>
#include <string_view>

namespace isobar {

/// Adds the character that `entity` stands for, '&' and ';' included; an unknown name is added as it is.
void append_entity(std::string& out, std::string_view entity);

/// The entity that `text` begins with; empty where it begins with none.
std::string_view entity_at(std::string_view text);

}  // namespace isobar
