//! \file
//! All of Tenon's own calls, with a thin C++ layer over the C functions.
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include "tenon/base.h"
#include "tenon/bindings.h"
#include "tenon/build.h"
#include "tenon/device.h"
#include "tenon/engine_memory.h"
#include "tenon/host.h"
#include "tenon/inspect.h"
#include "tenon/load.h"
#include "tenon/network.h"
#include "tenon/profile.h"
#include "tenon/run.h"
#include "tenon/verify.h"

#ifdef __cplusplus

#include <string>

namespace nvinfer1
{
class ICudaEngine;
class IRuntime;
} // namespace nvinfer1

namespace tenon
{

//! A text of the library as a string, freed.
inline std::string take(TenonText text)
{
    std::string copy = text == nullptr ? std::string{} : std::string{text};
    tenonFree(text);
    return copy;
}

//! Loads a plan from a file, which may be changed or go afterwards; null after a report to the runtime's logger.
inline nvinfer1::ICudaEngine* load(nvinfer1::IRuntime& runtime, char const* path) noexcept
{
    return static_cast<nvinfer1::ICudaEngine*>(tenonDeserializeFile(&runtime, path));
}

} // namespace tenon

#endif // __cplusplus

#endif // TENON_TENON_H
