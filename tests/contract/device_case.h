// DeviceCase: a device that the contract is tried on, and what a test needs to hold its streams and to capture them,
// which is not in the interface: programs do it through the device's own run-time library.
#pragma once

#include "backend/backend_table.h"
#include "support/device.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tenon::test
{

#define EXPECT_OK(expression)                                                                                          \
    do                                                                                                                 \
    {                                                                                                                  \
        auto const& okResult = (expression);                                                                           \
        EXPECT_TRUE(okResult) << (okResult ? std::string{} : okResult.error().message);                                \
    } while (false)

struct DeviceCase
{
    std::string name;
    BackendEntry const* backend{nullptr};
    Device& (*device)();
    //! Puts work into the stream that calls `pass`, which returns when the test lets it.
    Result<Done> (*hold)(void* stream, std::function<void()> pass);
    Result<Done> (*beginCapture)(void* stream);
    //! What was captured, ready to launch.
    Result<void*> (*endCapture)(void* stream);
    Result<Done> (*launch)(void* executable, void* stream);
    Result<Done> (*destroy)(void* executable);
    //! False: whoever is asked about an address that is no handle reads there, as NVIDIA's driver does.
    bool knowsHandles{true};
};

inline void PrintTo(DeviceCase const& device, std::ostream* out)
{
    *out << device.name;
}

//! The first GPU, where there is a driver; none else.
std::vector<DeviceCase> cudaCases();

//! All devices that this machine has.
std::vector<DeviceCase> const& deviceCases();
inline std::string nameOfCase(testing::TestParamInfo<DeviceCase> const& info)
{
    return info.param.name;
}

//! A device, a stream of it, and what it takes to run things there.
class Contract : public testing::TestWithParam<DeviceCase>
{
  protected:
    Contract()
        : mDevice{GetParam().device()}
    {
        auto stream = mDevice.createStream();
        EXPECT_OK(stream);
        mStream = stream ? *stream : nullptr;
    }
    ~Contract() override
    {
        EXPECT_OK(awaitStream());
        mDevice.destroyStream(mStream);
    }
    Result<Done> awaitStream();

    Device& mDevice;
    void* mStream{nullptr};
};

//! Memory of the device.
class DeviceMemoryOf
{
  public:
    DeviceMemoryOf(Device& device, size_t bytes);
    explicit DeviceMemoryOf(Device& device, std::vector<float> const& values);
    ~DeviceMemoryOf();
    DeviceMemoryOf(DeviceMemoryOf const&) = delete;
    DeviceMemoryOf& operator=(DeviceMemoryOf const&) = delete;
    void* data() const noexcept
    {
        return mData;
    }
    std::vector<float> read(size_t count) const;

  private:
    Device& mDevice;
    void* mData;
};

//! One layer of the backend's, ready to run: what a step of a plan is.
class Step
{
  public:
    //! `types` with constant extents, in the order of the layer's inputs.
    Step(DeviceCase const& device, LayerPtr layer, std::vector<TensorType> const& types);
    Launch launch(std::vector<void const*> inputs, std::vector<void*> outputs, int32_t step);
    //! Where its operands have to be.
    Place place() const noexcept
    {
        return mPlace;
    }

  private:
    Device& mDevice;
    Place mPlace{Place::kDevice};
    std::unique_ptr<Kernel> mKernel;
    std::shared_ptr<Prepared const> mPrepared;
    std::unique_ptr<DeviceMemoryOf> mScratch; //!< For steps of the device.
    std::vector<char> mHostScratch;
    std::vector<std::unique_ptr<std::vector<void const*>>> mInputs;
    std::vector<std::unique_ptr<std::vector<void*>>> mOutputs;
    int64_t mProduced[8]{};
};

//! out = a + b, all of them floats.
Step sumOf(DeviceCase const& device, int64_t count);
//! Fails when one of its booleans is false.
Step assertionOf(DeviceCase const& device, int64_t count);

//! Work in a stream that does not end before the test says so.
class Held
{
  public:
    Held(DeviceCase const& device, void* stream);
    ~Held();
    void open();

  private:
    struct State
    {
        std::mutex mutex;
        std::condition_variable changed;
        bool isOpen{false};
    };
    std::shared_ptr<State> mState;
};

//! Notes what it hears.
class Listener final : public RunListener
{
  public:
    Error failed(RunFailure const& failure) override;
    std::vector<int32_t> steps() const;

  private:
    mutable std::mutex mMutex;
    std::vector<int32_t> mSteps;
};

} // namespace tenon::test
