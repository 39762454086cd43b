// The first GPU as the device under test, by calls of its driver's library, which may be the fake one: memory, copies,
// and a stream that does not wait for the default one.
#include "support/device.h"

#include <cstdio>

namespace tenon::test
{

namespace
{
//! A call of the driver's by its name; the program ends where one fails, as tests could not go on.
template <typename... Args>
void callDriver(char const* name, Args... args)
{
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto const function = library == nullptr ? nullptr : reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    int const code = function == nullptr ? -1 : function(args...);
    if (code == 0)
        return;
    std::fprintf(stderr, "%s answers %d\n", name, code);
    std::abort();
}

class CudaUnderTest final : public DeviceUnderTest
{
  public:
    CudaUnderTest()
    {
        int device{0};
        callDriver("cuInit", 0U);
        callDriver("cuDeviceGet", &device, 0);
        callDriver("cuDevicePrimaryCtxRetain", &mContext, device);
        Current const current{*this};
        callDriver("cuStreamCreate", &mStream, 1U);
    }
    void* allocate(size_t bytes) override
    {
        Current const current{*this};
        void* memory{nullptr};
        callDriver("cuMemAlloc_v2", &memory, bytes);
        return memory;
    }
    void release(void* memory) noexcept override
    {
        Current const current{*this};
        callDriver("cuMemFree_v2", memory);
    }
    void copyIn(void* to, void const* from, size_t bytes) override
    {
        copyBehind(mStream, to, from, bytes);
    }
    void copyOut(void* to, void const* from, size_t bytes) override
    {
        copyBehind(mStream, to, from, bytes);
    }
    void* stream() override
    {
        return mStream;
    }
    bool synchronize() override
    {
        Current const current{*this};
        callDriver("cuStreamSynchronize", mStream);
        return true;
    }
    void copyBehind(void* stream, void* to, void const* from, size_t bytes) override
    {
        Current const current{*this};
        if (bytes > 0)
            callDriver("cuMemcpyAsync", to, from, bytes, stream);
        callDriver("cuStreamSynchronize", stream);
    }

  private:
    class Current
    {
      public:
        explicit Current(CudaUnderTest const& device)
        {
            callDriver("cuCtxPushCurrent_v2", device.mContext);
        }
        ~Current()
        {
            void* context{nullptr};
            callDriver("cuCtxPopCurrent_v2", &context);
        }
        Current(Current const&) = delete;
        Current& operator=(Current const&) = delete;
    };

    void* mContext{nullptr};
    void* mStream{nullptr};
};
} // namespace

} // namespace tenon::test

extern "C" __attribute__((visibility("default"))) tenon::test::DeviceUnderTest* tenonCudaUnderTest()
{
    static auto* const only = new tenon::test::CudaUnderTest; // Arrays of static objects go late.
    return only;
}
