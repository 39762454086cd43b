// Specs: the forms that values of flags have. What is not of its form throws std::invalid_argument with flag and piece.
#pragma once

#include "NvInfer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::trtexec
{

int64_t integerOf(std::string const& flag, std::string const& text);
double numberOf(std::string const& flag, std::string const& text);

//! Parts between separators; those within single quotes separate nothing. An empty text has none.
std::vector<std::string> splitAt(std::string const& text, char separator);

//! name:value, pieces joined by commas, in their order. The last colon ends the name, unless quotes do.
using Named = std::vector<std::pair<std::string, std::string>>;
Named namedOf(std::string const& flag, std::string const& text);

//! 1x3x224x224; empty or "scalar": no extents. For a shape tensor it stands for its values.
using Extents = std::vector<int64_t>;
using NamedExtents = std::vector<std::pair<std::string, Extents>>;
NamedExtents shapesOf(std::string const& flag, std::string const& text);

//! Bytes of "20", "20M", "0.5GiB"; `unit` is meant where none stands: B, K, M or G.
double bytesOf(std::string const& flag, std::string const& text, char unit);

nvinfer1::DataType typeOf(std::string const& flag, std::string const& text);
//! fp32, fp16 and so on.
std::string typeText(nvinfer1::DataType type);

struct IoFormat
{
    nvinfer1::DataType type{nvinfer1::DataType::kFLOAT};
    nvinfer1::TensorFormats formats{0};
};
std::vector<IoFormat> formatsOf(std::string const& flag, std::string const& text);

//! Names with + or - before them.
std::vector<std::pair<std::string, bool>> switchesOf(std::string const& flag, std::string const& text);

//! Whether `name` is `pattern`, in which a * stands for any letters.
bool fits(std::string_view pattern, std::string_view name);

} // namespace tenon::trtexec
