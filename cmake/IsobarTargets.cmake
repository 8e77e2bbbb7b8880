# Continuous integration sets ISOBAR_WERROR=ON; the warning of a newer compiler must not stop a user who only wants to run something.
option(ISOBAR_WERROR "take warnings in our own code for errors" OFF)

# How every target of ours is compiled; third parties are SYSTEM includes.
function(isobar_own target)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wconversion;-Wsign-conversion>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>")
  if(ISOBAR_WERROR)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>" "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>")
  endif()
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
endfunction()

# isobar_narrow(KIND TARGET): where it takes tensors, headers of cmake/libtorch/narrow stand before those of libtorch.
function(isobar_narrow kind target)
  if(kind MATCHES "tensor")
    target_include_directories(${target} BEFORE PRIVATE ${CMAKE_SOURCE_DIR}/cmake/libtorch/narrow)
  endif()
endfunction()

# isobar_precompiled(plain|tensor TARGET...): their units begin with headers that cmake/precompiled compiles once. A file still includes
# what it uses, which the presets debug, asan and tsan see.
function(isobar_precompiled kind)
  if(TARGET isobar_${kind}_headers)
    foreach(target ${ARGN})
      target_precompile_headers(${target} REUSE_FROM isobar_${kind}_headers)
      target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake)  # where one does not fit
      isobar_narrow(${kind} ${target})
    endforeach()
  endif()
endfunction()

option(ISOBAR_UNITY "compile the files of a folder together; names of file-local things must then differ in it" ON)

# isobar_unity(TARGET [EACH N]): its files are compiled together, N at a time (default: all).
function(isobar_unity target)
  cmake_parse_arguments(arg "" "EACH" "" ${ARGN})
  if(NOT arg_EACH)
    set(arg_EACH 0)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ISOBAR_UNITY} UNITY_BUILD_BATCH_SIZE ${arg_EACH})
endfunction()

# isobar_alone(a.cpp b.cpp): files of a folder that are compiled by themselves, since what they include is heavy.
function(isobar_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# isobar_two_units(TARGET a.cpp b.cpp): these files of a folder are compiled together, since they share heavy includes, and the others together.
function(isobar_two_units target)
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP heavy)
  set_source_files_properties(${sources} PROPERTIES UNITY_GROUP light)
endfunction()

# isobar_library(core SOURCES a.cpp b.cpp LINK isobar::record fmt::fmt [EACH N] [TENSORS | SHARED]): a folder of a wing of engine/, or the part of one that some
# programs do without. A program builds what it runs, so lessons link parts.
function(isobar_library name)
  cmake_parse_arguments(arg "TENSORS;SHARED" "EACH" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(isobar_${name} STATIC ${arg_SOURCES})
  add_library(isobar::${name} ALIAS isobar_${name})
  target_include_directories(isobar_${name} PUBLIC ${wing})
  target_link_libraries(isobar_${name} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  if(arg_SHARED)
    set_target_properties(isobar_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  isobar_own(isobar_${name})
  isobar_unity(isobar_${name} EACH ${arg_EACH})
  if(arg_TENSORS)
    isobar_precompiled(tensor isobar_${name})
  elseif("fmt::fmt" IN_LIST arg_PRIVATE_LINK AND NOT arg_SHARED)  # what was compiled for another fmt, or to be moved, does not fit
    isobar_precompiled(plain isobar_${name})
  endif()
endfunction()

# isobar_whole(train plain_train fused_train): the folder with all its parts, for programs that use most of it.
function(isobar_whole folder)
  add_library(isobar_${folder} INTERFACE)
  add_library(isobar::${folder} ALIAS isobar_${folder})
  list(TRANSFORM ARGN PREPEND isobar::)
  target_link_libraries(isobar_${folder} INTERFACE ${ARGN})
endfunction()

# isobar_lightly_optimised(-O1): for folders, and those below, that read files, draw, or call libtorch; there -O2 takes a third longer than -O1, and
# shows nowhere. Below -O2 g++ 12 takes operator+ of strings for reads and writes out of bounds.
function(isobar_lightly_optimised level)
  add_compile_options("$<$<CONFIG:Release>:${level};-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)  # its -O2 sets them, and a precompiled header wants them equal
    add_compile_options("$<$<CONFIG:Release>:-munroll-only-small-loops;-mvzeroupper>")
  endif()
endfunction()

# A test is compiled far more often than it is waited for, and what it tests is optimised: at -O1 its units take half as long again.
set(ISOBAR_TEST_OPTIONS -O0 -g0)

# The ways in which a learner's file is watched. What it is compiled with, its precompiled headers are too: g++ would read all of libtorch else.
set(ISOBAR_WATCH_plain -g1)
set(ISOBAR_WATCH_address -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g1)
set(ISOBAR_WATCH_thread -fsanitize=thread -fno-omit-frame-pointer -O1 -g1)

# Where tests and benches begin their includes: at the tests, and at their wings, which mirror those of engine/.
set(ISOBAR_TEST_INCLUDES ${CMAKE_SOURCE_DIR}/tests)
foreach(wing base training reading)
  list(APPEND ISOBAR_TEST_INCLUDES ${CMAKE_SOURCE_DIR}/tests/${wing})
endforeach()

# isobar_tier(TIER TEST...): quick, full or nightly, as in ./isobar test --TIER. Nightly ones are unknown to ctest without -C nightly: they are
# added by add_test(... CONFIGURATIONS nightly).
function(isobar_tier tier)
  foreach(test ${ARGN})
    set_property(TEST ${test} APPEND PROPERTY LABELS ${tier})
  endforeach()
endfunction()

# isobar_test(core LABEL unit [QUICK] [FULL] [NIGHTLY] [NIGHT] [PRODUCTS] [COST 60] SOURCES a.cpp LINK isobar::core): one Catch2
# executable a folder of tests/. No test needs the machine for itself, and none counts as several: ctest would begin those last, one by one.
# COST: seconds, so that long ones begin first. FULL: cases with the tag [.full] are a test NAME_full, which QUICK leaves out. NIGHTLY: those with
# [.nightly] are a test NAME_nightly. NIGHT: all of them are the night's, which builds the program. PRODUCTS: NAME_products takes all combinations
# of tests/support/pairs.h. A test that passes TIMEOUT hangs; the program ends itself before, and says where. Its files are compiled twelve at a time:
# one whose names are those of another has a namespace of its own.
function(isobar_test name)
  cmake_parse_arguments(arg "QUICK;FULL;NIGHT;NIGHTLY;PRODUCTS;TENSORS" "LABEL;COST" "SOURCES;LINK" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE isobar_test_main ${arg_LINK})
  target_include_directories(test_${name} PRIVATE ${ISOBAR_TEST_INCLUDES})
  set_target_properties(test_${name} PROPERTIES ENABLE_EXPORTS ON)  # names for what hangs
  isobar_own(test_${name})
  isobar_unity(test_${name} EACH 12)
  target_compile_options(test_${name} PRIVATE ${ISOBAR_TEST_OPTIONS})
  target_link_options(test_${name} PRIVATE $<TARGET_OBJECTS:isobar_strings>)
  add_dependencies(test_${name} isobar_strings)
  if(arg_TENSORS)
    isobar_precompiled(tensor_test test_${name})
  elseif(NOT "Libtorch::omp" IN_LIST arg_LINK)  # whose files are compiled with -fopenmp
    isobar_precompiled(test test_${name})
  endif()
  set(tier)
  if(arg_NIGHT)
    set(tier CONFIGURATIONS nightly)
    list(APPEND arg_LABEL nightly)
    isobar_by_night(test_${name})
  endif()
  add_test(NAME ${name} ${tier} COMMAND test_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set(tests ${name})
  if(arg_FULL)
    add_test(NAME ${name}_full COMMAND test_${name} "[full]" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    list(APPEND tests ${name}_full)
  endif()
  set_tests_properties(${tests} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT 900 ENVIRONMENT ISOBAR_TEST_LIMIT_S=870)
  if(arg_COST)
    set_tests_properties(${tests} PROPERTIES COST ${arg_COST})
  endif()
  if(arg_QUICK)
    isobar_tier(quick ${name})
    add_dependencies(isobar_quick_tests test_${name})
  endif()
  if(arg_NIGHTLY)
    isobar_nightly(${name}_nightly COMMAND test_${name} "[nightly]")
  endif()
  if(arg_PRODUCTS)
    isobar_nightly(${name}_products COMMAND test_${name} ENVIRONMENT ISOBAR_PRODUCTS=1)
  endif()
endfunction()

# isobar_by_night(TARGET...): built by ./isobar test --nightly, and not by ./isobar test.
function(isobar_by_night)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(isobar_everything ${ARGN})
endfunction()

# isobar_nightly(NAME COMMAND ... [ENVIRONMENT A=1] [TIMEOUT 5400]): a test of the nightly tier, by default an hour at most. A Catch2 program ends
# itself before.
function(isobar_nightly name)
  cmake_parse_arguments(arg "" "TIMEOUT" "COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 3600)
  endif()
  math(EXPR limit "${arg_TIMEOUT} - 100")
  add_test(NAME ${name} CONFIGURATIONS nightly COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS nightly TIMEOUT ${arg_TIMEOUT} RUN_SERIAL TRUE
    ENVIRONMENT "ISOBAR_TEST_LIMIT_S=${limit};${arg_ENVIRONMENT}")
endfunction()

# isobar_headers(toml toml++/toml.h libtomlplusplus-dev): headers without a library, as the target isobar_toml; found below
# CMAKE_PREFIX_PATH first, as every other dependency is.
function(isobar_headers name header package)
  find_path(ISOBAR_${name}_HEADERS ${header} DOC "where ${header} is")
  if(NOT ISOBAR_${name}_HEADERS)
    message(FATAL_ERROR "${header} is not there: install ${package}, or name its prefix in CMAKE_PREFIX_PATH")
  endif()
  add_library(isobar_${name} INTERFACE)
  target_include_directories(isobar_${name} SYSTEM INTERFACE ${ISOBAR_${name}_HEADERS})
endfunction()
