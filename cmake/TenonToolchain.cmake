# Compiler flags that hold everywhere: the language, the warnings, where outputs go, ccache and sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/archive)

# How many sources a batch has where they are compiled in batches (CMAKE_UNITY_BUILD, as `make` does).
if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
    set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
endif()

# ccache learns from the compiler which headers a file has read, rather than preprocess each file once more itself. It
# takes part in precompiled headers where macros and times that it cannot see in them may be left aside.
find_program(TENON_CCACHE ccache)
if(TENON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${TENON_CCACHE})
endif()

# The baseline is plain x86-64 so that start-up code can check the machine before any wider instruction runs;
# kernels are compiled once per instruction set in files of their own (see TenonTargets: tenon_isa_sources).
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
# GCC looks for what it can free from 128 MiB on; a batch uses most of it until its end, and each search takes its time.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(--param=ggc-min-heapsize=524288)
endif()
if(TENON_SANITIZE)
    # vptr looks for type information that hidden classes do not share across libraries.
    add_compile_options(-fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all -fno-sanitize=vptr
        -fno-omit-frame-pointer -g1)
    set(CMAKE_CXX_FLAGS_RELEASE "-O1")
    add_link_options(-fsanitize=${TENON_SANITIZE})
    # An interpreter that loads sanitized libraries must have the run-time library first, and libstdc++ beside it, whose
    # exceptions it watches. What the interpreter itself does not free is not ours to count.
    if(TENON_SANITIZE MATCHES address)
        foreach(library libasan.so libstdc++.so)
            execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE path
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
            file(REAL_PATH ${path} path)
            list(APPEND TENON_PRELOADED ${path})
        endforeach()
        list(JOIN TENON_PRELOADED ":" TENON_PRELOADED)
        set(TENON_PYTHON_ENVIRONMENT ${CMAKE_COMMAND} -E env LD_PRELOAD=${TENON_PRELOADED} ASAN_OPTIONS=detect_leaks=0)
        file(WRITE ${CMAKE_BINARY_DIR}/preloaded ${TENON_PRELOADED})
    endif()
endif()
