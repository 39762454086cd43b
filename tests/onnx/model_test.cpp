// Parts of the importer below the network: the walk over the encoding, elements of tensors, constants.
#include "models.h"
#include "support/temp_folder.h"

#include "failure.h"
#include "model.h"
#include "wire.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::test
{
namespace
{

using ::onnx::TensorProto;
using tenon::onnx::Constant;
using tenon::onnx::Failure;
using tenon::onnx::integersOf;
using tenon::onnx::Model;
using tenon::onnx::numbersOf;

TEST(OnnxWire, bigWeightsStayWhereTheyLie)
{
    std::string const bytes = mixedModel().bytes();
    auto const slim = tenon::onnx::takeOutWeights(bytes);
    ASSERT_TRUE(slim.has_value());
    ASSERT_EQ(slim->rawData.size(), 7U);
    ASSERT_TRUE(slim->rawData[0].has_value());
    EXPECT_FALSE(slim->rawData[1].has_value()) << "64 bytes are no big weights";
    EXPECT_EQ(slim->rawData[0]->size(), 432U * 4);
    EXPECT_GE(slim->rawData[0]->data(), bytes.data());
    EXPECT_LT(slim->rawData[0]->data(), bytes.data() + bytes.size());
    EXPECT_LT(slim->bytes.size(), bytes.size() - (432 + 640) * 4 + 64);

    ::onnx::ModelProto whole;
    ::onnx::ModelProto thin;
    ASSERT_TRUE(whole.ParseFromString(bytes));
    ASSERT_TRUE(thin.ParseFromString(slim->bytes));
    EXPECT_EQ(whole.graph().initializer(0).raw_data(), std::string(slim->rawData[0]->data(), slim->rawData[0]->size()));
    whole.mutable_graph()->mutable_initializer(0)->clear_raw_data();
    whole.mutable_graph()->mutable_initializer(2)->clear_raw_data();
    EXPECT_EQ(whole.SerializeAsString(), thin.SerializeAsString());
}

TEST(OnnxWire, aTruncatedMessageIsNoMessage)
{
    std::string const bytes = mixedModel().bytes();
    for (size_t const size : {bytes.size() - 1, bytes.size() / 2})
    {
        EXPECT_FALSE(tenon::onnx::takeOutWeights({bytes.data(), size}).has_value());
    }
    EXPECT_TRUE(tenon::onnx::takeOutWeights({}).has_value());
}

class OnnxTensors : public testing::Test
{
  protected:
    Model model{[this](std::string const& text) { warnings.push_back(text); }, true};
    std::vector<std::string> warnings;
};

TEST_F(OnnxTensors, elementsOfEveryWayToStoreThem)
{
    TensorProto half;
    half.set_data_type(TensorProto::FLOAT16);
    half.add_dims(3);
    for (int32_t const bits : {0x3C00, 0xC100, 0x0001}) // 1, −2.5, the smallest.
    {
        half.add_int32_data(bits);
    }
    EXPECT_THAT(numbersOf(model.tensor(half)), testing::ElementsAre(1.0, -2.5, std::ldexp(1.0, -24)));

    TensorProto raw;
    raw.set_data_type(TensorProto::INT64);
    raw.add_dims(2);
    int64_t const integers[]{INT64_MAX, -3};
    raw.set_raw_data(integers, sizeof(integers));
    EXPECT_THAT(integersOf(model.tensor(raw)), testing::ElementsAre(INT64_MAX, -3));

    TensorProto flags;
    flags.set_data_type(TensorProto::BOOL);
    flags.add_dims(2);
    flags.add_int32_data(1);
    flags.add_int32_data(0);
    EXPECT_THAT(integersOf(model.tensor(flags)), testing::ElementsAre(1, 0));

    TensorProto wide;
    wide.set_data_type(TensorProto::DOUBLE);
    wide.add_double_data(-0.75);
    EXPECT_THAT(numbersOf(model.tensor(wide)), testing::ElementsAre(-0.75));
    EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(OnnxTensors, sizesThatDoNotFitAreRefused)
{
    TensorProto tensor;
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(3);
    tensor.add_float_data(1.0F);
    EXPECT_THROW(model.tensor(tensor), Failure);
    tensor.set_raw_data("12345678901"); // One byte short.
    EXPECT_THROW(model.tensor(tensor), Failure);
    tensor.set_dims(0, -1);
    EXPECT_THROW(model.tensor(tensor), Failure);
    tensor.set_dims(0, INT64_MAX);
    tensor.add_dims(INT64_MAX);
    EXPECT_THROW(model.tensor(tensor), Failure);
    tensor.clear_dims();
    tensor.mutable_dims()->Resize(9, 1);
    EXPECT_THROW(model.tensor(tensor), Failure);
    tensor.set_data_type(TensorProto::STRING);
    EXPECT_THROW(model.tensor(tensor), Failure);
    tensor.set_data_type(12345);
    EXPECT_THROW(model.tensor(tensor), Failure);
}

TEST_F(OnnxTensors, addressesFitTheElementsAlsoWhenTheFilesDoNot)
{
    std::string const bytes = mixedModel().bytes();
    TempFolder const folder;
    std::string const path = folder.file("aligned.onnx");
    for (size_t pad = 0; pad < 8; ++pad) // Shifts everything behind the name of the graph.
    {
        TinyModel shifted = mixedModel();
        shifted.proto.mutable_graph()->set_name(std::string(pad + 1, 'n'));
        std::ofstream{path, std::ios::binary} << shifted.bytes();
        Model fresh{[](std::string const&) {}, true};
        fresh.loadFile(path);
        Constant const kernel = fresh.initializer(0);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(kernel.data) % sizeof(float), 0U);
        EXPECT_EQ(std::memcmp(kernel.data, shifted.proto.graph().initializer(0).raw_data().data(), 432 * 4), 0);
    }
}

} // namespace
} // namespace tenon::test
