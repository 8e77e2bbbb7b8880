# isobar_exercise(02_workers PARTS isobar::run ... LINK isobar::data_bytes): from lessons/NN_name/exercise/, what ./isobar check and
# ./isobar run --mine take. LINK: what the checks use; PARTS: what the lesson links. The learner's file is compiled later, with the command of
# part.cpp and the options of a watch.
add_custom_target(isobar_exercises)  # all that ./isobar check may take

# How its programs are made (ISOBAR_WATCH_address): plain where they take libtorch, and for threads where it has the check "race".
function(isobar_watches out folder)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/exercise.toml)
  file(STRINGS ${folder}/exercise.toml sanitized REGEX "^sanitized = true")
  file(STRINGS ${folder}/exercise.toml race REGEX "^name = \"race\"")
  set(watches plain)
  if(sanitized)
    set(watches address)
  endif()
  if(race)
    list(APPEND watches thread)
  endif()
  set(${out} ${watches} PARENT_SCOPE)
endfunction()

# Where the files of an exercise begin their includes, and what they are compiled with beside it. Undefined behaviour is looked for in the
# learner's file only.
function(isobar_of_exercise target watch link)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/lessons ${CMAKE_SOURCE_DIR}/engine/base)
  target_link_libraries(${target} PUBLIC ${link})
  target_compile_options(${target} PRIVATE ${ISOBAR_WATCH_${watch}} $<$<STREQUAL:${watch},address>:-fno-sanitize=undefined>)
  target_link_options(${target} INTERFACE ${ISOBAR_WATCH_${watch}})
  isobar_own(${target})
endfunction()

# What is compiled as a learner's file with tensors is: with its precompiled headers.
function(isobar_as_part target link)
  if("Libtorch::cpu" IN_LIST link)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    isobar_precompiled(part ${target})
    target_compile_options(${target} PRIVATE -O0)  # what it computes, libtorch computes
  endif()
endfunction()

function(isobar_exercise lesson)
  cmake_parse_arguments(arg "" "" "PARTS;LINK" ${ARGN})
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/exercise)
  # The other half of the part, which programs load.
  add_library(part_of_${lesson} OBJECT ${folder}/part.cpp)
  set_target_properties(part_of_${lesson} PROPERTIES POSITION_INDEPENDENT_CODE ON EXCLUDE_FROM_ALL ON)
  isobar_of_exercise(part_of_${lesson} plain "${arg_LINK}")
  isobar_as_part(part_of_${lesson} "${arg_LINK}")
  isobar_watches(watches ${folder})
  foreach(watch ${watches})
    add_library(checks_${watch}_${lesson} OBJECT ${folder}/checks.cpp)  # for the exercise's test too
    set_target_properties(checks_${watch}_${lesson} PROPERTIES EXCLUDE_FROM_ALL ON)
    isobar_of_exercise(checks_${watch}_${lesson} ${watch} "isobar::checks;fmt::fmt;${arg_LINK}")
    if(watch STREQUAL plain)
      isobar_as_part(checks_${watch}_${lesson} "${arg_LINK}")
    else()
      target_compile_options(checks_${watch}_${lesson} PRIVATE -O0)  # compiled for longer than it runs
    endif()
    set(program check_${lesson})
    if(watch STREQUAL thread)
      string(APPEND program _thread)
    endif()
    add_executable(${program} $<TARGET_OBJECTS:isobar_check_main>)
    target_link_libraries(${program} PRIVATE checks_${watch}_${lesson} isobar::record ${CMAKE_DL_LIBS})
    set_target_properties(${program} PROPERTIES LINKER_LANGUAGE CXX ENABLE_EXPORTS ON EXCLUDE_FROM_ALL ON)
    add_dependencies(${program} part_of_${lesson})
    add_dependencies(isobar_exercises ${program})
  endforeach()
  # The lesson's page, and what puts the learner's part where the engine has its own.
  set(program mine_${lesson})
  add_executable(${program} ${folder}/in_lesson.cpp $<TARGET_OBJECTS:page_${lesson}>)
  isobar_links_lesson(${program} "isobar::own_part;${arg_PARTS}")
  set_target_properties(${program} PROPERTIES ENABLE_EXPORTS ON)
  add_dependencies(${program} part_of_${lesson})
  if(NOT ISOBAR_TESTS)
    set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()
