// Builder: from an ONNX model to a plan, as the options of the build say.
#pragma once

#include "calibration.h"
#include "log.h"
#include "options.h"

#include "NvInfer.h"

#include <memory>

namespace tenon::trtexec
{

//! Throws std::runtime_error after the log has why.
std::unique_ptr<nvinfer1::IHostMemory> buildPlan(Options const& options, Log& log);

//! What of the options changes the network: types and formats of its ends, types and devices of layers, debug tensors.
//! Ranges of inputs and outputs in int8 are those of the cache, where there is one and it has them. Throws
//! std::invalid_argument for what does not fit the network.
void applyToNetwork(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config, BuildOptions const& build,
    CacheCalibrator const* cache, Log const& log);
//! Adds a profile for each of the options' where inputs have extents that are known only at run time. Throws as above.
void addProfiles(nvinfer1::IBuilder& builder, nvinfer1::INetworkDefinition const& network,
    nvinfer1::IBuilderConfig& config, BuildOptions const& build, Log const& log);
//! A profile of shapes for the calibration; null where the network needs none.
nvinfer1::IOptimizationProfile* calibrationProfile(nvinfer1::IBuilder& builder,
    nvinfer1::INetworkDefinition const& network, BuildOptions const& build, Log const& log);

} // namespace tenon::trtexec
