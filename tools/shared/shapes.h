// Shapes: of inputs on the command line, and what they mean in elements and bytes.
#pragma once

#include "NvInfer.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenon::cli
{

//! Bounds of one input: name=MIN:OPT:MAX, or name=SHAPE for all three.
struct ShapeRange
{
    nvinfer1::Dims min{};
    nvinfer1::Dims opt{};
    nvinfer1::Dims max{};
};
using Shapes = std::map<std::string, ShapeRange>;

//! Parses "input=1x3x224x224:8x3x224x224:32x3x224x224,mask=1x8"; throws std::invalid_argument with the piece at fault.
Shapes parseShapes(std::vector<std::string> const& texts);
//! Throws std::invalid_argument unless each shape is that of one of these inputs.
void checkNames(Shapes const& shapes, std::vector<std::string> const& inputs);
std::string show(nvinfer1::Dims const& dims);
bool isOpen(nvinfer1::Dims const& dims);
//! None: more than can be counted.
std::optional<size_t> elementsOf(nvinfer1::Dims const& dims);
std::optional<size_t> bytesOf(nvinfer1::DataType type, nvinfer1::Dims const& dims);

} // namespace tenon::cli
