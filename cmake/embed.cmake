# cmake -DPAGE=FOLDER -DOUT=page_files.cpp -P embed.cmake: the files of the browser's page as text in the program.
# ROOM (gui/tab/door.h), file, Content-Type:
set(rooms
  page page.html text/html
  style page.css text/css
  script page.js text/javascript
  frame_script frame.js text/javascript)
set(code "// Made by cmake/embed.cmake.\n#include \"tab/door.h\"\n\nnamespace isobar {\n\nPageFile page_file(Room room) {\n  switch (room) {\n")
while(rooms)
  list(POP_FRONT rooms room name type)
  file(READ ${PAGE}/${name} text)
  if(text MATCHES "\\)~~~\"")
    message(FATAL_ERROR "${name} holds the sign that ends it: )~~~\"")
  endif()
  string(APPEND code "    case Room::${room}:\n      return {R\"~~~(${text})~~~\", \"${type}; charset=utf-8\"};\n")
endwhile()
string(APPEND code "    default:\n      return {\"\", \"text/plain; charset=utf-8\"};\n  }\n}\n\n}  // namespace isobar\n")
file(WRITE ${OUT} "${code}")
