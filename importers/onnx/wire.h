// Takes the big weights out of a serialized model before protobuf reads it, so that they are never copied.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tenon::onnx
{

struct SlimModel
{
    std::string bytes; //!< The model without the raw data of its big initializers.
    //! Per initializer of the main graph, in order: its raw data in the original, when it was taken out.
    std::vector<std::optional<std::span<char const>>> rawData;
};

//! Nothing when the bytes are no well-formed message: then protobuf may say what it makes of them.
std::optional<SlimModel> takeOutWeights(std::span<char const> model);

} // namespace tenon::onnx
