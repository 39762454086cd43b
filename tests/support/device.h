// Memory, copies and streams for every test, so that the same tests run on other devices later.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

namespace tenon::test
{

//! The device that tests run on. On the CPU "device memory" is host memory.
class DeviceUnderTest
{
  public:
    virtual ~DeviceUnderTest() = default;
    virtual void* allocate(size_t bytes) = 0;
    virtual void release(void* memory) noexcept = 0;
    virtual void copyIn(void* to, void const* from, size_t bytes) = 0;
    virtual void copyOut(void* to, void const* from, size_t bytes) = 0;
    //! Handle of the stream that tests enqueue on.
    virtual void* stream() = 0;
    //! Waits for that stream; false when work of it has failed.
    virtual bool synchronize() = 0;
    //! From or to memory of the host, behind what stands in a stream; done when it returns.
    virtual void copyBehind(void* stream, void* to, void const* from, size_t bytes)
    {
        static_cast<void>(stream);
        std::memcpy(to, from, bytes);
    }
};

class HostUnderTest final : public DeviceUnderTest
{
  public:
    void* allocate(size_t bytes) override
    {
        return ::operator new(bytes, kAlignment);
    }
    void release(void* memory) noexcept override
    {
        ::operator delete(memory, kAlignment);
    }
    void copyIn(void* to, void const* from, size_t bytes) override
    {
        std::memcpy(to, from, bytes);
    }
    void copyOut(void* to, void const* from, size_t bytes) override
    {
        std::memcpy(to, from, bytes);
    }
    void* stream() override
    {
        return nullptr;
    }
    bool synchronize() override
    {
        return true;
    }

  private:
    static constexpr std::align_val_t kAlignment{256};
};

//! TENON_TEST_DEVICE: guarded or cuda (tests/devices), from wherever the program has it; else the host.
inline bool isUnderTest(char const* name)
{
    char const* const device = std::getenv("TENON_TEST_DEVICE");
    return device != nullptr && std::strcmp(device, name) == 0;
}
inline bool isGuarded()
{
    return isUnderTest("guarded");
}

inline DeviceUnderTest& deviceUnderTest()
{
    static DeviceUnderTest& device = []() -> DeviceUnderTest& {
        static HostUnderTest host;
        if (!isGuarded() && !isUnderTest("cuda"))
            return host;
        using Find = DeviceUnderTest* (*)();
        auto const find =
            reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, isGuarded() ? "tenonGuardedUnderTest" : "tenonCudaUnderTest"));
        if (find == nullptr)
            std::abort(); // The tests would pass on the wrong device.
        return *find();
    }();
    return device;
}

//! Device memory for `count` elements; starts with random bytes, never zeros.
template <typename T>
requires std::is_trivially_copyable_v<T>
class DeviceArray
{
  public:
    explicit DeviceArray(size_t count)
        : mCount{count},
          mData{allocate(count)}
    {
        std::vector<T> junk(count);
        if (count > 0)
            std::memset(static_cast<void*>(junk.data()), 0xCD, count * sizeof(T));
        write(junk);
    }
    explicit DeviceArray(std::vector<T> const& values)
        : mCount{values.size()},
          mData{allocate(values.size())}
    {
        write(values);
    }

    T* data() const noexcept
    {
        return mData.get();
    }
    size_t size() const noexcept
    {
        return mCount;
    }
    void write(std::span<T const> values)
    {
        if (!values.empty())
            deviceUnderTest().copyIn(mData.get(), values.data(), values.size_bytes());
    }
    std::vector<T> read() const
    {
        return read(mCount);
    }
    std::vector<T> read(size_t count) const
    {
        std::vector<T> values(count);
        deviceUnderTest().synchronize();
        if (count > 0)
            deviceUnderTest().copyOut(values.data(), mData.get(), count * sizeof(T));
        return values;
    }

  private:
    struct Release
    {
        void operator()(T* memory) const noexcept
        {
            deviceUnderTest().synchronize(); // A run may still use it, as in the programs that rely on cudaFree().
            deviceUnderTest().release(memory);
        }
    };
    static std::unique_ptr<T, Release> allocate(size_t count)
    {
        size_t const bytes = count == 0 ? 1 : count * sizeof(T);
        return std::unique_ptr<T, Release>{static_cast<T*>(deviceUnderTest().allocate(bytes))};
    }

    size_t mCount;
    std::unique_ptr<T, Release> mData;
};

//! Standard normal values, the same for the same seed.
inline std::vector<float> randomFloats(size_t count, uint32_t seed)
{
    std::mt19937 source{seed};
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values)
        value = normal(source);
    return values;
}

} // namespace tenon::test
