// Calls of Tenon's beside the TensorRT API, for better messages and layers of our own; where the network is another
// library's there are none.
#pragma once

#include "NvInfer.h"
#include "tenon/network.h"

#include <span>
#include <string>

namespace tenon::onnx
{

//! Inside IErrorRecorder::reportError(): the description in full; empty when nobody knows more than it says.
std::string reportedInFull();

//! What a callback of a plugin explained last in this thread, once; empty: nothing.
std::string takeExplanation();

//! Why the registry has no creator of these names, and what comes closest; empty when nobody knows.
std::string missingPlugin(nvinfer1::IPluginRegistry const& registry, std::string const& type,
    std::string const& version, std::string const& nameSpace);

//! A message for people to see: nothing in it steers a terminal, and nothing is endless. As it is when nobody knows
//! how.
std::string shownMessage(std::string const& message);

//! What the bytes of a file are that is no ONNX model, and what to do about it; empty when nobody knows.
std::string kindOfFile(std::span<char const> bytes);

//! A layer that the TensorRT API has not; null when there is no such call, or it refuses.
nvinfer1::ILayer* addRecurrentNetwork(nvinfer1::INetworkDefinition& network, TenonRecurrentNetwork const& recurrence);
//! Whether there is.
bool hasRecurrentNetworks();

//! The determinants of the matrices in the last two axes; null when there is no such call, or it refuses.
nvinfer1::ILayer* addDeterminant(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& x);
//! Rows in lexicographic order, and where unlike ones begin in it; null when there is no such call, or it refuses.
nvinfer1::ILayer* addRowOrder(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& x);

//! What is left of a's elements, divided by b's, which has its shape; null when there is no such call, or it refuses.
nvinfer1::ILayer* addRemainder(
    nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& a, nvinfer1::ITensor& b, bool isFloored);
//! The bits of elements as another type has them; null when there is no such call, or it refuses.
nvinfer1::ILayer* addBitCast(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& x, nvinfer1::DataType toType);

//! Scale and zero point, as uint8 and as float, by which uint8 numbers reach over all elements; null when there is no
//! such call, or it refuses.
nvinfer1::ILayer* addByteScale(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& x);
//! Whether there is.
bool hasByteScales();

//! Gives a Quantize or Dequantize layer of int8 numbers a zero point; false when there is no such call, or it refuses.
bool setZeroPoint(nvinfer1::ILayer& layer, int32_t zeroPoint);
//! Whether there is.
bool hasZeroPoints();

//! Whether the network takes weights at addresses that are no multiple of their elements' size; false when there is no
//! such call, as in older releases, or the network is another library's.
bool takesWeightsAnywhere(nvinfer1::INetworkDefinition const& network);

//! Whether the network takes doubles (TENON_FLOAT64), and nobody asked for float in their place.
bool keepsDouble();
//! What a user is told of doubles, once.
char const* noteOfDouble();

} // namespace tenon::onnx
