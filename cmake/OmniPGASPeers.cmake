# ompl_add_mpi_programs(NAME MODULE [ARG...])
#   A target of every build: python3 -m omnipgas_tools.MODULE BUILD ARG..., which makes programs for each MPI of instruments/bench/peers.toml
#   that is installed when the build runs.
# OMPL_PEER_PLACES: environment that names the MPIs which `make` installed, for builds in other folders.
include_guard()
set(OMPL_PEER_PLACES)
if(NOT CMAKE_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build")
  foreach(peer mpich openmpi impi)
    string(TOUPPER ${peer} variable)
    list(APPEND OMPL_PEER_PLACES OMNI_PEER_${variable}=${PROJECT_SOURCE_DIR}/build/peers/${peer})
  endforeach()
endif()

function(ompl_add_mpi_programs name module)
  add_custom_target(${name} ALL
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/instruments/omni PYTHONDONTWRITEBYTECODE=1 ${OMPL_PEER_PLACES}
      ${Python3_EXECUTABLE} -m omnipgas_tools.${module} ${CMAKE_BINARY_DIR} ${ARGN}
    VERBATIM)
endfunction()
