// Models that must not be read as something else than they mean: external data, surplus inputs and attributes, old
// opsets; and errors that carry the reason of the layer behind the node.
#include "models.h"
#include "support/temp_folder.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <sys/stat.h>

namespace tenon::test
{
namespace
{

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using Entries = std::vector<std::pair<std::string, std::string>>;

TinyModel externalModel(Entries const& entries)
{
    TinyModel model;
    model.input("x", {4}).output("y");
    ::onnx::TensorProto* const tensor = model.proto.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(::onnx::TensorProto::FLOAT);
    tensor->add_dims(4);
    tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
    for (auto const& [key, value] : entries)
    {
        auto* const entry = tensor->add_external_data();
        entry->set_key(key);
        entry->set_value(value);
    }
    model.node("Mul", {"x", "w"}, {"y"});
    return model;
}

//! A folder of its own with the model's file and others.
class ExternalData : public testing::Test
{
  protected:
    void SetUp() override
    {
        fs::create_directories(folder / "model" / "parts");
        std::vector<float> const numbers{0.5F, 1.5F, 2.5F, 3.5F, 4.5F};
        for (fs::path const& name : {fs::path{"outside.bin"}, fs::path{"model/inside.bin"}})
        {
            std::ofstream{folder / name, std::ios::binary}.write(
                reinterpret_cast<char const*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * 4));
        }
    }
    //! What the parser says; empty when it reads the model.
    std::string errorsOf(Entries const& entries) const
    {
        std::string const bytes = externalModel(entries).bytes();
        std::string const path = (folder / "model" / "model.onnx").string();
        Reading reading;
        bool const isRead = reading.parser->parse(bytes.data(), bytes.size(), path.c_str());
        EXPECT_EQ(isRead, reading.parser->getNbErrors() == 0);
        return reading.errors();
    }

    TempFolder const own;
    fs::path const folder = own.path();
};

TEST_F(ExternalData, W10_numbersThatAreNoneAreRefused)
{
    EXPECT_EQ(errorsOf({{"location", "inside.bin"}, {"offset", "4"}, {"length", "16"}}), "");
    for (std::string const text : {"abc", "", " 4", "4 ", "4x", "0x4", "+4", "-4", "99999999999999999999999"})
    {
        EXPECT_THAT(errorsOf({{"location", "inside.bin"}, {"offset", text}, {"length", "16"}}),
            AllOf(HasSubstr("tensor 'w'"), HasSubstr("offset '" + text + "'")));
        EXPECT_THAT(errorsOf({{"location", "inside.bin"}, {"offset", "4"}, {"length", text}}),
            AllOf(HasSubstr("tensor 'w'"), HasSubstr("length '" + text + "'")));
    }
}

TEST_F(ExternalData, W10_linksOutOfTheFolderAreRefused)
{
    fs::create_symlink(folder / "outside.bin", folder / "model" / "out.bin");
    fs::create_symlink("../outside.bin", folder / "model" / "relative.bin");
    fs::create_directory_symlink(folder, folder / "model" / "up");
    fs::create_symlink("../inside.bin", folder / "model" / "parts" / "in.bin");
    auto const at = [&](std::string const& location) {
        return errorsOf({{"location", location}, {"offset", "0"}, {"length", "16"}});
    };
    for (std::string const location : {"out.bin", "relative.bin", "up/outside.bin"})
    {
        EXPECT_THAT(at(location), AllOf(HasSubstr(location), HasSubstr("outside.bin"), HasSubstr("not below")));
    }
    EXPECT_EQ(at("parts/in.bin"), ""); // A link that stays inside.
    EXPECT_THAT(at("missing.bin"), HasSubstr("missing.bin"));
}

//! At once: a pipe that nobody writes to would be waited for.
TEST_F(ExternalData, whatIsNoPlainFileIsRefusedByKind)
{
    ASSERT_EQ(mkfifo((folder / "model" / "pipe.bin").c_str(), 0600), 0);
    EXPECT_THAT(errorsOf({{"location", "pipe.bin"}}),
        AllOf(HasSubstr("tensor 'w'"), HasSubstr("pipe.bin' is a pipe, not a plain file")));
    EXPECT_THAT(errorsOf({{"location", "parts"}}), HasSubstr("parts' is a folder, not a plain file"));
    Reading reading;
    EXPECT_FALSE(reading.parser->parseFromFile((folder / "model" / "pipe.bin").c_str(), 0));
    EXPECT_THAT(reading.errors(), HasSubstr("pipe.bin' is a pipe, not a plain file"));
}

TEST(OnnxSignatures, inputsBeyondTheOperatorsAreRefused)
{
    TinyModel model;
    model.input("x", {2, 3}).input("z", {2, 3}).output("y");
    model.node("Relu", {"x", "z"}, {"y"}).set_name("second");
    Reading reading;
    EXPECT_FALSE(reading.parse(model));
    EXPECT_THAT(reading.errors(), AllOf(HasSubstr("Relu has 2 inputs"), HasSubstr("'z'")));
    EXPECT_STREQ(reading.parser->getError(0)->nodeName(), "second");

    TinyModel left;
    left.input("x", {2, 3}).output("y");
    left.node("Relu", {"x", "", ""}, {"y"});
    Reading leftOut;
    EXPECT_TRUE(leftOut.parse(left)) << leftOut.errors();
}

TEST(OnnxSignatures, inputsAreCountedByTheOpsetOfTheModel)
{
    for (int64_t const opset : {10, 11}) // Limits of Clip are inputs from 11 on.
    {
        TinyModel model{opset};
        model.input("x", {2, 3}).output("y").weights("low", {}, {-0.5F});
        model.node("Clip", {"x", "low"}, {"y"});
        Reading reading;
        EXPECT_EQ(reading.parse(model), opset == 11) << reading.errors();
    }
}

TEST(OnnxSignatures, attributesThatNothingReadsAreNamed)
{
    TinyModel model;
    model.input("x", {2, 3}).output("y");
    ::onnx::NodeProto& node = model.node("LeakyRelu", {"x"}, {"y"});
    setFloat(node, "alpha", 0.25F);
    setFloat(node, "slope", 0.75F);
    node.set_name("leaky");
    Reading reading;
    EXPECT_TRUE(reading.parse(model)) << reading.errors();
    EXPECT_TRUE(reading.logger.hasSaid("LeakyRelu has no attribute 'slope'"));
    EXPECT_TRUE(reading.logger.hasSaid("leaky"));
    EXPECT_FALSE(reading.logger.hasSaid("'alpha'"));
}

//! One node of an old opset: read, or refused with this in the text.
struct OldCase
{
    int64_t opset;
    std::string op;
    std::vector<std::string> inputs;
    std::function<void(::onnx::NodeProto&)> attributes;
    std::string refusal; //!< Empty: it is read.
};

void nothing(::onnx::NodeProto&) {}

auto ints(std::string const& name, int64_t value)
{
    return [=](::onnx::NodeProto& node) { setInt(node, name, value); };
}

TEST(OnnxOldOpsets, W15_operatorsThatMeantSomethingElseAreRefused)
{
    std::vector<std::string> const norm{"x", "c", "c", "c", "c"};
    std::vector<OldCase> const cases{
        {6, "PRelu", {"x", "c"}, nothing, ""},
        {6, "PRelu", {"x", "one"}, nothing, ""},
        {7, "PRelu", {"x", "whole"}, nothing, ""},
        {1, "BatchNormalization", norm, nothing, "'is_test' is not set"},
        {6, "BatchNormalization", norm, nothing, "'is_test' is not set"},
        {6, "BatchNormalization", norm, ints("is_test", 1), ""},
        {7, "BatchNormalization", norm, nothing, ""},
        {7, "BatchNormalization", norm, ints("spatial", 0), "'spatial' is 0"},
        {6, "Dropout", {"x"}, nothing, "drops elements"},
        {6, "Dropout", {"x"}, ints("is_test", 1), ""},
        {7, "Dropout", {"x"}, nothing, ""},
        {1, "Upsample", {"x"}, nothing, "height_scale"},
        {5, "Tile", {"x", "one", "one"}, nothing, "along one axis"},
        {6, "Add", {"x", "row"}, nothing, "'broadcast' is not set"},
        {6, "Add", {"x", "row"}, ints("broadcast", 1), ""},
        {6, "Mul", {"x", "whole"}, nothing, ""},
        {6, "Pow", {"x", "row"}, nothing, "'broadcast' is not set"},
        {6, "Pow", {"x", "c"},
            [](::onnx::NodeProto& node) {
                setInt(node, "broadcast", 1);
                setInt(node, "axis", 1);
            },
            "'axis'"},
        {6, "Sub", {"x", "c"},
            [](::onnx::NodeProto& node) {
                setInt(node, "broadcast", 1);
                setInt(node, "axis", 1);
            },
            ""},
        {5, "Selu", {"x"}, nothing, "defaults"},
        {6, "Selu", {"x"}, nothing, ""},
        {8, "Relu", {"x"}, nothing, ""},
    };
    for (OldCase const& one : cases)
    {
        SCOPED_TRACE(one.op + "-" + std::to_string(one.opset) + " " + one.refusal);
        TinyModel model{one.opset};
        model.input("x", {2, 3, 4, 5}).output("y");
        model.weights("c", {3}, {0.25F, 0.5F, 0.75F}).weights("one", {1}, {2.0F});
        model.weights("row", {5}, {0.1F, 0.2F, 0.3F, 0.4F, 0.5F});
        model.weights("whole", {2, 3, 4, 5}, std::vector<float>(120, 1.5F));
        one.attributes(model.node(one.op, one.inputs, {"y"}));
        Reading reading;
        EXPECT_EQ(reading.parse(model), one.refusal.empty()) << reading.errors();
        EXPECT_THAT(reading.errors(), HasSubstr(one.refusal));
        EXPECT_TRUE(one.refusal.empty() || reading.errors().find(one.op + " at opset") != std::string::npos);
    }
}

//! Keeps its last report.
class Recorder final : public nvinfer1::IErrorRecorder
{
  public:
    int32_t getNbErrors() const noexcept override
    {
        return count;
    }
    nvinfer1::ErrorCode getErrorCode(int32_t) const noexcept override
    {
        return nvinfer1::ErrorCode::kSUCCESS;
    }
    ErrorDesc getErrorDesc(int32_t) const noexcept override
    {
        return last.c_str();
    }
    bool hasOverflowed() const noexcept override
    {
        return false;
    }
    void clear() noexcept override {}
    bool reportError(nvinfer1::ErrorCode, ErrorDesc description) noexcept override
    {
        ++count;
        last = description;
        return true;
    }
    RefCount incRefCount() noexcept override
    {
        return ++references;
    }
    RefCount decRefCount() noexcept override
    {
        return --references;
    }

    int32_t count{0};
    int32_t references{0};
    std::string last;
};

TinyModel unfitProduct()
{
    TinyModel model;
    model.input("a", {2, 3}).input("b", {4, 5}).output("y");
    model.node("MatMul", {"a", "b"}, {"y"}).set_name("product");
    return model;
}

TEST(OnnxReasons, W6_errorsCarryWhatTheLayerSays)
{
    Reading reading;
    EXPECT_FALSE(reading.parse(unfitProduct()));
    ASSERT_EQ(reading.parser->getNbErrors(), 1);
    // The layer's own words: what it is and which extents do not fit.
    EXPECT_THAT(reading.parser->getError(0)->desc(),
        AllOf(HasSubstr("MatMul does not fit its inputs: "), HasSubstr("MatrixMultiply"), HasSubstr("3"),
            HasSubstr("4")));
    EXPECT_THAT(reading.parser->getError(0)->desc(), testing::Not(HasSubstr("log")));
}

TEST(OnnxReasons, theUsersRecorderHearsItToo)
{
    Recorder recorder;
    {
        Reading reading;
        reading.network->setErrorRecorder(&recorder);
        EXPECT_FALSE(reading.parse(unfitProduct()));
        EXPECT_GE(recorder.count, 1);
        EXPECT_THAT(recorder.last, HasSubstr("MatrixMultiply"));
        EXPECT_EQ(reading.network->getErrorRecorder(), &recorder);
        reading.network.reset();
    }
    EXPECT_EQ(recorder.references, 0);
}

//! Found by the fuzzer: such operands crashed the importer.
TEST(Refusals, attentionWhoseOperandsHaveOtherRanks)
{
    using Shapes = std::vector<std::vector<int64_t>>;
    std::vector<int64_t> const x{2, 3, 4, 8};
    std::vector<int64_t> const past{2, 3, 12, 8};
    for (Shapes const& shapes : std::vector<Shapes>{{x, x, {2, 3, 4, 8, 1}, {4, 16}, past, past},
             {x, x, x, {4, 16}, past, {2, 3, 8}}, {x, {2, 4, 8}, x, {4, 16}, past, past},
             {{8}, {8}, {8}, {1, 1}, past, past}, {x, x, x, {1, 1, 1, 4, 16}, past, past}})
    {
        TinyModel model;
        model.proto.mutable_opset_import(0)->set_version(23);
        char const* const names[]{"q", "k", "v", "mask", "pastKey", "pastValue"};
        for (size_t i = 0; i < shapes.size(); ++i)
        {
            model.input(names[i], shapes[i]);
        }
        model.output("y");
        model.node("Attention", {names, names + 6}, {"y"});
        Reading reading;
        ASSERT_FALSE(reading.parse(model));
        EXPECT_THAT(reading.errors(), HasSubstr("another rank"));
    }
}

//! -1 is what exporters write for an extent that is not known; other numbers below zero are a mistake somewhere.
TEST(Refusals, extentsOfInputsBelowMinusOne)
{
    for (int64_t const extent : {int64_t{-1}, int64_t{-2}, std::numeric_limits<int64_t>::min()})
    {
        TinyModel model;
        model.input("x", {2, extent}).output("y");
        model.node("Relu", {"x"}, {"y"});
        Reading reading;
        EXPECT_EQ(reading.parse(model), extent == -1);
        std::string const refusal = "input 'x' has the extent " + std::to_string(extent) + " on axis 1";
        EXPECT_THAT(reading.errors(), HasSubstr(extent == -1 ? std::string{} : refusal));
    }
}

} // namespace
} // namespace tenon::test
