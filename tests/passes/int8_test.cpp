// Rules that make int8 products of what stands between Dequantize and Quantize layers, and what undoes them.
#include "passes/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! A quantized image and kernel as exporters write them.
constexpr std::string_view kHead{R"(
input %q : int8[N,4,8,8]
const %s : float32[] = 0.125
const %t : float32[] = 0.5
const %c : float32[6] = [0.25,0.5,0.125,0.25,0.5,1]
const %w : int8[6,4,3,3] = random(1)
const %b : float32[6] = random(2)
)"};

std::string withHead(std::string_view body)
{
    return std::string{kHead} + std::string{body};
}

std::string const kProduct{"product={NbOutputMaps=6, KernelSizeNd=(3,3)"};
} // namespace

TEST(Int8Rules, convolutionOfDequantizedOperandsMultipliesIntegers)
{
    expectRewrite("quantize-products", withHead(R"(
%x = Dequantize(%q, %s) {Axis=-2}
%k = Dequantize(%w, %c) {Axis=0}
%y = Convolution(%x, %k, %b) {NbOutputMaps=6, KernelSizeNd=(3,3)}
output %y
)"),
        withHead("%y = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct + "}, inputScale=0.125}\noutput %y\n"));
}

TEST(Int8Rules, zeroPointsOfOperandAndResult)
{
    expectRewrite("", withHead(R"(
%x = Dequantize(%q, %s) {Axis=-2, zeroPoint=-7}
%k = Dequantize(%w, %c) {Axis=0}
%z = Convolution(%x, %k, %b) {NbOutputMaps=6, KernelSizeNd=(3,3)}
%r = Activation(%z) {ActivationType=0}
%y = Quantize(%r, %t) {Axis=-2, zeroPoint=-128}
output %y
)"),
        withHead("%y = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + ", epilogue={steps=[{kind=2}]}}, inputScale=0.125, outputScale=0.5, inputZero=-7, outputZero=-128}\n"
              "output %y\n"));
}

TEST(Int8Rules, kernelWithAZeroPointStays)
{
    expectUnchanged("quantize-products", withHead(R"(
%x = Dequantize(%q, %s) {Axis=-2}
%k = Dequantize(%w, %s) {Axis=-2, zeroPoint=1}
%y = Convolution(%x, %k, %b) {NbOutputMaps=6, KernelSizeNd=(3,3)}
output %y
)"));
}

//! Equal numbers of other zero points are other numbers.
TEST(Int8Rules, requantizationByAnotherZeroPointStays)
{
    expectUnchanged("cancel-requantization", withHead(R"(
%x = Dequantize(%q, %s) {Axis=-2, zeroPoint=3}
%y = Quantize(%x, %s) {Axis=-2, zeroPoint=4}
output %y
)"));
    expectRewrite("cancel-requantization", withHead(R"(
%v = Shuffle(%q) {ReshapeDimensions=(0,-1)}
%x = Dequantize(%v, %s) {Axis=-2, zeroPoint=3}
%y = Quantize(%x, %s) {Axis=-2, zeroPoint=3}
output %y
)"),
        withHead("%y = Shuffle(%q) {ReshapeDimensions=(0,-1)}\noutput %y\n"));
}

//! Rounding in the middle of a fusion knows none.
TEST(Int8Rules, resultOfAZeroPointStaysInt8)
{
    expectUnchanged("open-int8-product",
        withHead("%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125, outputScale=0.5, outputZero=2}\n"
              "%y = Dequantize(%z, %t) {Axis=-2, zeroPoint=2}\noutput %y\n"));
}

TEST(Int8Rules, sumOfAResidualWithAZeroPoint)
{
    expectRewrite("fuse-int8-sum",
        withHead("input %r : int8[N,6,6,6]\n%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125}\n%e = Dequantize(%r, %t) {Axis=-2, zeroPoint=6}\n"
              "%y = ElementWise(%e, %z) {Operation=0}\noutput %y\n"),
        withHead("input %r : int8[N,6,6,6]\n%y = QuantizedConvolution(%q, %w, %b, %c, %r) {" + kProduct
            + ", epilogue={steps=[{kind=0, alpha=0.5},{kind=13, alpha=1, beta=-3}]}}, inputScale=0.125}\noutput %y\n"));
}

TEST(Int8Rules, convolutionStaysWithoutLimits)
{
    std::string const before = withHead(R"(
%x = Dequantize(%q, %s) {Axis=-2}
%k = Dequantize(%w, %c) {Axis=0}
%y = Convolution(%x, %k, %b) {NbOutputMaps=6, KernelSizeNd=(3,3)}
output %y
)");
    expectUnchanged("quantize-products", before, FusionLimits{});
}

TEST(Int8Rules, kernelWithScalesOfInputChannelsStays)
{
    expectUnchanged("quantize-products", R"(
input %q : int8[N,6,8,8]
const %s : float32[] = 0.125
const %c : float32[6] = [0.25,0.5,0.125,0.25,0.5,1]
const %w : int8[6,6,1,1] = random(1)
%x = Dequantize(%q, %s) {Axis=-2}
%k = Dequantize(%w, %c) {Axis=1}
%y = Convolution(%x, %k) {NbOutputMaps=6, KernelSizeNd=(1,1)}
output %y
)");
}

TEST(Int8Rules, productOfTwoDequantizedMatrices)
{
    expectRewrite("quantize-products", R"(
input %a : int8[N,5,8]
input %b : int8[N,6,8]
const %s : float32[] = 0.125
const %t : float32[] = 0.5
%x = Dequantize(%a, %s) {Axis=-2}
%z = Dequantize(%b, %t) {Axis=-2}
%y = MatrixMultiply(%x, %z) {operation1=1, alpha=0.5}
output %y
)",
        R"(
input %a : int8[N,5,8]
input %b : int8[N,6,8]
const %t : float32[] = 0.5
%y = QuantizedMatrixMultiply(%a, %b, _, %t) {product={operation1=1, alpha=0.5}, inputScale=0.125}
output %y
)");
}

TEST(Int8Rules, productsInHalfPrecisionGiveHalfPrecision)
{
    expectRewrite("quantize-products", R"(
input %q : int8[N,4,8,8]
const %s : float16[] = 0.125
const %c : float16[6] = [0.25,0.5,0.125,0.25,0.5,1]
const %w : int8[6,4,3,3] = random(1)
const %b : float16[6] = random(2)
%x = Dequantize(%q, %s) {Axis=-2, ToType=1}
%k = Dequantize(%w, %c) {Axis=0, ToType=1}
%y = Convolution(%x, %k, %b) {NbOutputMaps=6, KernelSizeNd=(3,3)}
output %y
)",
        R"(
input %q : int8[N,4,8,8]
const %c : float32[6] = [0.25,0.5,0.125,0.25,0.5,1]
const %w : int8[6,4,3,3] = random(1)
const %b : float16[6] = random(2)
%y = QuantizedConvolution(%q, %w, %b, %c) {product={NbOutputMaps=6, KernelSizeNd=(3,3)}, inputScale=0.125, realType=1}
output %y
)");
}

TEST(Int8Rules, productsOfFp8FromQuantizeToQuantize)
{
    expectRewrite("", R"(
input %x : float32[N,16]
const %s : float32[] = 0.0625
const %t : float32[] = 0.03125
const %c : float32[] = 0.015625
const %w : float32[16,12] = random(1)
const %v : float32[12,7] = random(2)
%q = Quantize(%x, %s) {Axis=-2, ToType=6}
%a = Dequantize(%q, %s) {Axis=-2}
%p = Quantize(%w, %c) {Axis=-2, ToType=6}
%b = Dequantize(%p, %c) {Axis=-2}
%y = MatrixMultiply(%a, %b)
%r = Quantize(%y, %t) {Axis=-2, ToType=6}
%d = Dequantize(%r, %t) {Axis=-2}
%o = Quantize(%v, %c) {Axis=-2, ToType=6}
%e = Dequantize(%o, %c) {Axis=-2}
%z = MatrixMultiply(%d, %e)
output %z
)",
        R"(
input %x : float32[N,16]
const %s : float32[] = 0.0625
const %c : float32[] = 0.015625
const %w : fp8[16,12] = random(1)
const %v : fp8[12,7] = random(2)
%q = Quantize(%x, %s) {Axis=-2, ToType=6}
%y = QuantizedMatrixMultiply(%q, %w, _, %c) {inputScale=0.0625, outputScale=0.03125}
%z = QuantizedMatrixMultiply(%y, %v, _, %c) {inputScale=0.03125}
output %z
)");
}

TEST(Int8Rules, operandsOfTwoTypesStay)
{
    expectUnchanged("quantize-products", R"(
input %a : fp8[N,5,16]
input %b : int8[N,6,16]
const %s : float32[] = 0.125
%x = Dequantize(%a, %s) {Axis=-2}
%z = Dequantize(%b, %s) {Axis=-2}
%y = MatrixMultiply(%x, %z) {operation1=1}
output %y
)");
}

TEST(Int8Rules, depthsAndGroupsThatTheDeviceHasNoKernelForStay)
{
    FusionLimits limits = generousLimits();
    limits.quantizedGrain = 16;
    auto const textOf = [](int channels, int groups) {
        return fmt::format(R"(
input %q : int8[N,{},8,8]
const %s : float32[] = 0.125
const %w : int8[6,{},1,1] = random(1)
%x = Dequantize(%q, %s) {{Axis=-2}}
%k = Dequantize(%w, %s) {{Axis=-2}}
%y = Convolution(%x, %k) {{NbOutputMaps=6, KernelSizeNd=(1,1), NbGroups={}}}
output %y
)",
            channels, channels / groups, groups);
    };
    expectUnchanged("quantize-products", textOf(24, 1), limits);
    expectUnchanged("quantize-products", textOf(32, 2), limits);
    expectRewrite("quantize-products", textOf(32, 1), R"(
input %q : int8[N,32,8,8]
const %s : float32[] = 0.125
const %w : int8[6,32,1,1] = random(1)
%y = QuantizedConvolution(%q, %w, _, %s) {product={NbOutputMaps=6, KernelSizeNd=(1,1)}, inputScale=0.125}
output %y
)",
        limits);
}

TEST(Int8Rules, whatIsQuantizedIsStoredAsInt8)
{
    expectRewrite("close-int8-product",
        withHead("%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + ", epilogue={steps=[{kind=2}]}}, inputScale=0.125}\n%y = Quantize(%z, %t) {Axis=-2}\noutput %y\n"),
        withHead("%y = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + ", epilogue={steps=[{kind=2}]}}, inputScale=0.125, outputScale=0.5}\noutput %y\n"));
}

TEST(Int8Rules, roundingTwiceByOneScaleIsRoundingOnce)
{
    for (std::string const steps : {"{kind=14, alpha=0.5},{kind=2}", "{kind=14, alpha=0.5},{kind=3, alpha=0, beta=6}"})
        expectRewrite("close-int8-product",
            withHead("%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct + ", epilogue={steps=[" + steps
                + "]}}, inputScale=0.125}\n%y = Quantize(%z, %t) {Axis=-2}\noutput %y\n"),
            withHead("%y = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct + ", epilogue={steps=["
                + steps.substr(steps.find("},") + 2) + "]}}, inputScale=0.125, outputScale=0.5}\noutput %y\n"));
}

TEST(Int8Rules, roundingByAnotherScaleStays)
{
    std::string const steps{", epilogue={steps=[{kind=14, alpha=0.25},{kind=2}]}}, inputScale=0.125"};
    expectRewrite("close-int8-product",
        withHead("%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct + steps
            + "}\n%y = Quantize(%z, %t) {Axis=-2}\noutput %y\n"),
        withHead("%y = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct + steps + ", outputScale=0.5}\noutput %y\n"));
}

TEST(Int8Rules, productThatOthersReadStaysReal)
{
    expectUnchanged("close-int8-product",
        withHead("%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125}\n%y = Quantize(%z, %t) {Axis=-2}\noutput %y\noutput %z\n"));
}

TEST(Int8Rules, sumOfAResidualThatIsInt8)
{
    expectRewrite("fuse-int8-sum",
        withHead("input %r : int8[N,6,6,6]\n%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125}\n%e = Dequantize(%r, %t) {Axis=-2}\n%y = ElementWise(%e, %z) {Operation=0}\noutput "
              "%y\n"),
        withHead("input %r : int8[N,6,6,6]\n%y = QuantizedConvolution(%q, %w, %b, %c, %r) {" + kProduct
            + ", epilogue={steps=[{kind=0, alpha=0.5}]}}, inputScale=0.125}\noutput %y\n"));
}

TEST(Int8Rules, sumOfAResidualThatIsReal)
{
    expectRewrite("fuse-int8-sum",
        withHead("input %r : float32[N,6,6,6]\n%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125}\n%y = ElementWise(%z, %r) {Operation=0}\noutput %y\n"),
        withHead("input %r : float32[N,6,6,6]\n%y = QuantizedConvolution(%q, %w, %b, %c, %r) {" + kProduct
            + ", epilogue={steps=[{kind=0}]}}, inputScale=0.125}\noutput %y\n"));
}

TEST(Int8Rules, activationOfAProduct)
{
    expectRewrite("fuse-int8-activation",
        withHead("%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125}\n%y = Activation(%z) {ActivationType=0}\noutput %y\n"),
        withHead("%y = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + ", epilogue={steps=[{kind=2}]}}, inputScale=0.125}\noutput %y\n"));
}

TEST(Int8Rules, dequantizedResultIsWrittenAsReals)
{
    expectRewrite("open-int8-product",
        withHead("%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125, outputScale=0.5}\n%y = Dequantize(%z, %t) {Axis=-2}\noutput %y\n"),
        withHead("%y = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + ", epilogue={steps=[{kind=14, alpha=0.5}]}}, inputScale=0.125}\noutput %y\n"));
}

TEST(Int8Rules, dequantizedResultOfAProductsOperandStays)
{
    expectUnchanged("open-int8-product",
        withHead("const %v : float32[2,6,1,1] = random(5)\n%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125, outputScale=0.5}\n%x = Dequantize(%z, %t) {Axis=-2}\n"
              "%y = Convolution(%x, %v) {NbOutputMaps=2, KernelSizeNd=(1,1)}\noutput %y\n"));
}

TEST(Int8Rules, viewsMoveIntegers)
{
    std::string const head{"input %q : int8[N,4,8,8]\ninput %r : int8[N,2,8,8]\nconst %s : float32[] = 0.125\n"};
    expectRewrite("dequantize-below-views",
        head + "%x = Dequantize(%q, %s) {Axis=-2}\n%y = Shuffle(%x) {ReshapeDimensions=(0,256)}\noutput %y\n",
        head + "%z = Shuffle(%q) {ReshapeDimensions=(0,256)}\n%y = Dequantize(%z, %s) {Axis=-2}\noutput %y\n");
    expectRewrite("dequantize-below-views",
        head + "%x = Dequantize(%q, %s) {Axis=-2}\n%y = Pooling(%x) {WindowSizeNd=(2,2)}\noutput %y\n",
        head + "%z = Pooling(%q) {WindowSizeNd=(2,2)}\n%y = Dequantize(%z, %s) {Axis=-2}\noutput %y\n");
    expectRewrite("dequantize-below-views",
        head
            + "%x = Dequantize(%q, %s) {Axis=-2}\n%u = Dequantize(%r, %s) {Axis=-2}\n%y = Concatenation(%x, %u) "
              "{Axis=1}\noutput %y\n",
        head + "%z = Concatenation(%q, %r) {Axis=1}\n%y = Dequantize(%z, %s) {Axis=-2}\noutput %y\n");
}

TEST(Int8Rules, viewsOfTwoScalesAndMeansStay)
{
    std::string const head{
        "input %q : int8[N,4,8,8]\ninput %r : int8[N,2,8,8]\nconst %s : float32[] = 0.125\nconst %t : float32[] = 1\n"};
    expectUnchanged("dequantize-below-views",
        head
            + "%x = Dequantize(%q, %s) {Axis=-2}\n%u = Dequantize(%r, %t) {Axis=-2}\n%y = Concatenation(%x, %u) "
              "{Axis=1}\noutput %y\n");
    expectUnchanged("dequantize-below-views",
        head + "%x = Dequantize(%q, %s) {Axis=-2}\n%y = Pooling(%x) {PoolingType=1, WindowSizeNd=(2,2)}\noutput %y\n");
}

TEST(Int8Rules, quantizingMovesAboveViews)
{
    std::string const head{"input %x : float32[N,4,8,8]\nconst %s : float32[] = 0.125\n"};
    expectRewrite("quantize-above-views",
        head + "%z = Shuffle(%x) {ReshapeDimensions=(0,256)}\n%y = Quantize(%z, %s) {Axis=-2}\noutput %y\n",
        head + "%z = Quantize(%x, %s) {Axis=-2}\n%y = Shuffle(%z) {ReshapeDimensions=(0,256)}\noutput %y\n");
    expectUnchanged("quantize-above-views",
        head + "%z = Shuffle(%x) {ReshapeDimensions=(0,256)}\n%y = Quantize(%z, %s) {Axis=-2}\noutput %y\noutput %z\n");
}

//! An attention that the product becomes part of gives its result in the order that is asked for.
TEST(Int8Rules, quantizationStaysBehindATransposeOfAProduct)
{
    expectUnchanged("quantize-above-views", R"(
input %a : float32[N,4,5,8]
input %b : float32[N,4,8,6]
const %s : float32[] = 0.1
%x = MatrixMultiply(%a, %b)
%z = Shuffle(%x) {FirstTranspose=[0,2,1,3,4,5,6,7], ReshapeDimensions=(0,0,24)}
%y = Quantize(%z, %s) {Axis=-2}
output %y
)");
}

//! Behind the maxima there are fewer elements; a product of int8 numbers rounds its own.
TEST(Int8Rules, quantizationStaysBehindMaximaOfRealNumbers)
{
    std::string const head{"input %x : float32[N,3,8,8]\nconst %w : float32[4,3,1,1] = random(1)\n"
                           "const %s : float32[] = 0.125\n"
                           "%c = Convolution(%x, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}\n"};
    std::string const tail{"%z = Pooling(%r) {WindowSizeNd=(2,2)}\n%y = Quantize(%z, %s) {Axis=-2}\noutput %y\n"};
    expectUnchanged("quantize-above-views", head + "%r = Activation(%c) {ActivationType=0}\n" + tail);
    expectRewrite("quantize-above-views", head + "%r = ElementWise(%c, %c) {Operation=0}\n" + tail,
        head
            + "%r = ElementWise(%c, %c) {Operation=0}\n%q = Quantize(%r, %s) {Axis=-2}\n"
              "%y = Pooling(%q) {WindowSizeNd=(2,2)}\noutput %y\n");
}

//! Behind the product it meets others, as that of numbers that nothing quantizes does.
TEST(Int8Rules, whatMovesRowsMovesBehindTheirQuantization)
{
    std::string const head{
        "input %x : float32[3,4,8]\nconst %w : int8[1,8,6] = random(1)\nconst %s : float32[] = 0.125\n"
        "%k = Dequantize(%w, %s) {Axis=-2}\n"};
    std::string const tail{"%y = MatrixMultiply(%m, %k)\noutput %y\n"};
    std::string const transpose{"FirstTranspose=[1,0,2,3,4,5,6,7]}\n"};
    std::string const reshape{"ReshapeDimensions=(4,3,8)}\n"};
    auto const before = [&](std::string const& how, std::string const& more) {
        return head + "%t = Shuffle(%x) {" + how
            + "%q = Quantize(%t, %s) {Axis=-2}\n%m = Dequantize(%q, %s) {Axis=-2}\n" + more + tail;
    };
    auto const behind = [&](std::string const& how) {
        return head + "%q = Quantize(%x, %s) {Axis=-2}\n%d = Dequantize(%q, %s) {Axis=-2}\n%m = Shuffle(%d) {" + how
            + tail;
    };
    for (std::string const rule : {"sink-transpose-below-quantization", "sink-shuffle-below-quantization"})
    {
        expectRewrite(rule, before(transpose, ""), behind(transpose));
        expectUnchanged(rule, before(transpose, "output %q\n"));
    }
    expectUnchanged("sink-transpose-below-quantization", before(reshape, ""));
    expectRewrite("sink-shuffle-below-quantization", before(reshape, ""), behind(reshape));
    expectUnchanged("sink-shuffle-below-quantization", before(reshape, ""), FusionLimits{});
    expectRewrite("sink-transpose-below-matmul", head + "%m = Shuffle(%x) {" + transpose + tail,
        head + "%m = MatrixMultiply(%x, %k)\n%y = Shuffle(%m) {" + transpose + "output %y\n");
}

//! What becomes of it is quantized; operands that are dequantized may become those of products of int8 numbers.
TEST(Int8Rules, attentionOfRealNumbersComesBeforeProducts)
{
    auto const text = [](std::string const& of, std::string const& behind) {
        return "input %q : float32[2,3,5,8]\ninput %k : float32[2,3,8,5]\ninput %v : float32[2,3,5,8]\n"
               "const %s : float32[] = 0.125\n"
            + std::string{of == "d" ? "%n = Quantize(%q, %s) {Axis=-2}\n%d = Dequantize(%n, %s) {Axis=-2}\n" : ""}
        + "%p = MatrixMultiply(%" + of + ", %k)\n%w = SoftMax(%p) {Axes=8}\n%r = MatrixMultiply(%w, %v)\n" + behind;
    };
    std::string const quantized{"%t = Shuffle(%r) {FirstTranspose=[0,2,1,3,4,5,6,7], ReshapeDimensions=(2,5,24)}\n"
                                "%y = Quantize(%t, %s) {Axis=-2}\noutput %y\n"};
    expectGone("fuse-real-attention", text("q", quantized), "SoftMax");
    expectUnchanged("fuse-real-attention", text("d", quantized));
    expectUnchanged("fuse-real-attention", text("q", "output %r\n"));
    expectUnchanged("fuse-real-attention", text("q", quantized), FusionLimits{});
}

TEST(Int8Rules, normsRoundTheirResults)
{
    std::string const head{
        "input %x : float32[3,8]\nconst %g : float32[1,8] = random(1)\nconst %s : float32[] = 0.125\n"};
    std::string const norm{"%n = Normalization(%x, %g) {Axes=2}\n%q = Quantize(%n, %s) {Axis=-2}\noutput %q\n"};
    std::string const fused{"%q = QuantizedNormalization(%x, %g) {norm={Axes=2}, scale=0.125}\noutput %q\n"};
    FusionLimits limits = generousLimits();
    expectUnchanged("fuse-quantize-into-norm", head + norm, limits);
    limits.quantizedGrain = 16;
    expectRewrite("fuse-quantize-into-norm", head + norm, head + fused, limits);
    expectUnchanged("fuse-quantize-into-norm", head + norm + "output %n\n", limits);
    expectGone("undo-quantized-norm", head + fused, "QuantizedNormalization");
}

//! As importers write weights for a product with a batch in front.
TEST(Int8Rules, weightsWithAnAxisInFrontStayInt8)
{
    expectRewrite("", R"(
input %q : int8[N,5,8]
const %s : float32[] = 0.125
const %c : float32[6] = [0.25,0.5,0.125,0.25,0.5,1]
const %w : int8[8,6] = random(1)
const %axes : int32[1] = 0
%x = Dequantize(%q, %s) {Axis=-2}
%k = Dequantize(%w, %c) {Axis=1}
%u = Unsqueeze(%k, %axes)
%y = MatrixMultiply(%x, %u)
output %y
)",
        R"(
input %q : int8[N,5,8]
const %c : float32[6] = [0.25,0.5,0.125,0.25,0.5,1]
const %w : int8[1,8,6] = random(1)
%y = QuantizedMatrixMultiply(%q, %w, _, %c) {inputScale=0.125}
output %y
)");
}

TEST(Int8Rules, numbersThatAreRoundedByTheSameScaleStay)
{
    std::string const head{"input %q : int8[N,4]\nconst %s : float32[] = 0.1\nconst %t : float32[] = 0.2\n"};
    expectRewrite("cancel-requantization",
        head + "%x = Dequantize(%q, %s) {Axis=-2}\n%y = Quantize(%x, %s) {Axis=-2}\noutput %y\n", head + "output %q\n");
    expectUnchanged("cancel-requantization",
        head + "%x = Dequantize(%q, %s) {Axis=-2}\n%y = Quantize(%x, %t) {Axis=-2}\noutput %y\n");
}

TEST(Int8Rules, weightsAreReshapedBeforeTheyAreDequantized)
{
    expectRewrite("dequantize-reshaped-weights", R"(
input %x : float32[N,5,4]
const %w : int8[4,6] = random(1)
const %c : float32[6] = [0.25,0.5,0.125,0.25,0.5,1]
%k = Dequantize(%w, %c) {Axis=1}
%r = Shuffle(%k) {ReshapeDimensions=(1,4,6)}
%y = MatrixMultiply(%x, %r)
output %y
)",
        R"(
input %x : float32[N,5,4]
const %w : int8[1,4,6] = random(1)
const %c : float32[6] = [0.25,0.5,0.125,0.25,0.5,1]
%k = Dequantize(%w, %c) {Axis=2}
%y = MatrixMultiply(%x, %k)
output %y
)");
}

TEST(Int8Rules, scalesOfChannelsGoIntoTheKernels)
{
    expectRewrite("fold-channel-affine", R"(
input %q : int8[N,4,8,8]
const %one : float32[] = 0.5
const %w : int8[2,4,3,3] = random(1)
const %f : float32[1,2,1,1] = [-2,4]
%z = QuantizedConvolution(%q, %w, _, %one) {product={NbOutputMaps=2, KernelSizeNd=(3,3)}, inputScale=0.125}
%y = ElementWise(%z, %f) {Operation=1}
output %y
)",
        R"(
input %q : int8[N,4,8,8]
const %c : float32[2] = [-1,2]
const %w : int8[2,4,3,3] = random(1)
%y = QuantizedConvolution(%q, %w, _, %c) {product={NbOutputMaps=2, KernelSizeNd=(3,3)}, inputScale=0.125}
output %y
)");
}

//! Convolution, rounding, residual, ReLU, pooling and a product, as exporters write them: four steps of int8 remain.
TEST(Int8Rules, blockOfANetwork)
{
    expectRewrite("", R"(
input %x : float32[N,4,8,8]
const %s : float32[] = 0.125
const %t : float32[] = 0.5
const %w : int8[4,4,1,1] = random(1)
const %m : int8[64,5] = random(2)
%q0 = Quantize(%x, %s)
%d0 = Dequantize(%q0, %s)
%k0 = Dequantize(%w, %t)
%y0 = Convolution(%d0, %k0) {NbOutputMaps=4, KernelSizeNd=(1,1)}
%q1 = Quantize(%y0, %t)
%d1 = Dequantize(%q1, %t)
%y1 = ElementWise(%d1, %d0) {Operation=0}
%q2 = Quantize(%y1, %t)
%d2 = Dequantize(%q2, %t)
%y2 = Activation(%d2) {ActivationType=0}
%q3 = Quantize(%y2, %t)
%d3 = Dequantize(%q3, %t)
%y3 = Pooling(%d3) {WindowSizeNd=(2,2)}
%q4 = Quantize(%y3, %t)
%d4 = Dequantize(%q4, %t)
%y4 = Shuffle(%d4) {ReshapeDimensions=(0,64)}
%q5 = Quantize(%y4, %t)
%d5 = Dequantize(%q5, %t)
%k1 = Dequantize(%m, %s)
%y5 = MatrixMultiply(%d5, %k1)
output %y5
)",
        R"(
input %x : float32[N,4,8,8]
const %s : float32[] = 0.125
const %t : float32[] = 0.5
const %w : int8[4,4,1,1] = random(1)
const %m : int8[64,5] = random(2)
%q0 = Quantize(%x, %s) {Axis=-2}
%c = QuantizedConvolution(%q0, %w, _, %t, %q0) {product={NbOutputMaps=4, KernelSizeNd=(1,1), )"
        R"(epilogue={steps=[{kind=14, alpha=0.5},{kind=0, alpha=0.125},{kind=2}]}}, inputScale=0.125, outputScale=0.5}
%p = Pooling(%c) {WindowSizeNd=(2,2)}
%f = Shuffle(%p) {ReshapeDimensions=(0,64)}
%y = QuantizedMatrixMultiply(%f, %m, _, %s) {inputScale=0.5}
output %y
)");
}

TEST(Undo, int8ProductBecomesLayersStepByStep)
{
    std::string const steps{", epilogue={steps=[{kind=14, alpha=0.25},{kind=0, alpha=0.125}]}}, inputScale=0.125"};
    std::string const head = withHead("input %r : int8[N,6,6,6]\nconst %i : float32[] = 0.25\n");
    std::string const sum{"%e = Dequantize(%r, %s) {Axis=-2}\n%y = ElementWise(%u, %e) {Operation=0}\n"};
    expectRewrite("undo-int8-product",
        head + "%y = QuantizedConvolution(%q, %w, %b, %c, %r) {" + kProduct + steps + ", outputScale=0.5}\noutput %y\n",
        head + "%z = QuantizedConvolution(%q, %w, %b, %c, %r) {" + kProduct + steps
            + "}\n%y = Quantize(%z, %t) {Axis=-2}\noutput %y\n");
    expectRewrite("undo-epilogue",
        head + "%y = QuantizedConvolution(%q, %w, %b, %c, %r) {" + kProduct + steps + "}\noutput %y\n",
        head + "%z = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125}\n%o = Quantize(%z, %i) {Axis=-2}\n%u = Dequantize(%o, %i) {Axis=-2}\n" + sum
            + "output %y\n");
    expectGone("undo-int8-product",
        head + "%y = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct + "}, inputScale=0.125}\noutput %y\n",
        "QuantizedConvolution");
    expectRewrite("undo-int8-product",
        head + "%y = QuantizedConvolution(%q, %w, %b, %c, %r) {" + kProduct + steps
            + ", outputScale=0.5, inputZero=3, outputZero=-9}\noutput %y\n",
        head + "%z = QuantizedConvolution(%q, %w, %b, %c, %r) {" + kProduct + steps
            + ", inputZero=3}\n%y = Quantize(%z, %t) {Axis=-2, zeroPoint=-9}\noutput %y\n");
    expectGone("undo-int8-product",
        head + "%y = QuantizedConvolution(%q, %w, %b, %c) {" + kProduct
            + "}, inputScale=0.125, inputZero=3}\noutput %y\n",
        "QuantizedConvolution");
    expectGone("undo-int8-product", R"(
input %a : int8[N,5,8]
input %b : int8[N,6,8]
const %t : float32[] = 0.5
%y = QuantizedMatrixMultiply(%a, %b, _, %t) {product={operation1=1, alpha=0.5}, inputScale=0.125}
output %y
)",
        "QuantizedMatrixMultiply");
}

} // namespace tenon::test
