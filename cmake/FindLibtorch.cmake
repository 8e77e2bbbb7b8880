# Imported targets for libtorch as unpacked from its wheel; the wheel's own CMake files are not used, because without
# a GPU they pick architectures that today's nvcc lacks.
#   LIBTORCH_PREFIX   the folder that holds torch/ and nvidia/ side by side (cache entry or environment variable)
#   Libtorch::cpu     tensors, autograd and c10d on the CPU
#   Libtorch::cuda    the same with CUDA, when COMPONENTS cuda asks for it: the headers are those of the CUDA compiler
#   Libtorch::nccl    the NCCL that Libtorch::cuda is linked to, for files that name it
#   Libtorch::gloo_headers   for files that name Gloo: Debian's headers, the code is in libtorch
#   Libtorch::omp     for files that call at::parallel_for: -fopenmp with the OpenMP runtime that libtorch uses
include(FindPackageHandleStandardArgs)
set(LIBTORCH_PREFIX "$ENV{LIBTORCH_PREFIX}" CACHE PATH "folder that holds torch/ and nvidia/")
set(_torch ${LIBTORCH_PREFIX}/torch)
find_path(Libtorch_INCLUDE_DIR ATen/ATen.h HINTS ${_torch}/include NO_DEFAULT_PATH)
find_library(Libtorch_CPU_LIBRARY torch_cpu HINTS ${_torch}/lib NO_DEFAULT_PATH)
find_library(Libtorch_C10_LIBRARY c10 HINTS ${_torch}/lib NO_DEFAULT_PATH)
set(_version_header ${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h)
if(Libtorch_INCLUDE_DIR AND EXISTS ${_version_header})
  file(STRINGS ${_version_header} _version REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" _version "${_version}")
  string(REPLACE ";" "." Libtorch_VERSION "${_version}")
endif()
set(_missing)
foreach(_library cu13/lib/libcudart.so.13 cu13/lib/libcupti.so.13)  # libtorch_cpu.so is linked to these two
  if(NOT EXISTS ${LIBTORCH_PREFIX}/nvidia/${_library})
    list(APPEND _missing nvidia/${_library})
  endif()
endforeach()
set(_setup "./isobar setup")
if("cuda" IN_LIST Libtorch_FIND_COMPONENTS)
  set(_setup "./isobar --cuda setup")
  foreach(_library torch_cuda c10_cuda)
    if(NOT EXISTS ${_torch}/lib/lib${_library}.so)
      list(APPEND _missing torch/lib/lib${_library}.so)
    endif()
  endforeach()
  foreach(_library cu13/lib/libcublas.so.13 cu13/lib/libcublasLt.so.13 cu13/lib/libcufft.so.12 cu13/lib/libcufile.so.0
      cu13/lib/libcurand.so.10 cu13/lib/libcusparse.so.12 cudnn/lib/libcudnn.so.9 nccl/lib/libnccl.so.2
      cusparselt/lib/libcusparseLt.so.0 nvshmem/lib/libnvshmem_host.so.3)  # what libtorch_cuda.so is linked to
    if(NOT EXISTS ${LIBTORCH_PREFIX}/nvidia/${_library})
      list(APPEND _missing nvidia/${_library})
    endif()
  endforeach()
  find_path(Libtorch_CUDA_INCLUDE_DIR cuda_runtime_api.h
    HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES} ${LIBTORCH_PREFIX}/nvidia/cu13/include NO_DEFAULT_PATH)
  find_path(Libtorch_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h  # a toolkit may have been installed without it
    HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES} ${LIBTORCH_PREFIX}/nvidia/cu13/include NO_DEFAULT_PATH)
  if(NOT Libtorch_NVTX_INCLUDE_DIR)
    list(APPEND _missing nvidia/cu13/include/nvtx3/nvToolsExt.h)
  endif()
  if(NOT Libtorch_CUDA_INCLUDE_DIR)
    list(APPEND _missing "cuda_runtime_api.h beside nvcc")
  elseif(NOT _missing)
    set(Libtorch_cuda_FOUND TRUE)
  endif()
endif()
set(_reason "run ${_setup}, or set LIBTORCH_PREFIX to the folder that holds torch/ and nvidia/")
if(_missing)
  list(JOIN _missing ", " _missing_text)
  string(APPEND _reason ". Not there: ${_missing_text}")
endif()
find_package_handle_standard_args(Libtorch
  REQUIRED_VARS Libtorch_INCLUDE_DIR Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY
  VERSION_VAR Libtorch_VERSION HANDLE_COMPONENTS REASON_FAILURE_MESSAGE "${_reason}")
if(_missing AND Libtorch_FIND_REQUIRED)
  message(FATAL_ERROR "libtorch is incomplete: ${_reason}")
endif()
if(NOT Libtorch_FOUND OR TARGET Libtorch::cpu)
  return()
endif()

add_library(Libtorch::c10 SHARED IMPORTED)
set_target_properties(Libtorch::c10 PROPERTIES IMPORTED_LOCATION ${Libtorch_C10_LIBRARY})
add_library(Libtorch::torch_cpu SHARED IMPORTED)
set_target_properties(Libtorch::torch_cpu PROPERTIES IMPORTED_LOCATION ${Libtorch_CPU_LIBRARY})
add_library(Libtorch::cpu INTERFACE IMPORTED)
target_include_directories(Libtorch::cpu INTERFACE
  ${Libtorch_INCLUDE_DIR} ${Libtorch_INCLUDE_DIR}/torch/csrc/api/include)
# libtorch is built with NDEBUG, on which the layout of what it hands out depends; a file includes the operators that it names, not all.
target_compile_definitions(Libtorch::cpu INTERFACE USE_DISTRIBUTED NDEBUG AT_PER_OPERATOR_HEADERS)
# The wheel brings the headers of its own fmt but no library for them, and they come first in the search path.
add_library(libtorch_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/libtorch/fmt.cpp)
target_include_directories(libtorch_fmt SYSTEM PRIVATE ${Libtorch_INCLUDE_DIR})
set_target_properties(libtorch_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)  # the CUDA plugin holds a copy
target_link_libraries(Libtorch::cpu INTERFACE Libtorch::torch_cpu Libtorch::c10 libtorch_fmt)
target_link_options(Libtorch::cpu INTERFACE LINKER:-rpath-link,${LIBTORCH_PREFIX}/nvidia/cu13/lib)

find_path(Libtorch_GLOO_INCLUDE_DIR gloo/rendezvous/store.h)
if(NOT Libtorch_GLOO_INCLUDE_DIR)
  message(FATAL_ERROR "the headers of Gloo are not there: run ./isobar setup, or install libgloo-dev")
endif()
add_library(Libtorch::gloo_headers INTERFACE IMPORTED)
target_include_directories(Libtorch::gloo_headers INTERFACE ${Libtorch_GLOO_INCLUDE_DIR})
target_compile_definitions(Libtorch::gloo_headers INTERFACE USE_C10D_GLOO)

add_library(Libtorch::omp SHARED IMPORTED)
set_target_properties(Libtorch::omp PROPERTIES IMPORTED_LOCATION ${_torch}/lib/libgomp.so.1)
target_compile_options(Libtorch::omp INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)

if(Libtorch_cuda_FOUND)
  foreach(_library torch_cuda c10_cuda)
    add_library(Libtorch::${_library} SHARED IMPORTED)
    set_target_properties(Libtorch::${_library} PROPERTIES IMPORTED_LOCATION ${_torch}/lib/lib${_library}.so)
  endforeach()
  add_library(Libtorch::cudart SHARED IMPORTED)  # the one that libtorch brings: two CUDA runtimes do not share devices
  set_target_properties(Libtorch::cudart PROPERTIES IMPORTED_LOCATION ${LIBTORCH_PREFIX}/nvidia/cu13/lib/libcudart.so.13)
  add_library(Libtorch::cuda INTERFACE IMPORTED)
  target_include_directories(Libtorch::cuda INTERFACE ${Libtorch_CUDA_INCLUDE_DIR} ${Libtorch_NVTX_INCLUDE_DIR})
  target_link_libraries(Libtorch::cuda INTERFACE Libtorch::torch_cuda Libtorch::c10_cuda Libtorch::cpu Libtorch::cudart)
  add_library(Libtorch::nccl SHARED IMPORTED)  # the one of the wheel, before any of the CUDA toolkit
  set_target_properties(Libtorch::nccl PROPERTIES IMPORTED_LOCATION ${LIBTORCH_PREFIX}/nvidia/nccl/lib/libnccl.so.2)
  target_include_directories(Libtorch::nccl BEFORE INTERFACE ${LIBTORCH_PREFIX}/nvidia/nccl/include)
  target_compile_definitions(Libtorch::nccl INTERFACE USE_C10D_NCCL)
  # Without --no-as-needed libtorch_cuda.so would be dropped, since we call none of its functions by name.
  target_link_options(Libtorch::cuda INTERFACE LINKER:--no-as-needed)
  foreach(_library cudnn nccl cusparselt nvshmem)
    target_link_options(Libtorch::cuda INTERFACE LINKER:-rpath-link,${LIBTORCH_PREFIX}/nvidia/${_library}/lib)
  endforeach()
endif()
