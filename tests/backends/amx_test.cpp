// Products by AMX against the reference, on machines without it by a fake (support/fake_amx.h).
#include "backends/cpu/amx.h"

#include "backends/kernel_case.h"
#include "base/half.h"
#include "layers/convolution.h"
#include "layers/matrix_multiply.h"
#include "layers/quantized_convolution.h"
#include "layers/quantized_matrix_multiply.h"
#include "support/fake_amx.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

namespace tenon::test
{

namespace
{
using nvinfer1::MatrixOperation;

class CpuAmx : public testing::Test
{
  protected:
    void SetUp() override
    {
        if (detectedIsa() < Isa::kAvx512Vnni || std::getenv("TENON_TEST_BACKEND") != nullptr)
            GTEST_SKIP() << "kernels for AMX need AVX-512 beside it";
        mFake.emplace();
        mBefore = FakeAmx::answered();
    }
    void TearDown() override
    {
        // What has passed must have gone this way.
        if (isFaked() && !IsSkipped())
        {
            EXPECT_GT(FakeAmx::answered(), mBefore);
        }
        mFake.reset();
    }

    //! Not on machines that have AMX.
    bool isFaked() const
    {
        return mFake && mFake->isNeeded();
    }

  private:
    std::optional<FakeAmx> mFake;
    int64_t mBefore{0};
};

nvinfer1::Dims amxDims(std::vector<int64_t> const& values)
{
    nvinfer1::Dims dims{};
    dims.nbDims = static_cast<int32_t>(values.size());
    for (size_t i = 0; i < values.size(); ++i)
        dims.d[i] = values[i];
    return dims;
}

struct AmxWindows
{
    std::vector<int64_t> x;
    int64_t maps;
    std::vector<int64_t> kernel;
    int64_t groups{1};
    std::vector<int64_t> stride{1, 1};
    std::vector<int64_t> dilation{1, 1};
    std::vector<int64_t> padding{0, 0};
};

Convolution convolutionOf(AmxWindows const& form)
{
    Convolution layer;
    layer.nbOutputMaps = form.maps;
    layer.kernelSize = amxDims(form.kernel);
    layer.nbGroups = form.groups;
    layer.stride = amxDims(form.stride);
    layer.dilation = amxDims(form.dilation);
    layer.prePadding = layer.postPadding = amxDims(form.padding);
    return layer;
}

std::vector<int64_t> kernelOf(AmxWindows const& form)
{
    std::vector<int64_t> kernel{form.maps, form.x[1] / form.groups};
    kernel.insert(kernel.end(), form.kernel.begin(), form.kernel.end());
    return kernel;
}

HostTensor bytesTensor(std::vector<int64_t> extents)
{
    return randomTensor(std::move(extents), -128.49, 127.49, DType::kINT8);
}

//! A type that products of real numbers are stored in, and how far a result may be off.
struct AmxStorage
{
    DType type;
    Tolerance tolerance;
};
constexpr AmxStorage kAmxStorages[]{{DType::kBF16, {2e-2, 2e-2}}, {DType::kHALF, {1e-3, 2.5e-3}}};

//! All types, with all operands that an epilogue may have.
void expectWindows(AmxWindows const& form)
{
    SCOPED_TRACE(fmt::format("{} -> {} maps, kernel {}, groups {}", fmt::join(form.x, "x"), form.maps,
        fmt::join(form.kernel, "x"), form.groups));
    QuantizedConvolution quantized;
    quantized.product = convolutionOf(form);
    quantized.inputScale = 0.02F;
    expectKernels(quantized,
        {input(bytesTensor(form.x)), weight(bytesTensor(kernelOf(form))), weight(randomTensor({form.maps})),
            weight(randomTensor({form.maps}, 0.001, 0.01))},
        "int8", {1e-4, 1e-5}, Types::kFloatOnly);
    Convolution real = convolutionOf(form);
    real.epilogue.steps = {{EpilogueKind::kGeluErf}};
    for (auto const& [type, tolerance] : kAmxStorages)
        expectKernels(real,
            {input(randomTensor(form.x, -1.0, 1.0, type)), weight(randomTensor(kernelOf(form), -1.0, 1.0, type)),
                weight(randomTensor({form.maps}, -1.0, 1.0, type))},
            "rows", tolerance, Types::kFloatOnly);
}

void expectMatrices(int64_t rows, int64_t depth, int64_t columns)
{
    SCOPED_TRACE(fmt::format("{} x {} x {}", rows, depth, columns));
    QuantizedMatrixMultiply quantized;
    quantized.inputScale = 0.02F;
    expectKernels(quantized,
        {input(bytesTensor({rows, depth})), weight(bytesTensor({depth, columns})), weight(randomTensor({columns})),
            weight(randomTensor({}, 0.001, 0.01))},
        "int8", {1e-4, 1e-5}, Types::kFloatOnly);
    MatrixMultiply real;
    real.alpha = 0.5F;
    real.epilogue.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}};
    for (auto const& [type, tolerance] : kAmxStorages)
        expectKernels(real,
            {input(randomTensor({rows, depth}, -1.0, 1.0, type)),
                weight(randomTensor({depth, columns}, -1.0, 1.0, type)),
                weight(randomTensor({columns}, -1.0, 1.0, type)),
                input(randomTensor({rows, columns}, -1.0, 1.0, type))},
            "panels", tolerance, Types::kFloatOnly);
}

//! Every number of float16 times others.
void expectEveryHalf(std::vector<double> const& columns, Tolerance tolerance)
{
    constexpr int64_t kNumbers{0x10000};
    HostTensor numbers{DType::kHALF, {kNumbers, 1}};
    for (int64_t i = 0; i < kNumbers; ++i)
        numbers.set(i, static_cast<double>(halfToFloat(static_cast<uint16_t>(i))));
    HostTensor by{DType::kHALF, {1, static_cast<int64_t>(columns.size())}};
    for (size_t i = 0; i < columns.size(); ++i)
        by.set(static_cast<int64_t>(i), columns[i]);
    expectKernels(
        MatrixMultiply{}, {input(std::move(numbers)), weight(std::move(by))}, "panels", tolerance, Types::kFloatOnly);
}
} // namespace

TEST_F(CpuAmx, numbersOfRowsAndColumns)
{
    for (int64_t const rows : {4, 15, 16, 17, 31, 32, 33, 70, 133})
        for (int64_t const columns : {1, 8, 16, 17, 33, 48, 64})
            expectMatrices(rows, 40 + rows, columns);
}

//! Elements of a register's row, and those that are left over.
TEST_F(CpuAmx, depths)
{
    for (int64_t const depth : {1, 2, 3, 4, 5, 31, 32, 33, 60, 63, 64, 65, 96, 127, 128, 130, 257})
        expectMatrices(70, depth, 40);
    expectMatrices(66, 4700, 70); // More panels than are taken at once.
}

//! By numbers of eight bits, which have no low part: exactly, infinities and what is no number included.
TEST_F(CpuAmx, everyHalfByEightBits)
{
    expectEveryHalf({1.0, -1.0 - 0x1p-7, 0x1.54p-3, 0x1p-14, -0x1.4p-22, 255.0}, {0.0, 0.0});
}

//! Two roundings, and what is left out.
TEST_F(CpuAmx, everyHalfByElevenBits)
{
    expectEveryHalf({-1.0 - 0x1p-10, 2047.0, 0x1.ffcp-5}, {0x1p-24, 0x1p-10 + 0x1p-14});
}

//! An instruction that loses subnormal numbers is not what AMX-FP16 is.
TEST_F(CpuAmx, wrongHalvesAreNoticed)
{
    if (!isFaked())
        GTEST_SKIP() << "only the fake can be wrong";
    EXPECT_TRUE(cpu::avx512::amxHalvesAgree());
    FakeAmx::flushHalves(true);
    EXPECT_FALSE(cpu::avx512::amxHalvesAgree());
    FakeAmx::flushHalves(false);
}

TEST_F(CpuAmx, windows)
{
    expectWindows({{2, 16, 9, 7}, 32, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}});
    expectWindows({{1, 64, 7, 7}, 70, {3, 3}, 1, {2, 2}, {1, 1}, {1, 1}});
    expectWindows({{1, 20, 12, 11}, 24, {5, 3}, 1, {1, 2}, {2, 1}, {4, 1}});
    expectWindows({{1, 19, 12, 11}, 40, {3, 5}, 1, {1, 1}, {1, 2}, {1, 4}});
    expectWindows({{3, 33, 6, 6}, 17, {1, 1}});
    expectWindows({{2, 12, 6, 6}, 16, {1, 1}, 1, {2, 2}});
    for (int64_t const channels : {1, 2, 3, 4, 7})
        expectWindows({{2, channels, 15, 13}, 16 + channels, {7, 5}, 1, {2, 2}, {1, 1}, {3, 2}});
    for (int64_t const groups : {2, 3})
        expectWindows({{2, 6 * groups, 8, 9}, 10 * groups, {3, 3}, groups, {1, 1}, {1, 1}, {1, 1}});
}

} // namespace tenon::test
