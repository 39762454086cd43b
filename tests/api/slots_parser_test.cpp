// The parser by a program that never saw a header of ours, on models that it writes byte by byte: which parts of a
// model can be read, and an engine refitted from another model of the same graph.
#include "raw_features.h"
#include "support/onnx_bytes.h"

#include <filesystem>

namespace raw
{
namespace
{
using namespace tenon::test::onnxbytes;

//! y = x · w, [2, 3] by [3, 2].
std::string productOf(std::vector<float> const& w)
{
    return model(
        node("MatMul", {"x", "w"}, "y") + initializer("w", {3, 2}, w) + end(11, "x", {2, 3}) + end(12, "y", {2, 2}));
}

class SlotsOfParser : public SlotsOfFeatures
{
  protected:
    void SetUp() override
    {
        SlotsOfFeatures::SetUp();
        Dl_info info{};
        ASSERT_NE(::dladdr(::dlsym(library, "createInferRuntime_INTERNAL"), &info), 0);
        std::string const path = std::filesystem::path{info.dli_fname}.parent_path() / "libnvonnxparser.so.10";
        parsers = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(parsers, nullptr) << ::dlerror();
        builder = create("createInferBuilder_INTERNAL");
        makeParser();
    }
    void TearDown() override
    {
        destroyParser();
        destroy(builder);
    }
    void makeParser()
    {
        network = call<Object>(behindBuilder(), slots::kVBuilder_createNetworkV2, uint32_t{0});
        parser = make("createNvOnnxParser_INTERNAL", network);
        ASSERT_NE(parser, nullptr) << errors;
    }
    void destroyParser()
    {
        call<void>(parser, slots::kIParser_destroyAndFree);
        destroy(network);
    }
    Object behindBuilder() const
    {
        return inner(builder, slots::kIBuilder_mImpl);
    }
    Object make(char const* function, Object of)
    {
        auto* const maker = reinterpret_cast<Object (*)(Object, void*, int32_t)>(::dlsym(parsers, function));
        EXPECT_NE(maker, nullptr) << function;
        return maker == nullptr ? nullptr : maker(of, &logger, 100);
    }
    //! A parser is for one model.
    bool isSupported(std::string const& bytes)
    {
        destroyParser();
        makeParser();
        return call<bool>(parser, slots::kIParser_supportsModelV2, static_cast<void const*>(bytes.data()), bytes.size(),
            static_cast<char const*>(nullptr));
    }
    std::vector<int64_t> nodesOf(int64_t part)
    {
        int64_t length{-1};
        auto const* const nodes = call<int64_t const*>(parser, slots::kIParser_getSubgraphNodes, part, &length);
        return nodes == nullptr ? std::vector<int64_t>{} : std::vector<int64_t>(nodes, nodes + length);
    }

    void* parsers{nullptr};
    Object builder{nullptr};
    Object network{nullptr};
    Object parser{nullptr};
};
} // namespace

TEST_F(SlotsOfParser, aModelIsPartedIntoWhatCanBeReadAndWhatCannot)
{
    std::string const ends = end(11, "x", {2, 3}) + end(12, "y", {2, 3});
    EXPECT_FALSE(isSupported(model(node("Relu", {"x"}, "a") + node("Tanh", {"a"}, "b")
        + node("NoSuchOperator", {"b"}, "c") + node("Relu", {"c"}, "y") + ends)));
    ASSERT_EQ(call<int64_t>(parser, slots::kIParser_getNbSubgraphs), 2);
    EXPECT_EQ(nodesOf(0), (std::vector<int64_t>{0, 1}));
    EXPECT_TRUE(call<bool>(parser, slots::kIParser_isSubgraphSupported, int64_t{0}));
    EXPECT_EQ(nodesOf(1), (std::vector<int64_t>{3}));
    EXPECT_FALSE(call<bool>(parser, slots::kIParser_isSubgraphSupported, int64_t{1})) << "nobody makes its input";
    ASSERT_GE(call<int32_t>(parser, slots::kIParser_getNbErrors), 1);
    Object const error = call<Object>(parser, slots::kIParser_getError, int32_t{0});
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(call<int32_t>(error, slots::kIParserError_node), 2);
    EXPECT_STREQ(call<char const*>(error, slots::kIParserError_nodeOperator), "NoSuchOperator");
    EXPECT_STREQ(call<char const*>(error, slots::kIParserError_nodeName), "the NoSuchOperator");
    call<void>(parser, slots::kIParser_clearErrors);
    EXPECT_EQ(call<int32_t>(parser, slots::kIParser_getNbErrors), 0);

    EXPECT_FALSE(isSupported(model(node("NoSuchOperator", {"x"}, "y") + ends)));
    EXPECT_EQ(call<int64_t>(parser, slots::kIParser_getNbSubgraphs), 0) << "a lone node is in no part";
    EXPECT_TRUE(isSupported(model(node("Relu", {"x"}, "y") + ends)));
    ASSERT_EQ(call<int64_t>(parser, slots::kIParser_getNbSubgraphs), 1);
    EXPECT_EQ(nodesOf(0), (std::vector<int64_t>{0}));
}

TEST_F(SlotsOfParser, anEngineIsRefittedFromAnotherModel)
{
    std::vector<float> const first = tenon::test::randomFloats(6, 3);
    std::vector<float> const second = tenon::test::randomFloats(6, 4);
    std::string const bytes = productOf(first);
    ASSERT_TRUE(call<bool>(parser, slots::kIParser_parse, static_cast<void const*>(bytes.data()), bytes.size(),
        static_cast<char const*>(nullptr)))
        << errors;
    Object const config = call<Object>(behindBuilder(), slots::kVBuilder_createBuilderConfig);
    call<void>(inner(config, slots::kIBuilderConfig_mImpl), slots::kVBuilderConfig_setFlag, kREFIT);
    Object const memory = call<Object>(behindBuilder(), slots::kVBuilder_buildSerializedNetwork, network, config);
    ASSERT_NE(memory, nullptr) << errors;
    Object const engine = load(bytesOf(memory));
    ASSERT_NE(engine, nullptr) << errors;
    destroy(memory);
    destroy(config);

    std::vector<float> const x = tenon::test::randomFloats(6, 5);
    auto const expectProduct = [&](std::vector<float> const& w) {
        Object const queries = inner(engine, slots::kICudaEngine_mImpl);
        Object const context = call<Object>(queries, slots::kVCudaEngine_createExecutionContext, int32_t{0});
        Object const run = inner(context, slots::kIExecutionContext_mImpl);
        DeviceArray<float> const in{x};
        DeviceArray<float> const out{size_t{4}};
        EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, "x", static_cast<void*>(in.data())));
        EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, "y", static_cast<void*>(out.data())));
        EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_enqueueV3, tenon::test::deviceUnderTest().stream()));
        std::vector<float> const y = out.read();
        for (size_t i = 0; i < 2; ++i)
            for (size_t j = 0; j < 2; ++j)
                EXPECT_NEAR(y[2 * i + j], x[3 * i] * w[j] + x[3 * i + 1] * w[2 + j] + x[3 * i + 2] * w[4 + j], 1e-5F);
        destroy(context);
    };
    expectProduct(first);
    auto* const makeRefitter =
        reinterpret_cast<Object (*)(Object, void*, int32_t)>(::dlsym(library, "createInferRefitter_INTERNAL"));
    Object const refitter = makeRefitter(engine, &logger, 101600);
    ASSERT_NE(refitter, nullptr) << errors;
    Object const reading = make("createNvOnnxParserRefitter_INTERNAL", refitter);
    ASSERT_NE(reading, nullptr) << errors;
    std::string const other = productOf(second);
    EXPECT_TRUE(call<bool>(reading, slots::kIParserRefitter_refitFromBytes, static_cast<void const*>(other.data()),
        other.size(), static_cast<char const*>(nullptr)))
        << errors;
    EXPECT_TRUE(call<bool>(inner(refitter, slots::kIRefitter_mImpl), slots::kVRefitter_refitCudaEngine)) << errors;
    expectProduct(second);
    call<void>(reading, slots::kIParserRefitter_destroyAndFree);
    destroy(refitter);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

} // namespace raw
