#pragma once
// What happens to the connections of tabs.
#include <string_view>

#include "tab/messages.h"

namespace isobar {

/// Called within TabServer::serve.
class TabEvents {
 public:
  virtual ~TabEvents() = default;
  virtual void came(TabId tab) = 0;
  virtual void left(TabId tab) = 0;
  /// False = it is no message of ours; the connection is closed.
  virtual bool said(TabId tab, std::string_view bytes) = 0;
};

}  // namespace isobar
