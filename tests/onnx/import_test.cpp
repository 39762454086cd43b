// Graphs as networks: order, sharing, broadcasting, folding, graphs that are none.
#include "models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::test
{
namespace
{

using nvinfer1::LayerType;
using testing::HasSubstr;

std::vector<LayerType> layersOf(Reading const& reading)
{
    std::vector<LayerType> types;
    for (int32_t i = 0; i < reading.network->getNbLayers(); ++i)
    {
        types.push_back(reading.network->getLayer(i)->getType());
    }
    return types;
}

std::vector<int64_t> outputShape(Reading const& reading, int32_t i = 0)
{
    nvinfer1::Dims const dims = reading.network->getOutput(i)->getDimensions();
    return {dims.d, dims.d + std::max(dims.nbDims, 0)};
}

TEST(OnnxImport, mixedModelBecomesANetwork)
{
    Reading reading;
    ASSERT_TRUE(reading.parse(mixedModel())) << reading.errors();
    EXPECT_EQ(outputShape(reading).at(1), 5); // Columns 0 to 4 of ten.
}

TEST(OnnxImport, nodesMayStandInAnyOrder)
{
    TinyModel model;
    model.input("x", {2, 3}).output("y");
    model.node("Tanh", {"a"}, {"y"});
    model.node("Relu", {"x"}, {"a"});
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    EXPECT_THAT(outputShape(reading), testing::ElementsAre(2, 3));
}

TEST(OnnxImport, aCycleIsNamed)
{
    TinyModel model;
    model.input("x", {2, 3}).output("y");
    model.node("Add", {"x", "b"}, {"a"});
    model.node("Relu", {"a"}, {"b"});
    model.node("Relu", {"x"}, {"y"});
    Reading reading;
    EXPECT_FALSE(reading.parse(model));
    EXPECT_THAT(reading.errors(), HasSubstr("cycle"));
    EXPECT_THAT(reading.errors(), HasSubstr("the Add"));
}

TEST(OnnxImport, namesThatNothingMakesAreNamed)
{
    TinyModel model;
    model.input("x", {2, 3}).output("nowhere");
    model.node("Add", {"x", "ghost"}, {"a"});
    Reading reading;
    EXPECT_FALSE(reading.parse(model));
    EXPECT_THAT(reading.errors(), HasSubstr("'ghost'"));
    EXPECT_THAT(reading.errors(), HasSubstr("'nowhere'"));
}

TEST(OnnxImport, identitiesOfWeightsAreWeights)
{
    TinyModel model;
    model.input("x", {1, 2, 4, 4}).output("y").weights("w", {1, 2, 1, 1}, {0.5F, -1.5F}).weights("b", {1}, {2.5F});
    model.node("Identity", {"w"}, {"w2"});
    model.node("Identity", {"b"}, {"b2"});
    model.node("Conv", {"x", "w2", "b2"}, {"y"});
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    ASSERT_THAT(layersOf(reading), testing::ElementsAre(LayerType::kCONVOLUTION));
    auto* const layer = static_cast<nvinfer1::IConvolutionLayer*>(reading.network->getLayer(0));
    EXPECT_EQ(layer->getKernelWeights().count, 2);
    EXPECT_EQ(static_cast<float const*>(layer->getBiasWeights().values)[0], 2.5F);
}

TEST(OnnxImport, aConstantBecomesOneLayerForAllReaders)
{
    TinyModel model;
    model.input("x", {2}).output("y").weights("w", {2}, {0.5F, 3.0F});
    model.node("Mul", {"x", "w"}, {"a"});
    model.node("Add", {"a", "w"}, {"y"});
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    EXPECT_THAT(layersOf(reading),
        testing::UnorderedElementsAre(LayerType::kCONSTANT, LayerType::kELEMENTWISE, LayerType::kELEMENTWISE));
}

TEST(OnnxImport, broadcastingPutsAxesInFront)
{
    TinyModel model;
    model.input("x", {2, 3, 4}).input("b", {3, 1}).output("y");
    model.node("Add", {"x", "b"}, {"y"});
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    EXPECT_THAT(
        layersOf(reading), testing::ElementsAre(LayerType::kCONSTANT, LayerType::kUNSQUEEZE, LayerType::kELEMENTWISE));
    EXPECT_THAT(outputShape(reading), testing::ElementsAre(2, 3, 4));
}

TEST(OnnxImport, arithmeticOnConstantsIsKnownWhereNumbersAreNeeded)
{
    TinyModel model;
    model.input("x", {2, 5}).output("y").integers("one", {1}).integers("two", {2}).integers("zeros", {0, 0});
    model.node("Mul", {"two", "two"}, {"four"});
    model.node("Sub", {"four", "one"}, {"three"});
    setInt(model.node("Concat", {"one", "three"}, {"after"}), "axis", 0);
    setInt(model.node("Concat", {"zeros", "after"}, {"pads"}), "axis", 0);
    model.node("Pad", {"x", "pads"}, {"y"});
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    EXPECT_THAT(layersOf(reading), testing::ElementsAre(LayerType::kSLICE));
    EXPECT_THAT(outputShape(reading), testing::ElementsAre(3, 8));
}

TEST(OnnxImport, slicesOfOpenExtentsKeepThemOpen)
{
    TinyModel model;
    model.input("x", {-1, 6}).output("y").integers("starts", {1, -4}).integers("ends", {INT64_MAX, -1});
    model.integers("axes", {0, 1}).integers("steps", {1, 2});
    model.node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    EXPECT_THAT(outputShape(reading), testing::ElementsAre(-1, 2));
}

TEST(OnnxImport, twoNodesThatMakeOneNameAreRefused)
{
    TinyModel model;
    model.input("x", {2}).output("y");
    model.node("Relu", {"x"}, {"y"});
    model.node("Tanh", {"x"}, {"y"});
    Reading reading;
    EXPECT_FALSE(reading.parse(model));
    EXPECT_THAT(reading.errors(), HasSubstr("two nodes make 'y'"));
}

TEST(OnnxImport, attributesOfTheWrongTypeAreRefused)
{
    TinyModel model;
    model.input("x", {2, 2}).output("y");
    setFloat(model.node("Softmax", {"x"}, {"y"}), "axis", 1.0F);
    Reading reading;
    EXPECT_FALSE(reading.parse(model));
    EXPECT_THAT(reading.errors(), HasSubstr("attribute 'axis' is of type FLOAT where INT is expected"));
}

TEST(OnnxImport, aKernelThatIsATensorIsThereBeforeAnybodyAsksForShapes)
{
    TinyModel model;
    model.input("x", {1, 2, 4, 4}).output("y").weights("scale", {}, {0.5F});
    ::onnx::TensorProto& kernel = *model.proto.mutable_graph()->add_initializer();
    kernel.set_name("kernel");
    kernel.set_data_type(::onnx::TensorProto::INT8);
    for (int64_t const extent : {3, 2, 1, 1})
    {
        kernel.add_dims(extent);
    }
    kernel.set_raw_data(std::string("\x01\x02\x03\x04\x05\x06", 6));
    model.node("DequantizeLinear", {"kernel", "scale"}, {"w"});
    model.node("Conv", {"x", "w"}, {"y"});
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    EXPECT_TRUE(reading.logger.messages.empty()) << reading.logger.messages.front();
}

} // namespace
} // namespace tenon::test
