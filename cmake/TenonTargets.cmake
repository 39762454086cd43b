# Functions that declare the project's targets, so that a folder's own list is one line.

# What sanitized tests spend their time in; all else is compiled without optimisation there, which takes half as long.
set(TENON_BUSY_MODULES base ir device plan backend runtime ref cpu)

# One object library per folder of src: tenon_<name> from all its .cpp files, subfolders given by name. LEVEL -O1 is for
# what nothing runs long in: it saves the compiler a quarter to a third of its time.
function(tenon_module name)
    cmake_parse_arguments(ARG "" "LEVEL" "FOLDERS;LINK;EXCLUDE" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS *.cpp)
    foreach(folder IN LISTS ARG_FOLDERS)
        file(GLOB more CONFIGURE_DEPENDS ${folder}/*.cpp)
        list(APPEND sources ${more})
    endforeach()
    foreach(pattern IN LISTS ARG_EXCLUDE)
        list(FILTER sources EXCLUDE REGEX ${pattern})
    endforeach()
    if(NOT sources)
        return()
    endif()
    add_library(tenon_${name} OBJECT ${sources})
    target_include_directories(tenon_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
        ${PROJECT_BINARY_DIR}/generated)
    target_link_libraries(tenon_${name} PUBLIC tenon_fmt Threads::Threads ${ARG_LINK})
    if(TENON_SANITIZE AND NOT name IN_LIST TENON_BUSY_MODULES)
        target_compile_options(tenon_${name} PRIVATE -O0)
    elseif(ARG_LEVEL)
        target_compile_options(tenon_${name} PRIVATE ${ARG_LEVEL})
    endif()
    set_property(GLOBAL APPEND PROPERTY TENON_MODULES tenon_${name})
endfunction()

# One file that stands for the kernels of a set, or in their place; who takes it into a library says so.
function(tenon_kernel_set name source)
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
        ${PROJECT_BINARY_DIR}/generated)
    target_link_libraries(${name} PRIVATE tenon_fmt)
endfunction()

# The same file compiled once per instruction set: NAME.isa.cpp becomes two objects, each with TENON_ISA_NAMESPACE set
# to avx2 or avx512; a table picks one at run time. More arguments: headers that all of them include.
function(tenon_isa_sources module)
    file(GLOB sources CONFIGURE_DEPENDS *.isa.cpp isa/*.isa.cpp)
    if(NOT sources)
        return()
    endif()
    set(level -O3)
    if(TENON_SANITIZE)
        set(level -O1)
    endif()
    set(flags_avx2 -mavx2 -mfma -mf16c)
    set(flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -mprefer-vector-width=512)
    set(isas avx2)
    if(TENON_AVX512)
        list(APPEND isas avx512)
    endif()
    foreach(isa IN LISTS isas)
        add_library(${module}_${isa} OBJECT ${sources})
        target_include_directories(${module}_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
            ${PROJECT_BINARY_DIR}/generated)
        target_link_libraries(${module}_${isa} PRIVATE tenon_fmt)
        target_compile_options(${module}_${isa} PRIVATE ${level} ${flags_${isa}} -fno-math-errno -fno-trapping-math
            -Wno-maybe-uninitialized -Wno-uninitialized) # GCC 12's own AVX-512 headers raise these.
        if(TENON_SANITIZE AND NOT isa IN_LIST TENON_SANITIZED_ISAS)
            target_compile_options(${module}_${isa} PRIVATE -fno-sanitize=all)
        endif()
        target_compile_definitions(${module}_${isa} PRIVATE TENON_ISA_NAMESPACE=${isa})
        set_target_properties(${module}_${isa} PROPERTIES UNITY_BUILD OFF) # Few and large.
        if(CMAKE_UNITY_BUILD) # What is compiled in batches reads its headers once; so do these.
            target_precompile_headers(${module}_${isa} PRIVATE ${ARGN})
        endif()
        set_property(GLOBAL APPEND PROPERTY TENON_MODULES ${module}_${isa})
    endforeach()
endfunction()

# What all tests are compiled with.
function(tenon_test_options target)
    target_compile_options(${target} PRIVATE -O0) # Compiled more often than they run long.
    string(REGEX REPLACE "(^|,)(address|thread)" "" others "${TENON_SANITIZE}")
    string(REGEX REPLACE "^," "" others "${others}")
    if(others) # The engine's arithmetic is what is checked; half of the time of compiling tests goes into theirs.
        target_compile_options(${target} PRIVATE -fno-sanitize=${others})
    endif()
endfunction()

# One test program per area: every .cpp of the folder, linked with the whole engine. CTest runs each test in a process of
# its own, or with WHOLE all in one: for many small ones, each of which would read the same files first.
function(tenon_test area)
    cmake_parse_arguments(ARG "WHOLE" "" "LINK" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS *.cpp)
    if(NOT sources)
        return()
    endif()
    foreach(source IN LISTS sources) # One that begins with a macro wants other headers than the rest of a batch.
        file(STRINGS ${source} beginning LIMIT_COUNT 2)
        if(beginning MATCHES ";#define")
            set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                SKIP_PRECOMPILE_HEADERS ON)
        endif()
    endforeach()
    add_executable(test_${area} ${sources} ${PROJECT_SOURCE_DIR}/tests/support/own_cache.cpp)
    target_compile_definitions(test_${area} PRIVATE TENON_TEST_CACHE="${PROJECT_BINARY_DIR}/test_cache")
    target_include_directories(test_${area} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
        ${PROJECT_SOURCE_DIR}/tests ${PROJECT_BINARY_DIR}/generated)
    target_link_libraries(test_${area} PRIVATE ${ARG_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
    tenon_test_options(test_${area})
    if(CMAKE_UNITY_BUILD)
        target_precompile_headers(test_${area} REUSE_FROM tenon_test_headers)
    endif()
    if(CMAKE_UNITY_BUILD) # A fixture in an unnamed namespace is in a file of its own, which the batch includes.
        target_compile_options(test_${area} PRIVATE -Wno-subobject-linkage)
    endif()
    if(ARG_WHOLE)
        add_test(NAME ${area} COMMAND test_${area} --gtest_brief=1)
        set_tests_properties(${area} PROPERTIES TIMEOUT 1500)
    else()
        gtest_discover_tests(test_${area} DISCOVERY_TIMEOUT 300 PROPERTIES TIMEOUT 1500)
    endif()
endfunction()

# The same tests on the guarded device: memory that the host cannot touch, work that is done later. Those that are about
# host memory or the calling thread themselves are named in EXCEPT, with the reason beside them.
function(tenon_test_guarded area)
    cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
    set_target_properties(test_${area} PROPERTIES ENABLE_EXPORTS ON)
    string(JOIN ":" except ${ARG_EXCEPT})
    add_test(NAME guarded.${area} COMMAND test_${area} --gtest_brief=1 "--gtest_filter=-${except}")
    set_tests_properties(guarded.${area} PROPERTIES TIMEOUT 1500
        ENVIRONMENT "TENON_TEST_DEVICE=guarded;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/guarded")
endfunction()

# Tests on the fake CUDA driver: FILTER names those that the fake can run in a short time, ENVIRONMENT the device.
function(tenon_test_fake_cuda area)
    cmake_parse_arguments(ARG "" "FILTER" "ENVIRONMENT" ${ARGN})
    add_test(NAME fake_cuda.${area} COMMAND test_${area} --gtest_brief=1 --gtest_filter=${ARG_FILTER})
    set(environment LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/fake_cuda
        TENON_CACHE_DIR=${PROJECT_BINARY_DIR}/test_cache ${ARG_ENVIRONMENT})
    set_tests_properties(fake_cuda.${area} PROPERTIES TIMEOUT 3600 ENVIRONMENT "${environment}")
    add_dependencies(test_${area} fake_cuda fake_nvrtc fake_cublasLt fake_cudnn)
endfunction()

# Writes generated/NAME_table.inc: one line TENON_TABLE_ENTRY(X) for each match of `pattern` in `files`, and
# generated/NAME_includes.inc with an #include of each header that has one; sorted, so that builds repeat.
function(tenon_generate_table name files pattern)
    set(entries "")
    set(includes "")
    list(SORT files)
    foreach(file IN LISTS files)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
        file(STRINGS ${file} lines REGEX "^${pattern}")
        foreach(line IN LISTS lines)
            if(line MATCHES "${pattern}")
                string(APPEND entries "TENON_TABLE_ENTRY(${CMAKE_MATCH_1})\n")
            endif()
        endforeach()
        if(lines AND file MATCHES "\\.h$")
            file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR}/src ${file})
            string(APPEND includes "#include \"${relative}\"\n")
        endif()
    endforeach()
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}_table.inc CONTENT "${entries}" @ONLY)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}_includes.inc CONTENT "${includes}" @ONLY)
endfunction()
