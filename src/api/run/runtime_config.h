// RuntimeConfig and SerializationConfig: options of new contexts and of serialization.
#pragma once

#include "api/flags.h"
#include "api/handle.h"
#include "api/not_implemented.h"
#include "api/reporting.h"

namespace tenon::api
{

//! A context that was made with it keeps it (rule X1).
class RuntimeConfig final : public nvinfer1::apiv::VRuntimeConfig,
                            public Fronted<nvinfer1::IRuntimeConfig, RuntimeConfig>,
                            public std::enable_shared_from_this<RuntimeConfig>
{
  public:
    using Strategy = nvinfer1::ExecutionContextAllocationStrategy;

    explicit RuntimeConfig(std::shared_ptr<Reporting const> engines)
        : mReporting{std::move(engines)}
    {
    }
    nvinfer1::IRuntimeConfig* getPImpl() noexcept override
    {
        return &front();
    }
    void setExecutionContextAllocationStrategy(Strategy strategy) noexcept override
    {
        if (auto const number = static_cast<int32_t>(strategy); number >= 0 && number < nvinfer1::EnumMax<Strategy>())
            mStrategy = strategy;
        else
            mReporting->fail(badArgument(
                "IRuntimeConfig::setExecutionContextAllocationStrategy: {} is no strategy that is known", number));
    }
    Strategy getExecutionContextAllocationStrategy() const noexcept override
    {
        return mStrategy;
    }
    //! Microseconds for which threads of a run spin when they wait for each other; kStandardSpin: TENON_SPIN.
    Result<Done> setSpin(int64_t microseconds)
    {
        if (microseconds < kStandardSpin)
            return badArgument("{} microseconds cannot be; -1 stands for what TENON_SPIN says", microseconds);
        mSpin = microseconds;
        return Done{};
    }
    int64_t spin() const noexcept
    {
        return mSpin;
    }
    Reporting const& reporting() const noexcept
    {
        return *mReporting;
    }

  private:
    static constexpr int64_t kStandardSpin{-1};

    std::shared_ptr<Reporting const> mReporting; //!< The engine's: nobody could take the recorder from one of its own.
    Strategy mStrategy{Strategy::kSTATIC};
    int64_t mSpin{kStandardSpin};
};

class SerializationConfig final : public nvinfer1::apiv::VSerializationConfig,
                                  public Fronted<nvinfer1::ISerializationConfig, SerializationConfig>
{
  public:
    using Flag = nvinfer1::SerializationFlag;

    explicit SerializationConfig(std::shared_ptr<Reporting const> engines)
        : mReporting{std::move(engines)}
    {
    }
    bool setFlags(uint32_t serializationFlags) noexcept override
    {
        if ((serializationFlags >> nvinfer1::EnumMax<Flag>()) != 0)
            return mReporting->fail(
                badArgument("ISerializationConfig::setFlags: {:#x} has unknown bits", serializationFlags));
        mFlags = serializationFlags;
        return true;
    }
    uint32_t getFlags() const noexcept override
    {
        return mFlags;
    }
    bool clearFlag(Flag serializationFlag) noexcept override
    {
        uint32_t const bit = flagBit(mReporting->log(), "ISerializationConfig::clearFlag", serializationFlag);
        mFlags &= ~bit;
        return bit != 0;
    }
    bool setFlag(Flag serializationFlag) noexcept override
    {
        uint32_t const bit = flagBit(mReporting->log(), "ISerializationConfig::setFlag", serializationFlag);
        mFlags |= bit;
        return bit != 0;
    }
    bool getFlag(Flag serializationFlag) const noexcept override
    {
        return (mFlags & flagBit(mReporting->log(), "ISerializationConfig::getFlag", serializationFlag)) != 0;
    }

  private:
    std::shared_ptr<Reporting const> mReporting; //!< The engine's: nobody could take the recorder from one of its own.
    uint32_t mFlags{0};
};

} // namespace tenon::api
