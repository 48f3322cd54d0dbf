# What `cmake --install` puts where: headers, library, tools, pages, and the two ways to find them
# (find_package(OmniPGAS), pkg-config omnipgas). `make uninstall` removes what the manifest lists.
# Components: runtime (the library), devel, tools, man, doc; omni (what `omni` needs beside its Python), which comes
# only when it is asked for.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/OmniPGAS)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT devel
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS omnipgas EXPORT OmniPGAS LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT runtime NAMELINK_COMPONENT devel)
install(EXPORT OmniPGAS NAMESPACE OmniPGAS:: DESTINATION ${package_dir} COMPONENT devel)
set(parts fortran shmem coarray prif tasklet)  # each a component of find_package(), and with a file of its own for packages; OmniPGAS.cmake takes every OmniPGAS-*.cmake
foreach(part ${parts})
  if(TARGET omnipgas_${part})
    install(EXPORT OmniPGAS-${part} FILE OmniPGAS_${part}.cmake NAMESPACE OmniPGAS:: DESTINATION ${package_dir} COMPONENT devel)
  endif()
endforeach()

add_custom_target(installed)  # what is installed, without omni
foreach(tool omplrun ompl-info ompl-bench-verbs)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  endif()
endforeach()
foreach(target omnipgas omnipgas_fortran omnipgas_shmem omnipgas_coarray omnipgas_prif omnipgas_tasklet omplrun ompl-info ompl-bench-verbs installed_man)
  if(TARGET ${target})
    add_dependencies(installed ${target})
  endif()
endforeach()
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY ${PROJECT_BINARY_DIR}/docs/html DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc OPTIONAL)

configure_package_config_file(cmake/OmniPGASConfig.cmake.in OmniPGASConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(OmniPGASConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/OmniPGASConfig.cmake ${PROJECT_BINARY_DIR}/OmniPGASConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT devel)

file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
foreach(library omnipgas omnipgas_fortran omnipgas_shmem omnipgas_coarray omnipgas_prif omnipgas_tasklet)
  if(TARGET ${library})
    string(REPLACE _ - file ${library}.pc)
    configure_file(cmake/${file}.in ${file} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${pkgconfig_dir} COMPONENT devel)
  endif()
endforeach()

# omni looks for its programs in libexec/omnipgas as it does in the build folder: bin/, lib/, bench/peers.toml; and what
# is compiled for the user's MPI it compiles there from sources/, when it is first asked for.
if(TARGET ompl_bench_ompl AND NOT OMPL_SANITIZE)
  set(omni_dir ${CMAKE_INSTALL_LIBEXECDIR}/omnipgas)
  set(workers ompl_bench_raw ompl_bench_ompl ompl_connected_ompl ompl_calls_ompl ompl_roundtrip_ompl ompl_halo_ompl ompl_cg)
  if(TARGET ompl_overlap_ompl)
    list(APPEND workers ompl_overlap_ompl)
  endif()
  set_target_properties(${workers} PROPERTIES INSTALL_RPATH $ORIGIN/../../../${CMAKE_INSTALL_LIBDIR})
  set(programs ${workers} ompl_partition ompl-model ompl_trace_dump ompl-timer ompl-trace-omnipgas)
  add_custom_target(omni_programs DEPENDS ${programs})  # what packages build
  install(TARGETS ${programs}
    RUNTIME DESTINATION ${omni_dir}/bin COMPONENT omni EXCLUDE_FROM_ALL
    LIBRARY DESTINATION ${omni_dir}/lib COMPONENT omni EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_BINARY_DIR}/lib/libompl-trace-omnipgas.json DESTINATION ${omni_dir}/lib
    COMPONENT omni EXCLUDE_FROM_ALL)
  install(FILES instruments/bench/peers.toml instruments/bench/collectives.toml DESTINATION ${omni_dir}/bench COMPONENT omni EXCLUDE_FROM_ALL)
  foreach(folder instruments/common instruments/trace/mpi instruments/trace/writer instruments/bench/adapters instruments/bench/connected instruments/bench/calls
      instruments/bench/harness instruments/bench/roundtrip instruments/bench/halo instruments/bench/overlap examples/mpi
      include/omnipgas)
    string(REPLACE instruments/ "" place ${folder})
    install(DIRECTORY ${folder}/ DESTINATION ${omni_dir}/sources/${place} COMPONENT omni EXCLUDE_FROM_ALL
      FILES_MATCHING REGEX "\\.((c|h)(pp)?|f90)$")
  endforeach()
  install(DIRECTORY clients/mpi_collectives/ DESTINATION ${omni_dir}/sources/mpi_collectives COMPONENT omni EXCLUDE_FROM_ALL
    FILES_MATCHING REGEX "\\.(c|h)pp$")
  install(FILES instruments/trace/calls.table instruments/trace/format.hpp instruments/trace/generate.py instruments/trace/kinds.def
    DESTINATION ${omni_dir}/sources/trace COMPONENT omni EXCLUDE_FROM_ALL)
  if(OMPL_PORTABLE)  # other machines may lack these headers of the bench's harness
    find_path(OMPL_HEADERS nlohmann/json.hpp REQUIRED)
    foreach(library CLI fmt nlohmann)
      install(DIRECTORY ${OMPL_HEADERS}/${library} DESTINATION ${omni_dir}/sources/include COMPONENT omni EXCLUDE_FROM_ALL)
    endforeach()
  endif()
endif()
