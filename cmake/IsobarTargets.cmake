# How every target of ours is compiled. Warnings are errors in our own code; third parties are SYSTEM includes.
function(isobar_own target)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wconversion;-Wsign-conversion;-Werror>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror>")
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
endfunction()

# isobar_tensors(target...): their files begin with the headers that cmake/libtorch compiles once. For targets with tensors in nearly
# every file; a file still includes what it uses, which the sanitizers' presets see.
function(isobar_tensors)
  if(TARGET isobar_tensor_headers)
    foreach(target ${ARGN})
      target_precompile_headers(${target} REUSE_FROM isobar_tensor_headers)
    endforeach()
  endif()
endfunction()

# isobar_library(core SOURCES a.cpp b.cpp LINK isobar::record fmt::fmt): one library a folder of engine/.
function(isobar_library folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(isobar_${folder} STATIC ${arg_SOURCES})
  add_library(isobar::${folder} ALIAS isobar_${folder})
  target_include_directories(isobar_${folder} PUBLIC ${CMAKE_SOURCE_DIR}/engine)
  target_link_libraries(isobar_${folder} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  isobar_own(isobar_${folder})
endfunction()

# isobar_test(core LABEL unit SOURCES a.cpp LINK isobar::core): one Catch2 executable a folder of tests/. Units may run beside each
# other; what trains, measures or draws (every other label, and units that say ALONE) has the machine to itself.
function(isobar_test name)
  cmake_parse_arguments(arg "ALONE" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE isobar_test_main ${arg_LINK})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  isobar_own(test_${name})
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT})
  if(arg_ALONE OR NOT arg_LABEL STREQUAL unit)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
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
