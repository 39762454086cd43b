// Outputs: what the last query made, printed and written.
#pragma once

#include "lane.h"
#include "log.h"
#include "options.h"

#include <string>

namespace tenon::trtexec
{

//! As the reports' options say; throws std::runtime_error where a file cannot be written.
void writeOutputs(Lane& lane, nvinfer1::ICudaEngine const& engine, ReportOptions const& report, Log const& log);
//! A name as part of a file's name.
std::string fileNameOf(std::string name);

} // namespace tenon::trtexec
