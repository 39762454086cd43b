// Nvrtc: the compiler of CUDA C++ that comes as a library, found at run time.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <string>
#include <vector>

namespace tenon::cuda
{

// name, parameters
#define TENON_NVRTC(FUNCTION)                                                                                          \
    FUNCTION(nvrtcVersion, (int* major, int* minor))                                                                   \
    FUNCTION(nvrtcCreateProgram,                                                                                       \
        (void** program, char const* source, char const* name, int headers, char const* const* contents,               \
            char const* const* names))                                                                                 \
    FUNCTION(nvrtcDestroyProgram, (void** program))                                                                    \
    FUNCTION(nvrtcCompileProgram, (void* program, int options, char const* const* list))                               \
    FUNCTION(nvrtcGetProgramLogSize, (void* program, size_t* size))                                                    \
    FUNCTION(nvrtcGetProgramLog, (void* program, char* log))                                                           \
    FUNCTION(nvrtcGetCUBINSize, (void* program, size_t* size))                                                         \
    FUNCTION(nvrtcGetCUBIN, (void* program, char* image))                                                              \
    FUNCTION(nvrtcGetPTXSize, (void* program, size_t* size))                                                           \
    FUNCTION(nvrtcGetPTX, (void* program, char* image))                                                                \
    FUNCTION(nvrtcGetNumSupportedArchs, (int* count))                                                                  \
    FUNCTION(nvrtcGetSupportedArchs, (int* archs))

struct NvrtcApi
{
#define TENON_NVRTC_MEMBER(name, parameters) int(*name) parameters{nullptr};
    TENON_NVRTC(TENON_NVRTC_MEMBER)
#undef TENON_NVRTC_MEMBER
    int major{0};
    int minor{0};
    std::vector<int> architectures; //!< 75, 80, …
};

//! The first that the machine has; an error that says where it was looked for.
Result<NvrtcApi const*> nvrtc();
Result<NvrtcApi> openNvrtc(std::vector<std::string> const& libraries);

//! What is compiled for a GPU of this architecture: the code itself where the compiler knows it ("sm_89"), else text
//! that the driver finishes ("compute_90").
std::string goalFor(NvrtcApi const& api, int architecture);
//! Code or text of a goal; the error has the compiler's own words.
Result<Bytes> compile(NvrtcApi const& api, std::string const& source, std::string const& goal);

} // namespace tenon::cuda
