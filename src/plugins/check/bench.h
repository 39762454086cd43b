// Bench: guarded memory for one combination at one point, and runs on it.
#pragma once

#include "plugins/check/guarded.h"
#include "plugins/check/host.h"

namespace tenon::plugins::check
{

//! Row-major contents of all outputs, as far as they have elements.
struct Outcome
{
    std::vector<RealTensor> outputs; //!< In the plugin's types.

    //! "output 0, element 7: 1.5, not 2"; empty: equal in every bit.
    std::string differenceFrom(Outcome const& other) const;
};

//! What memory holds before a run.
struct Fill
{
    bool isOutputInverted{false};
    bool isWorkspaceInverted{false};
};

class Bench
{
  public:
    //! `typed`: ports as configured; `salt`: other inputs for another number.
    static Result<Bench> make(Host& host, Form const& form, Ready const& ready, Point point, uint32_t salt = 0);

    Ports const& ports() const noexcept
    {
        return mPorts;
    }
    //! Tells the plugin the shapes, then runs it. What is written where it must not be becomes a finding.
    Result<Outcome> run(Plugin& plugin, Fill fill = {});
    //! Without telling the shapes again.
    Result<Outcome> runAgain(Plugin& plugin, Fill fill = {});
    //! Inputs as row-major tensors.
    std::vector<RealTensor> const& inputs() const noexcept
    {
        return mInputs;
    }
    //! The same in the formats of the ports.
    std::vector<Bytes> const& inputBytes() const noexcept
    {
        return mInputBytes;
    }
    size_t bytesOf(size_t port) const noexcept
    {
        return mMemory[port].size();
    }
    size_t workspaceBytes() const noexcept
    {
        return mWorkspace.front().size();
    }
    //! By output: the input whose memory it has, or −1.
    std::vector<int32_t> const& takenOver() const noexcept
    {
        return mTakenOver;
    }
    //! What a run has left there, wherever it was.
    Result<Outcome> outcomeIn(std::span<void const* const> outputs) const;
    //! Bytes of the last run that are as they were filled, per output.
    std::vector<Bytes> const& raw() const noexcept
    {
        return mRaw;
    }
    //! The first element, if any, that both runs left as it was filled.
    static std::string unwritten(
        Bench const& bench, std::vector<Bytes> const& plain, std::vector<Bytes> const& turned, Outcome const& outcome);

  private:
    explicit Bench(Host& host)
        : mHost{&host}
    {
    }
    //! By the user's function.
    Result<Done> refill(size_t input, RealTensor& contents);
    Result<Done> makeMemory(Ready const& ready, uint32_t seed);
    void prepare(Fill fill);
    void lookAround();
    Result<Outcome> outcome();

    Host* mHost;
    Form const* mForm{nullptr};
    std::vector<int64_t> mValues;
    Ports mPorts;
    std::vector<RealTensor> mInputs;
    std::vector<Bytes> mInputBytes;
    std::vector<Guarded> mMemory; //!< By port.
    std::vector<Guarded> mWorkspace;
    std::vector<int32_t> mTakenOver;
    std::vector<void const*> mInputAddresses;
    std::vector<void*> mOutputAddresses;
    std::vector<Bytes> mRaw;
};

//! The first element that is further from what is wanted (floating types as float32) than its type, or the options,
//! allow: "output 0, element 7: 1.5, not 2"; empty: there is none.
std::string differenceBeyond(Outcome const& got, std::vector<RealTensor> const& wanted, Options const& options);

//! Row-major elements as a format lays them out, padding zero, and back.
Bytes laidOut(RealTensor const& tensor, nvinfer1::TensorFormat format);
RealTensor rowMajor(uint8_t const* data, DType type, nvinfer1::TensorFormat format, std::vector<int64_t> extents);
//! Bytes that a port's tensor takes, padding included.
Result<size_t> bytesFor(DType type, nvinfer1::TensorFormat format, std::vector<int64_t> const& extents);

//! An element as text and as a number.
double numberAt(RealTensor const& tensor, size_t index) noexcept;
RealTensor randomTensor(DType type, std::vector<int64_t> extents, uint32_t seed);
//! Floating types as float32, and back.
RealTensor widened(RealTensor const& tensor);
RealTensor narrowed(RealTensor const& tensor, DType type);

} // namespace tenon::plugins::check
