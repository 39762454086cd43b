// Models with bytes and messages changed at random: the parser says what is wrong, or reads them; it never crashes.
#include "models.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

namespace tenon::test
{
namespace
{

using Random = std::mt19937_64;

size_t below(Random& random, size_t bound)
{
    return std::uniform_int_distribution<size_t>{0, bound - 1}(random);
}

//! Bytes flipped, cut out, repeated.
std::string withNoise(std::string bytes, Random& random)
{
    for (size_t i = 0; i <= below(random, 6); ++i)
    {
        size_t const at = below(random, bytes.size());
        switch (below(random, 4))
        {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes.resize(std::max<size_t>(at, 1)); break;
        case 2: bytes.insert(at, bytes, 0, below(random, bytes.size())); break;
        default: bytes.erase(at, 1 + below(random, 8)); break;
        }
        if (bytes.empty())
        {
            bytes = "x";
        }
    }
    return bytes;
}

int64_t strangeNumber(Random& random)
{
    int64_t const numbers[]{0, 1, -1, 2, 7, 100, -100, INT32_MAX, INT64_MAX, INT64_MIN, int64_t{1} << 40};
    return numbers[below(random, std::size(numbers))];
}

//! A well-formed message that means nonsense.
void confuse(::onnx::ModelProto& model, Random& random)
{
    ::onnx::GraphProto& graph = *model.mutable_graph();
    char const* const ops[]{"Conv", "ConvTranspose", "Gemm", "Slice", "Pad", "Resize", "TopK", "Concat", "Split",
        "Gather", "Transpose", "Expand", "Tile", "LayerNormalization", "BatchNormalization", "Range", "CumSum",
        "OneHot", "Trilu", "ScatterND", "DepthToSpace", "MaxPool", "Einsum", "Where", "Reshape", "Squeeze", "Unsqueeze",
        "ReduceSum"};
    ::onnx::NodeProto& node =
        *graph.mutable_node(static_cast<int>(below(random, static_cast<size_t>(graph.node_size()))));
    ::onnx::NodeProto const& other =
        graph.node(static_cast<int>(below(random, static_cast<size_t>(graph.node_size()))));
    ::onnx::TensorProto& tensor =
        *graph.mutable_initializer(static_cast<int>(below(random, static_cast<size_t>(graph.initializer_size()))));
    switch (below(random, 9))
    {
    case 0: node.set_op_type(ops[below(random, std::size(ops))]); break;
    case 1: node.add_input(other.output_size() > 0 ? other.output(0) : "x"); break;
    case 2:
        if (node.input_size() > 0)
        {
            node.set_input(static_cast<int>(below(random, static_cast<size_t>(node.input_size()))), other.output(0));
        }
        break;
    case 3: setInt(node, "axis", strangeNumber(random)); break;
    case 4: setInts(node, "pads", {strangeNumber(random), strangeNumber(random)}); break;
    case 5:
        for (::onnx::AttributeProto& attribute : *node.mutable_attribute())
        {
            attribute.add_ints(strangeNumber(random));
            attribute.set_i(strangeNumber(random));
        }
        break;
    case 6: tensor.add_dims(strangeNumber(random)); break;
    case 7: tensor.set_data_type(static_cast<int32_t>(below(random, 24))); break;
    default:
        if (tensor.int64_data_size() > 0)
        {
            tensor.set_int64_data(0, strangeNumber(random));
        }
    }
}

void readAndCheck(std::string const& bytes)
{
    Reading reading;
    if (!reading.parse(bytes))
    {
        EXPECT_GT(reading.parser->getNbErrors(), 0);
    }
}

//! Dynamic extents from 1 to 4; false where a profile takes no such thing.
bool addProfile(Reading const& reading, nvinfer1::IBuilderConfig& config)
{
    nvinfer1::IOptimizationProfile& profile = *reading.builder->createOptimizationProfile();
    for (int32_t i = 0; i < reading.network->getNbInputs(); ++i)
    {
        nvinfer1::ITensor const& input = *reading.network->getInput(i);
        nvinfer1::Dims extents[]{input.getDimensions(), input.getDimensions(), input.getDimensions()};
        for (int32_t axis = 0; axis < extents[0].nbDims; ++axis)
        {
            for (int64_t const round : {0, 1, 2})
            {
                int64_t& extent = extents[round].d[axis];
                extent = extent < 0 ? int64_t{1} << round : extent;
            }
        }
        for (auto const selector : {nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT,
                 nvinfer1::OptProfileSelector::kMAX})
        {
            if (input.isShapeTensor() || !profile.setDimensions(input.getName(), selector, extents[int(selector)]))
            {
                return false;
            }
        }
    }
    return config.addOptimizationProfile(&profile) >= 0;
}

//! The builder makes a plan of what the parser reads, or says why not.
bool buildAndCheck(std::string const& bytes)
{
    constexpr size_t kWorkspace{size_t{64} << 20U};
    Reading reading;
    if (!reading.parse(bytes))
    {
        EXPECT_GT(reading.parser->getNbErrors(), 0);
        return false;
    }
    std::unique_ptr<nvinfer1::IBuilderConfig> const config{reading.builder->createBuilderConfig()};
    config->setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE, kWorkspace);
    if (!addProfile(reading, *config))
    {
        return false;
    }
    std::unique_ptr<nvinfer1::IHostMemory> const plan{
        reading.builder->buildSerializedNetwork(*reading.network, *config)};
    EXPECT_TRUE(plan != nullptr || !reading.logger.messages.empty());
    return plan != nullptr;
}

TEST(OnnxFuzz, changedBytesNeverCrash)
{
    Random random{20240607};
    std::string const bytes = mixedModel().bytes();
    for (int i = 0; i < 1500; ++i)
    {
        readAndCheck(withNoise(bytes, random));
    }
}

TEST(OnnxFuzz, changedMeaningNeverCrashes)
{
    Random random{77};
    for (int i = 0; i < 1500; ++i)
    {
        TinyModel model = mixedModel();
        for (size_t k = 0; k <= below(random, 4); ++k)
        {
            confuse(model.proto, random);
        }
        readAndCheck(model.bytes());
    }
}

TEST(OnnxFuzz, changedModelsThatAreReadAreBuilt)
{
    Random random{5};
    int built{0};
    for (int i = 0; i < 120; ++i)
    {
        TinyModel model = mixedModel();
        confuse(model.proto, random);
        built += buildAndCheck(model.bytes()) ? 1 : 0;
    }
    EXPECT_GT(built, 20);
}

//! What ended a process when `make fuzz` had made it.
TEST(OnnxFuzz, casesThatWereFoundAreReadOrRefused)
{
    int cases{0};
    for (auto const& entry : std::filesystem::directory_iterator{TENON_FUZZ_CASES})
    {
        std::stringstream bytes;
        bytes << std::ifstream{entry.path(), std::ios::binary}.rdbuf();
        static_cast<void>(buildAndCheck(bytes.str()));
        ++cases;
    }
    EXPECT_GT(cases, 60);
}

} // namespace
} // namespace tenon::test
