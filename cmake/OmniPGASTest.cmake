# ompl_add_test(NAME name SOURCES file... [LIBS target...] [TIMEOUT seconds] [LABELS label...] [ARGS arg...])
#   A GoogleTest program in build/bin/tests and one ctest entry; TIMEOUT is OMPL_TEST_TIMEOUT if not given. Label `long` keeps it out of `make check`.
# ompl_add_script_test(NAME name COMMAND program arg... [TIMEOUT seconds] [LABELS label...])
#   Any program; exit code 77 is an honest skip, which prints its reason.
# ompl_add_pytest(NAME name FILE file [TIMEOUT seconds] [LABELS label...] [ENVIRONMENT NAME=VALUE...])
#   A pytest file, by the Python that has the tools' libraries. Its tests marked `long` are run as NAME_long, long, or with
#   the others where OMPL_TEST_LONG is 1.
# ompl_add_pytest_of_mpis(NAME name FILE file MPI mpi... [ENVIRONMENT NAME=VALUE...])
#   One whose cases are the same for each MPI: with the given ones; as NAME_all, long, with every MPI.
# Tests start in the order of their COST, the longest first: the seconds of costs.txt (scripts/results.py writes it), or 1.
include_guard()
find_package(GTest REQUIRED)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/costs.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/tests/costs.txt OMPL_TEST_COSTS)

# Seconds until ctest ends a test, and until a launcher ends a job within one. They only end what hangs: no result
# depends on them, and on two cores beside eight busy loops every test ends long before.
set(OMPL_TEST_TIMEOUT 600)
set(OMPL_TEST_LONG_TIMEOUT 1800)
set(OMPL_TEST_JOB_TIMEOUT 240)

# The first tests of a newcomer (CONTRIBUTING.md), label `smoke`: without root, network or MPI, in less than two minutes.
# Target `smoke` builds what they need.
set(OMPL_SMOKE_TESTS
  style_tree style_tree_self_test style_links style_links_self_test style_check_summary
  allocation_test bootstrap_pmi1_test bootstrap_test bootstrap_wire_test check_test cores_test hierarchy_test mapping_test omplrun_test
  pulse_test secret_test settings_test tuner_table_test whole_file_test
  conformance_self conformance_shm mock_failure_test mock_test api_errors_test
  omplrun_cleanup omplrun_exit omplrun_input omplrun_options omplrun_output omplrun_signals ompl_info
  bindings_cpp_shm bindings_cpp_ext_shm halo_job_1 halo_job_2 halo_job_4
  example_heat_four_omplrun example_heat_halo_four_omplrun example_pingpong_omplrun example_threads_omplrun)

# Labels of what one kind of build has in its quick set and the others in the long one.
set(in_long_set LABELS long)
if(OMPL_SANITIZE)
  set(quick_if_release ${in_long_set})
else()
  set(quick_if_sanitized ${in_long_set})
endif()

function(ompl_add_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS;ARGS" ${ARGN})
  add_executable(${T_NAME} ${T_SOURCES})
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS} omnipgas_core GTest::gtest GTest::gtest_main)
  ompl_add_script_test(NAME ${T_NAME} COMMAND ${T_NAME} ${T_ARGS} TIMEOUT "${T_TIMEOUT}" LABELS ${T_LABELS})
endfunction()

function(ompl_add_script_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT ${OMPL_TEST_TIMEOUT})
  endif()
  if(T_NAME IN_LIST OMPL_SMOKE_TESTS)
    list(APPEND T_LABELS smoke)
  endif()
  set(cost 1)
  set(costs ${OMPL_TEST_COSTS})
  list(FILTER costs INCLUDE REGEX "^${T_NAME} ")
  if(costs)
    string(REPLACE "${T_NAME} " "" cost "${costs}")
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_COMMAND})
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${T_LABELS}" COST ${cost})
  if(OMPL_SANITIZE)
    # The libraries of GCC 12 take what stands before a thread-local block of a dlopened library for the block's header
    # when the block begins 16 bytes past a page. Under ThreadSanitizer the process ends if that asks for too much, the
    # search for leaks follows it anywhere.
    set(modest set:intercept_tls_get_addr=0)
    set_tests_properties(${T_NAME} PROPERTIES ENVIRONMENT_MODIFICATION
      "ASAN_OPTIONS=${modest};TSAN_OPTIONS=${modest}")
  endif()
endfunction()

function(ompl_add_pytest_of_mpis)
  cmake_parse_arguments(T "" "NAME;FILE" "MPI;ENVIRONMENT" ${ARGN})
  string(REPLACE ";" "," mpis "${T_MPI}")
  ompl_add_pytest(NAME ${T_NAME} FILE ${T_FILE} ENVIRONMENT ${T_ENVIRONMENT} OMPL_TEST_MPIS=${mpis} OMPL_TEST_LONG=0)
  ompl_add_pytest(NAME ${T_NAME}_all FILE ${T_FILE} TIMEOUT ${OMPL_TEST_LONG_TIMEOUT} LABELS long ENVIRONMENT ${T_ENVIRONMENT} OMPL_TEST_LONG=1)
endfunction()

function(ompl_add_pytest)
  cmake_parse_arguments(T "" "NAME;FILE;TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
  ompl_add_script_test(NAME ${T_NAME} TIMEOUT "${T_TIMEOUT}" LABELS ${T_LABELS} COMMAND
    ${CMAKE_COMMAND} -E env OMNI_BUILD_DIR=${CMAKE_BINARY_DIR} ${T_ENVIRONMENT}
    sh ${PROJECT_SOURCE_DIR}/instruments/tests/pytest_or_skip.sh ${OMPL_PYTHON} ${T_FILE})
  file(STRINGS ${T_FILE} marked REGEX "mark\\.long")
  if(marked AND NOT T_ENVIRONMENT MATCHES "OMPL_TEST_LONG")
    ompl_add_pytest(NAME ${T_NAME}_long FILE ${T_FILE} TIMEOUT ${OMPL_TEST_LONG_TIMEOUT} LABELS long ENVIRONMENT ${T_ENVIRONMENT} OMPL_TEST_LONG=only)
  endif()
endfunction()
