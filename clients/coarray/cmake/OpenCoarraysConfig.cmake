# find_package(OpenCoarrays) for projects that are written for OpenCoarrays: its targets, with the coarrays of OmniPGAS.
# Found only where OpenCoarrays_DIR names this folder. OpenCoarrays' module has no target here.
include(CMakeFindDependencyMacro)
find_dependency(OmniPGAS CONFIG COMPONENTS coarray PATHS ${CMAKE_CURRENT_LIST_DIR}/../../cmake/OmniPGAS NO_DEFAULT_PATH)
foreach(target caf_mpi caf_mpi_static)  # both are the shared library
  if(NOT TARGET OpenCoarrays::${target})
    add_library(OpenCoarrays::${target} INTERFACE IMPORTED)
    set_target_properties(OpenCoarrays::${target} PROPERTIES INTERFACE_LINK_LIBRARIES OmniPGAS::coarray)
  endif()
endforeach()
