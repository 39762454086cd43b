// Calls of Tenon's beside the TensorRT API, for better messages; where the network is another library's there are none.
#pragma once

#include <string>

namespace tenon::onnx
{

//! Inside IErrorRecorder::reportError(): the description in full; empty when nobody knows more than it says.
std::string reportedInFull();

//! What a callback of a plugin explained last in this thread, once; empty: nothing.
std::string takeExplanation();

} // namespace tenon::onnx
