// Small networks of real layers, written by the public calls and built into plans for the CPU.
#pragma once

#include "NvInfer.h"
#include "base/bytes.h"

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::test
{

//! Keeps errors and warnings.
class KeptMessages final : public nvinfer1::ILogger
{
  public:
    void log(Severity severity, nvinfer1::AsciiChar const* message) noexcept override
    {
        if (severity <= Severity::kERROR)
            errors += std::string{message} + "\n";
    }
    std::string errors;
};

//! A builder with one network, whose real numbers are all of one type. Weights are random and live as long
//! as it; calls return the new layer's output.
class CpuNetwork
{
  public:
    using Tensor = nvinfer1::ITensor;
    using List = std::vector<int64_t>;

    struct Window
    {
        int64_t kernel{3};
        int64_t stride{1};
        int64_t padding{1};
        int64_t groups{1};
    };

    explicit CpuNetwork(nvinfer1::DataType type = nvinfer1::DataType::kFLOAT);
    nvinfer1::DataType type() const noexcept
    {
        return mType;
    }
    nvinfer1::INetworkDefinition& get() noexcept
    {
        return *mNetwork;
    }
    //! Extents that differ between `low` and `high` are dynamic.
    Tensor& input(char const* name, List low, List best, List high);
    Tensor& floats(List const& extents, float scale = 1.0F);
    Tensor& integers(List const& extents, std::vector<int64_t> values);
    Tensor& convolution(char const* name, Tensor& x, int64_t channels, int64_t maps, Window window);
    Tensor& relu(Tensor& x);
    Tensor& activation(Tensor& x, nvinfer1::ActivationType type, float alpha = 0.0F, float beta = 0.0F);
    Tensor& binary(Tensor& a, Tensor& b, nvinfer1::ElementWiseOperation operation);
    Tensor& add(Tensor& a, Tensor& b);
    Tensor& unary(Tensor& x, nvinfer1::UnaryOperation operation);
    //! x · weights [rows, columns], plus a bias.
    Tensor& linear(char const* name, Tensor& x, int64_t rows, int64_t columns);
    //! Dims: 0 copies, −1 is what is left.
    Tensor& reshape(Tensor& x, List const& dims);
    Tensor& transpose(Tensor& x, std::vector<int32_t> const& order);
    Tensor& castTo(Tensor& x, nvinfer1::DataType type);
    void output(Tensor& x, char const* name);
    //! The serialized plan; empty after a failure.
    Bytes build();

  private:
    struct Bounds
    {
        std::string name;
        nvinfer1::Dims low;
        nvinfer1::Dims best;
        nvinfer1::Dims high;
    };
    nvinfer1::Weights weights(int64_t count, float scale);

    nvinfer1::DataType mType;
    KeptMessages mMessages;
    std::unique_ptr<nvinfer1::IBuilder> mBuilder;
    std::unique_ptr<nvinfer1::INetworkDefinition> mNetwork;
    std::deque<Bytes> mReals;
    std::deque<std::vector<int64_t>> mIntegers;
    std::vector<Bounds> mBounds;
};

struct CpuCase
{
    std::string_view name;
    void (*write)(CpuNetwork& net);
};

//! Networks that between them use every kernel of the CPU backend.
std::span<CpuCase const> cpuCases() noexcept;
Bytes planOf(CpuCase const& one, nvinfer1::DataType type = nvinfer1::DataType::kFLOAT);

//! A runtime of the CPU device.
std::unique_ptr<nvinfer1::IRuntime> cpuRuntime(nvinfer1::ILogger& logger);

} // namespace tenon::test
