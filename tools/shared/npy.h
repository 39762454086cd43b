// Npy: NumPy's .npy files, version 1, row-major.
#pragma once

#include "NvInfer.h"

#include <string>
#include <vector>

namespace tenon::cli
{

struct NpyArray
{
    nvinfer1::DataType type{nvinfer1::DataType::kFLOAT};
    nvinfer1::Dims dims{};
    std::vector<char> data;
};

//! The words of the public enumeration, for messages: "FLOAT".
char const* typeName(nvinfer1::DataType type);
//! NumPy itself lacks bfloat16: its elements are raw pairs of bytes ("V2"), as the package ml_dtypes saves them.
//! Throws std::runtime_error that names the file and what is wrong with it.
NpyArray readNpy(std::string const& path);
void writeNpy(std::string const& path, nvinfer1::DataType type, nvinfer1::Dims const& dims, void const* data);

} // namespace tenon::cli
