// Rules of single layers that case files cannot hold: what is refused, and with which words.
#include "layers/activation.h"
#include "layers/assertion.h"
#include "layers/convolution.h"
#include "layers/cumulative.h"
#include "layers/deconvolution.h"
#include "layers/dequantize.h"
#include "layers/dynamic_quantize.h"
#include "layers/einsum.h"
#include "layers/element_wise.h"
#include "layers/embedding_norm.h"
#include "layers/fill.h"
#include "layers/grid_sample.h"
#include "layers/kv_cache_update.h"
#include "layers/matrix_multiply.h"
#include "layers/measured_product.h"
#include "layers/nms.h"
#include "layers/one_hot.h"
#include "layers/pointwise.h"
#include "layers/pooling.h"
#include "layers/quantize.h"
#include "layers/ragged_soft_max.h"
#include "layers/rotary_embedding.h"
#include "layers/select.h"
#include "layers/slice.h"
#include "layers/soft_max.h"
#include "layers/squeeze.h"
#include "layers/top_k.h"
#include "layers/unary.h"
#include "layers/unsqueeze.h"
#include "layers/window.h"

#include <gtest/gtest.h>

namespace tenon::test
{
namespace
{

//! The error of a layer named 'x' whose inputs t0, t1, … have these types; empty when it accepts them.
template <typename L>
std::string errorOfInference(L const& layer, std::vector<TensorType> const& types,
    std::vector<std::shared_ptr<Constant const>> const& constants = {})
{
    std::vector<std::string> names;
    for (size_t i = 0; i < types.size(); ++i)
        names.push_back(fmt::format("t{}", i));
    std::vector<Input> inputs;
    for (size_t i = 0; i < types.size(); ++i)
        inputs.push_back({&types[i], nullptr, i < constants.size() ? constants[i].get() : nullptr, names[i]});
    SymbolTable symbols;
    Result<std::vector<TensorType>> const result = makeLayer(layer)->infer(Inputs{inputs, "x", &symbols, 0});
    return result ? std::string{} : result.error().message;
}

TEST(LayerRules, E33_onlyReluTakesIntegers)
{
    TensorType const ints{DType::kINT32, {4}};
    EXPECT_EQ(errorOfInference(Activation{nvinfer1::ActivationType::kRELU}, {ints}), "");
    std::string const message = errorOfInference(Activation{nvinfer1::ActivationType::kTANH}, {ints});
    EXPECT_EQ(message.find("layer 'x' (Activation), input 0 't0': has type int32"), 0U) << message;
}

TEST(LayerRules, E34_notTakesBoolOnly)
{
    Unary const invert{nvinfer1::UnaryOperation::kNOT};
    EXPECT_NE(errorOfInference(invert, {{DType::kFLOAT, {4}}}), "");
    EXPECT_EQ(errorOfInference(invert, {{DType::kBOOL, {4}}}), "");
    EXPECT_NE(errorOfInference(Unary{nvinfer1::UnaryOperation::kEXP}, {{DType::kINT32, {4}}}), "");
}

TEST(LayerRules, E9_kIsAtMostTheExtentAndThereIsOneAxis)
{
    TopK layer;
    layer.k = 5001;
    layer.reduceAxes = 1;
    EXPECT_NE(errorOfInference(layer, {{DType::kFLOAT, {5000}}}), "");
    layer.k = 5000; // 10.16 stops at 3840.
    EXPECT_EQ(errorOfInference(layer, {{DType::kFLOAT, {5000}}}), "");
    layer.reduceAxes = 3;
    EXPECT_NE(errorOfInference(layer, {{DType::kFLOAT, {5000, 5000}}}), "");
    layer.reduceAxes = 1;
    EXPECT_NE(errorOfInference(layer, {{DType::kFLOAT, {4000, 1, 1, 1, 1}}}), "") << "none of the last four axes";
}

TEST(LayerRules, E11_otherAxesMustMatchInNumber)
{
    EXPECT_NE(errorOfInference(MatrixMultiply{}, {{DType::kFLOAT, {2, 3, 4}}, {DType::kFLOAT, {4, 5}}}), "");
    std::string const message =
        errorOfInference(MatrixMultiply{}, {{DType::kFLOAT, {2, 3, 4}}, {DType::kFLOAT, {2, 5, 6}}});
    EXPECT_NE(message.find("has 5 rows, input 0 't0' has 4 columns"), std::string::npos) << message;
}

TEST(LayerRules, E21_provablyFalseIsRejected)
{
    uint8_t const values[]{1, 0};
    auto const constant = makeConstant(DType::kBOOL, {2}, values);
    std::string const message = errorOfInference(Assertion{"batch is even"}, {{DType::kBOOL, {2}}}, {constant});
    EXPECT_NE(message.find("batch is even"), std::string::npos) << message;
    EXPECT_EQ(errorOfInference(Assertion{}, {{DType::kBOOL, {2}}}), "");
}

TEST(LayerRules, E21_falseAtRunTimeFailsTheRun)
{
    HostTensor value{DType::kBOOL, {2}};
    value.integers = {1, 0};
    Result<std::vector<HostTensor>> const result = Assertion{"x > 0"}.reference({&value});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kFAILED_EXECUTION);
}

TEST(LayerRules, E22_depthIsAPositiveConstant)
{
    TensorType const scalar{DType::kINT32, {}};
    std::vector<TensorType> const types{{DType::kINT32, {3}}, {DType::kFLOAT, {2}}, scalar};
    EXPECT_NE(errorOfInference(OneHot{}, types), "");
    int32_t const none{0};
    EXPECT_NE(errorOfInference(OneHot{}, types, {nullptr, nullptr, makeConstant(DType::kINT32, {}, &none)}), "");
    int32_t const four{4};
    auto const depth = makeConstant(DType::kINT32, {}, &four);
    EXPECT_EQ(errorOfInference(OneHot{}, types, {nullptr, nullptr, depth}), "");
    for (int32_t const axis : {-2, -1, 0, 1})
        EXPECT_EQ(errorOfInference(OneHot{.axis = axis}, types, {nullptr, nullptr, depth}), "") << axis;
    for (int32_t const axis : {-3, 2})
        EXPECT_NE(errorOfInference(OneHot{.axis = axis}, types, {nullptr, nullptr, depth}), "") << axis;
}

TEST(LayerRules, E23_countsAndTypesOfBoxes)
{
    TensorType const boxes{DType::kFLOAT, {2, 9, 4}};
    TensorType const scores{DType::kFLOAT, {2, 9, 3}};
    TensorType const most{DType::kINT32, {}};
    EXPECT_EQ(errorOfInference(NMS{}, {boxes, scores, most}), "");
    EXPECT_EQ(NMS{}.topKBoxLimit, 5000);
    EXPECT_NE(errorOfInference(NMS{}, {boxes, scores, {DType::kINT32, {1}}}), "") << "the most boxes are a scalar";
    EXPECT_NE(errorOfInference(NMS{}, {boxes, scores, {DType::kINT64, {}}}), "");
    EXPECT_NE(errorOfInference(NMS{}, {boxes, {DType::kFLOAT, {2, 8, 3}}, most}), "");
    EXPECT_NE(errorOfInference(NMS{}, {{DType::kFLOAT, {2, 9, 2, 4}}, scores, most}), "");
    EXPECT_NE(errorOfInference(NMS{}, {{DType::kFLOAT, {2, 9, 5}}, scores, most}), "");
    EXPECT_NE(errorOfInference(NMS{.indicesType = DType::kFLOAT}, {boxes, scores, most}), "");
}

TEST(LayerRules, E25_gridsFitTheirImages)
{
    EXPECT_EQ(GridSample{}.interpolationMode, nvinfer1::InterpolationMode::kLINEAR);
    EXPECT_FALSE(GridSample{}.alignCorners);
    EXPECT_EQ(GridSample{}.sampleMode, nvinfer1::SampleMode::kFILL);
    TensorType const image{DType::kFLOAT, {2, 3, 4, 5}};
    EXPECT_EQ(errorOfInference(GridSample{}, {image, {DType::kFLOAT, {2, 6, 7, 2}}}), "");
    EXPECT_NE(errorOfInference(GridSample{}, {image, {DType::kFLOAT, {2, 6, 7, 3}}}), "");
    EXPECT_NE(errorOfInference(GridSample{}, {image, {DType::kFLOAT, {1, 6, 7, 2}}}), "");
    EXPECT_NE(errorOfInference(GridSample{}, {{DType::kFLOAT, {2, 3, 4}}, {DType::kFLOAT, {2, 6, 1}}}), "");
    GridSample const wrapping{.sampleMode = nvinfer1::SampleMode::kWRAP};
    EXPECT_NE(errorOfInference(wrapping, {image, {DType::kFLOAT, {2, 6, 7, 2}}}), "");
}

TEST(LayerRules, E35_equationsThatMeanNothing)
{
    for (char const* good : {"ij,jk->ik", "...", "i->", "", "ij , j", "a...b->b...a"})
        EXPECT_TRUE(Einsum::check(good)) << good;
    for (char const* bad : {"iJ->i", "ij->k", "i->ii", "i.j", "....", "i->i->i", "ij->i,j", "i-j", "...i..."})
        EXPECT_FALSE(Einsum::check(bad)) << bad;
    EXPECT_FALSE(Einsum::check("i,j", 1));
    TensorType const matrix{DType::kFLOAT, {2, 3}};
    EXPECT_NE(errorOfInference(Einsum{"ijk->i"}, {matrix}), "") << "more letters than axes";
    EXPECT_NE(errorOfInference(Einsum{"i->i"}, {matrix}), "") << "an axis without a letter";
    std::string const message = errorOfInference(Einsum{"ij,ij->ij"}, {matrix, {DType::kFLOAT, {2, 4}}});
    EXPECT_NE(message.find("input 1 't1': has extent 4 on axis 1"), std::string::npos) << message;
}

TEST(LayerRules, E12_scalesAreAboveZeroAndZeroPointsAreZero)
{
    TensorType const x{DType::kFLOAT, {2, 6}};
    TensorType const number{DType::kFLOAT, {}};
    auto const scale = [](float value) { return makeConstant(DType::kFLOAT, {}, &value); };
    EXPECT_EQ(errorOfInference(Quantize{}, {x, number}, {nullptr, scale(0.5F)}), "");
    EXPECT_NE(errorOfInference(Quantize{}, {x, number}, {nullptr, scale(0.0F)}), "");
    EXPECT_NE(errorOfInference(Quantize{}, {x, number}, {nullptr, scale(-1.0F)}), "");
    TensorType const zero{DType::kINT8, {}};
    int8_t const none{0};
    int8_t const one{1};
    EXPECT_EQ(
        errorOfInference(Quantize{}, {x, number, zero}, {nullptr, nullptr, makeConstant(zero.dtype, {}, &none)}), "");
    EXPECT_NE(
        errorOfInference(Quantize{}, {x, number, zero}, {nullptr, nullptr, makeConstant(zero.dtype, {}, &one)}), "");
    HostTensor const numbers = HostTensor::fromConstant(*makeConstant(DType::kFLOAT, {2, 6}, nullptr));
    HostTensor const half = HostTensor::fromConstant(*scale(0.5F));
    HostTensor const wrong = HostTensor::fromConstant(*makeConstant(zero.dtype, {}, &one));
    EXPECT_FALSE(Quantize{}.reference({&numbers, &half, &wrong})) << "a zero point that only the run knows";
    EXPECT_NE(errorOfInference(Quantize{.axis = kOneScale}, {x, {DType::kFLOAT, {1}}}), "");
    EXPECT_NE(errorOfInference(Quantize{.toType = DType::kINT32}, {x, number}), "");
    EXPECT_NE(errorOfInference(Quantize{.axis = 1}, {x, {DType::kFLOAT, {5}}}), "");
    EXPECT_NE(errorOfInference(Quantize{}, {x, {DType::kFLOAT, {2, 4}}}), "") << "4 blocks of 6 elements";
    EXPECT_NE(errorOfInference(Quantize{.blockShape = {2, {1, 4}}}, {x, {DType::kFLOAT, {2, 1}}}), "");
}

TEST(LayerRules, E13_dequantizesToFloatUnlessTold)
{
    EXPECT_EQ(Dequantize{}.toType, DType::kFLOAT);
    TensorType const x{DType::kINT8, {2, 6}};
    EXPECT_EQ(errorOfInference(Dequantize{.axis = 1}, {x, {DType::kFLOAT, {6}}}), "");
    EXPECT_NE(errorOfInference(Dequantize{.axis = 2}, {x, {DType::kFLOAT, {6}}}), "");
    EXPECT_NE(errorOfInference(Dequantize{}, {{DType::kINT32, {2}}, {DType::kFLOAT, {}}}), "");
    EXPECT_NE(errorOfInference(Dequantize{.toType = DType::kINT8}, {x, {DType::kFLOAT, {}}}), "");
}

TEST(LayerRules, E14_dynamicQuantizationStartsWithFp4InBlocksOf16)
{
    EXPECT_EQ(DynamicQuantize{}.toType, DType::kFP4);
    EXPECT_EQ(DynamicQuantize{}.scaleType, DType::kFP8);
    EXPECT_EQ(DynamicQuantize{}.blockSize, 16);
    TensorType const x{DType::kFLOAT, {4, 32}};
    EXPECT_EQ(errorOfInference(DynamicQuantize{.axis = 1}, {x}), "");
    EXPECT_EQ(errorOfInference(DynamicQuantize{.axis = 1}, {x, {DType::kFLOAT, {}}}), "");
    EXPECT_NE(errorOfInference(DynamicQuantize{.axis = 0}, {x}), "") << "16 does not divide 4";
    EXPECT_NE(errorOfInference(DynamicQuantize{}, {x}), "") << "no axis and no shape of blocks";
    EXPECT_NE(errorOfInference(DynamicQuantize{.axis = 1, .toType = DType::kINT4}, {x}), "");
}

TEST(LayerRules, E29_cachesFitThePositions)
{
    TensorType const x{DType::kFLOAT, {2, 3, 5, 8}};
    TensorType const cache{DType::kFLOAT, {2, 5, 4}};
    EXPECT_EQ(errorOfInference(RotaryEmbedding{}, {x, cache, cache}), "");
    EXPECT_NE(errorOfInference(RotaryEmbedding{.rotaryEmbeddingDim = 3}, {x, cache, cache}), "") << "odd";
    EXPECT_NE(errorOfInference(RotaryEmbedding{.rotaryEmbeddingDim = 4}, {x, cache, cache}), "") << "two pairs";
    TensorType const table{DType::kFLOAT, {9, 4}};
    TensorType const positions{DType::kINT64, {2, 5}};
    EXPECT_EQ(errorOfInference(RotaryEmbedding{}, {x, table, table, positions}), "");
    EXPECT_NE(errorOfInference(RotaryEmbedding{}, {x, cache, cache, positions}), "");
    EXPECT_NE(errorOfInference(RotaryEmbedding{}, {x, table, table}), "");
}

TEST(LayerRules, E28_updatesFitTheirCache)
{
    TensorType const cache{DType::kFLOAT, {2, 3, 7, 5}};
    TensorType const starts{DType::kINT32, {2}};
    EXPECT_EQ(errorOfInference(KVCacheUpdate{}, {cache, {DType::kFLOAT, {2, 3, 7, 5}}, starts}), "");
    EXPECT_NE(errorOfInference(KVCacheUpdate{}, {cache, {DType::kFLOAT, {2, 3, 8, 5}}, starts}), "");
    EXPECT_NE(errorOfInference(KVCacheUpdate{}, {cache, {DType::kHALF, {2, 3, 2, 5}}, starts}), "");
    EXPECT_NE(errorOfInference(KVCacheUpdate{}, {cache, {DType::kFLOAT, {2, 3, 2, 5}}, {DType::kINT32, {3}}}), "");
}

TEST(LayerRules, raggedLengthsAreOnePerRow)
{
    TensorType const rows{DType::kFLOAT, {2, 3, 5}};
    EXPECT_EQ(errorOfInference(RaggedSoftMax{}, {rows, {DType::kINT32, {2, 3, 1}}}), "");
    EXPECT_NE(errorOfInference(RaggedSoftMax{}, {rows, {DType::kINT32, {2, 3}}}), "");
    EXPECT_NE(errorOfInference(RaggedSoftMax{}, {rows, {DType::kINT32, {2, 3, 5}}}), "");
}

TEST(LayerRules, momentsAndTermsAreOfWhatIsNormalized)
{
    MeasuredProduct layer{.normalized = NormalizedOperand::kExtra, .measures = true};
    layer.product.epilogue.steps = {{EpilogueKind::kAdd}};
    TensorType const moments{DType::kFLOAT, {2, 200, 2}};
    TensorType const row{DType::kHALF, {1, 64}};
    auto const errorOf = [&](TensorType const& left, TensorType const& scale) {
        TensorType const result{DType::kHALF, {200, 64}};
        return errorOfInference(layer,
            {{DType::kHALF, {200, 128}}, {DType::kHALF, {128, 64}}, {DType::kHALF, {64}}, result, left, scale, row});
    };
    EXPECT_EQ(errorOf(moments, row), "");
    std::string const others = errorOf({DType::kFLOAT, {2, 1, 2}}, row);
    EXPECT_NE(others.find("moments of other rows"), std::string::npos) << others;
    EXPECT_NE(errorOf({DType::kFLOAT, {4, 200, 2}}, row), "");
    EXPECT_NE(errorOf({DType::kHALF, {2, 200, 2}}, row), "");
    EXPECT_NE(errorOf(moments, {DType::kHALF, {200, 64}}), ""); // A scale for each row.
    layer.product.epilogue.steps.clear();
    EXPECT_NE(errorOf(moments, row), ""); // Nothing that it could normalize.
}

TEST(LayerRules, embeddingsAreRowsOfTheNorm)
{
    TensorType const scale{DType::kHALF, {1, 1, 8}};
    TensorType const table{DType::kHALF, {5, 8}};
    TensorType const indices{DType::kINT32, {2, 3}};
    EXPECT_EQ(errorOfInference(EmbeddingNorm{}, {scale, scale, table, indices}), "");
    EXPECT_EQ(errorOfInference(EmbeddingNorm{}, {scale, scale, {DType::kFLOAT, {5, 8}}, indices, scale}), "");
    EXPECT_NE(errorOfInference(EmbeddingNorm{}, {scale, scale}), "");
    EXPECT_NE(errorOfInference(EmbeddingNorm{}, {scale, scale, {DType::kHALF, {5, 7}}, indices}), "");
    EXPECT_NE(errorOfInference(EmbeddingNorm{}, {scale, scale, {DType::kHALF, {1, 5, 8}}, indices}), "");
    EXPECT_NE(errorOfInference(EmbeddingNorm{}, {scale, scale, table, {DType::kINT32, {2, 3, 1}}}), "");
    EXPECT_NE(errorOfInference(EmbeddingNorm{}, {scale, scale, table, {DType::kFLOAT, {2, 3}}}), "");
    EXPECT_NE(errorOfInference(EmbeddingNorm{}, {{DType::kHALF, {1, 3, 8}}, scale, table, indices}), "");
    std::string const others =
        errorOfInference(EmbeddingNorm{}, {scale, scale, table, indices, {DType::kHALF, {3, 3, 8}}});
    EXPECT_NE(others, "") << "terms that do not broadcast";
}

TEST(LayerRules, E36_axisIsAConstant)
{
    TensorType const x{DType::kFLOAT, {3}};
    EXPECT_NE(errorOfInference(Cumulative{}, {x, {DType::kINT32, {}}}), "");
    int32_t const first{0};
    EXPECT_EQ(
        errorOfInference(Cumulative{}, {x, {DType::kINT32, {}}}, {nullptr, makeConstant(DType::kINT32, {}, &first)}),
        "");
    EXPECT_NE(
        errorOfInference(Cumulative{}, {x, {DType::kINT32, {1}}}, {nullptr, makeConstant(DType::kINT32, {1}, &first)}),
        "")
        << "no scalar";
}

TEST(LayerRules, E37_axesAreConstantsAndTheRankHasAnEnd)
{
    TensorType const x{DType::kFLOAT, {2, 1, 3, 1, 2, 1, 2}};
    TensorType const two{DType::kINT64, {2}};
    int64_t const axes[]{1, 3};
    auto const known = makeConstant(DType::kINT64, {2}, axes);
    EXPECT_EQ(errorOfInference(Squeeze{}, {x, two}, {nullptr, known}), "");
    EXPECT_NE(errorOfInference(Squeeze{}, {x, two}), "") << "axes that only the run knows";
    EXPECT_NE(errorOfInference(Unsqueeze{}, {{DType::kFLOAT, {2, 3}}, two}), "");
    EXPECT_EQ(errorOfInference(Unsqueeze{}, {{DType::kFLOAT, {2, 3}}, two}, {nullptr, known}), "");
    std::string const message = errorOfInference(Unsqueeze{}, {x, two}, {nullptr, known});
    EXPECT_NE(message.find("the result would have rank 9"), std::string::npos) << message;
}

TEST(LayerRules, E1_ranksAreEqualAndExtentsEqualOrOne)
{
    ElementWise const sum{nvinfer1::ElementWiseOperation::kSUM};
    TensorType const x{DType::kFLOAT, {2, 3}};
    EXPECT_EQ(errorOfInference(sum, {x, {DType::kFLOAT, {1, 3}}}), "");
    EXPECT_NE(errorOfInference(sum, {x, {DType::kFLOAT, {3}}}), "");
    EXPECT_NE(errorOfInference(sum, {x, {DType::kFLOAT, {2, 2}}}), "");
    EXPECT_NE(errorOfInference(Select{}, {{DType::kBOOL, {2, 3}}, x, {DType::kFLOAT, {2, 2}}}), "") << "E2";
}

TEST(LayerRules, E15_alphaAndBetaAreBothInputs)
{
    TensorType const shape{DType::kINT64, {1}};
    TensorType const number{DType::kFLOAT, {}};
    int64_t const four{4};
    auto const known = makeConstant(DType::kINT64, {1}, &four);
    EXPECT_EQ(errorOfInference(Fill{}, {shape, number, {DType::kFLOAT, {1}}}, {known}), "");
    EXPECT_NE(errorOfInference(Fill{}, {shape, number}, {known}), "");
}

TEST(LayerRules, integersAreFilledByFiniteSteps)
{
    auto const message = [](Fill layer, DType type) {
        layer.dimensions = {1, {3}};
        layer.toType = type;
        return errorOfInference(layer, {});
    };
    for (DType const type : {DType::kINT32, DType::kINT64})
        for (double const number : {static_cast<double>(NAN), HUGE_VAL, -HUGE_VAL})
        {
            EXPECT_NE(message({.alpha = number}, type).find("both must be finite"), std::string::npos);
            EXPECT_NE(message({.beta = number}, type).find("both must be finite"), std::string::npos);
            EXPECT_EQ(message({.alpha = number, .alphaBetaInt64 = true}, type), "") << "it does not count";
            EXPECT_EQ(message({.alpha = number, .beta = 0.0}, DType::kFLOAT), "") << "masks are filled with it";
        }
}

TEST(LayerRules, E32_extentsFollowThePaddingMode)
{
    using nvinfer1::PaddingMode;
    auto const extentOf = [](PaddingMode mode, int64_t in) {
        nvinfer1::Dims const one{1, {1}};
        Window const window = Window::of({1, {3}}, {1, {2}}, {1, {1}}, one, one, mode);
        return *window.outputExtent(0, in).constant();
    };
    EXPECT_EQ(extentOf(PaddingMode::kEXPLICIT_ROUND_DOWN, 8), 4);
    EXPECT_EQ(extentOf(PaddingMode::kEXPLICIT_ROUND_UP, 8), 5);
    EXPECT_EQ(extentOf(PaddingMode::kSAME_UPPER, 9), 5);
    EXPECT_EQ(extentOf(PaddingMode::kSAME_LOWER, 8), 4);
    Window const upper = Window::of({1, {4}}, {1, {2}}, {}, {}, {}, PaddingMode::kSAME_UPPER);
    EXPECT_EQ(upper.padding(0, 5).pre, 1);
    EXPECT_EQ(upper.padding(0, 5).post, 2);
}

//! One is ours (docs/DEVIATIONS.md), two and three are upstream's, and no layer has more.
TEST(LayerRules, E32_windowsHaveUpToThreeAxes)
{
    for (int32_t const axes : {0, 1, 2, 3, 4, 5})
    {
        nvinfer1::Dims window{axes, {}};
        std::fill_n(window.d, axes, 2);
        Convolution convolution;
        convolution.nbOutputMaps = 2;
        convolution.kernelSize = window;
        Deconvolution deconvolution;
        deconvolution.nbOutputMaps = 2;
        deconvolution.kernelSize = window;
        Pooling pooling;
        pooling.windowSize = window;
        std::vector<ShapeExpr> extents{1, 2};
        extents.insert(extents.end(), static_cast<size_t>(axes), ShapeExpr{4});
        TensorType const x{DType::kFLOAT, extents};
        extents.assign({2, 2});
        extents.insert(extents.end(), static_cast<size_t>(axes), ShapeExpr{2});
        TensorType const kernel{DType::kFLOAT, extents};
        bool const isRight = axes >= 1 && axes <= 3;
        EXPECT_EQ(errorOfInference(convolution, {x, kernel}).empty(), isRight) << axes;
        EXPECT_EQ(errorOfInference(deconvolution, {x, kernel}).empty(), isRight) << axes;
        EXPECT_EQ(errorOfInference(pooling, {x}).empty(), isRight) << axes;
    }
}

//! Positions are computed without wrapping, however far the start lies.
TEST(LayerRules, E8_startsMayLieAnywhere)
{
    HostTensor x{DType::kFLOAT, {5}};
    for (int64_t i = 0; i < 5; ++i)
        x.set(i, 1.5 * static_cast<double>(i) + 1.0);
    auto const cut = [&](nvinfer1::SampleMode mode, int64_t start, int64_t stride) {
        Slice slice;
        slice.start = {1, {start}};
        slice.size = {1, {3}};
        slice.stride = {1, {stride}};
        slice.mode = mode;
        Result<std::vector<HostTensor>> const made = slice.reference({&x});
        return made ? made->front().reals : std::vector<double>{};
    };
    auto const at = [&](int64_t i) { return x.real(i); };
    using nvinfer1::SampleMode;
    using Reals = std::vector<double>;
    EXPECT_EQ(cut(SampleMode::kSTRICT_BOUNDS, INT64_MIN, -1), Reals{}); // Refused.
    EXPECT_EQ(cut(SampleMode::kFILL, INT64_MIN, -1), (Reals{0, 0, 0}));
    EXPECT_EQ(cut(SampleMode::kCLAMP, INT64_MIN, INT64_MAX), (Reals{at(0), at(0), at(4)}));
    EXPECT_EQ(cut(SampleMode::kCLAMP, INT64_MAX, 1), (Reals{at(4), at(4), at(4)}));
    // 2^63 is 3 modulo 5: −2^63 is 2, and so on downwards.
    EXPECT_EQ(cut(SampleMode::kWRAP, INT64_MIN, -1), (Reals{at(2), at(1), at(0)}));
    // The period of reflection is 8, of which 2^63 is a multiple.
    EXPECT_EQ(cut(SampleMode::kREFLECT, INT64_MIN, -1), (Reals{at(0), at(1), at(2)}));
}

TEST(LayerRules, hostileFieldsAreRefused)
{
    Convolution layer;
    layer.nbOutputMaps = 4;
    layer.kernelSize = {2, {3, 3}};
    layer.stride = {2, {0, 1}};
    EXPECT_FALSE(layer.verify());
    layer.stride = {3, {1, 1, 1}};
    EXPECT_FALSE(layer.verify());
    layer.stride = {};
    EXPECT_TRUE(layer.verify());
    layer.nbGroups = 3;
    EXPECT_FALSE(layer.verify());
    EXPECT_FALSE(Activation{static_cast<nvinfer1::ActivationType>(99)}.verify());
}

TEST(LayerRules, expressionsMixNoTypes)
{
    Pointwise const sum{Expr::input(0) + Expr::input(1)};
    std::string const message = errorOfInference(sum, {{DType::kFLOAT, {3}}, {DType::kINT32, {3}}});
    EXPECT_NE(message.find("float32 and int32"), std::string::npos) << message;
    EXPECT_NE(errorOfInference(sum, {{DType::kFLOAT, {3}}}), "") << "one input is missing";
}

} // namespace
} // namespace tenon::test
