// Given inputs: name=file.npy on the command line, compared with the engine before a run.
#pragma once

#include "npy.h"

#include <map>
#include <string>
#include <vector>

namespace tenon::cli
{

using GivenInputs = std::map<std::string, NpyArray>;

//! Reads the files; throws std::invalid_argument for a text that is not name=file.npy, and for a name given twice.
GivenInputs readInputs(std::vector<std::string> const& texts);
//! Each is an input of the engine, of its element type. A seed that was asked for needs an input to fill: throws
//! std::invalid_argument where all are given.
void checkInputs(GivenInputs const& inputs, nvinfer1::ICudaEngine const& engine, bool hasSeed);

} // namespace tenon::cli
