# Which kernels a build has (docs/decisions/0158-a-demo-of-what-this-machine-runs.md): TENON_AVX512 and TENON_GPU. What
# is left out has a file in its place that says so. An installation has all: it completes the build first.
set(TENON_AVX512 ON)
set(TENON_GPU ON)
if(NOT TENON_WHOLE)
    file(STRINGS /proc/cpuinfo flags LIMIT_COUNT 1 REGEX "^flags.* avx512bw( .*)? avx512vl( |$)")
    if(NOT flags)
        set(TENON_AVX512 OFF)
    endif()
    if(NOT EXISTS /dev/nvidiactl)
        set(TENON_GPU OFF)
    endif()
    install(CODE "
        message(STATUS \"Completing the build: make demo has left out kernels for other machines\")
        execute_process(COMMAND \"${CMAKE_COMMAND}\" -S \"${PROJECT_SOURCE_DIR}\" -B \"${PROJECT_BINARY_DIR}\" -DTENON_WHOLE=ON
            OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\" --target tenon_package
            COMMAND_ERROR_IS_FATAL ANY)" COMPONENT tenon)
endif()
