// What a program compiled elsewhere for 10.x knows of Tenon: slots by number and offsets from the table of the layout,
// and objects of its own that are laid out by hand. Nothing here sees a header of ours.
#pragma once

#include "api_test/slots.h"
#include "support/device.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace raw
{
struct RawDims
{
    int32_t rank;
    int64_t extents[8];
};

struct RawWeights
{
    int32_t type;
    void const* values;
    int64_t count;
};

//! What getInterfaceInfo answers by value.
struct RawInfo
{
    char const* kind;
    int32_t major;
    int32_t minor;
};

//! An object with a virtual table: [offset to top, type information, slots…], of which it points at the slots.
struct RawLogger
{
    void const* const* table;
    std::string* errors;
};

inline void takeMessage(RawLogger* self, int32_t severity, char const* message)
{
    if (severity <= 1)
        *self->errors += std::string{message} + "\n";
}

inline void neverDestroyed(RawLogger*)
{
    FAIL() << "the library destroyed the user's logger";
}

using Object = void*;

//! Calls slot `slot` of the object's virtual table.
template <typename R, typename... Args>
R call(Object object, int32_t slot, Args... args)
{
    using Function = R (*)(Object, Args...);
    auto* const table = *static_cast<void***>(object);
    return reinterpret_cast<Function>(table[slot])(object, args...);
}

//! The pointer that a public object holds at this offset.
inline Object inner(Object object, int32_t offset)
{
    return *reinterpret_cast<Object*>(static_cast<char*>(object) + offset);
}

inline void destroy(Object object)
{
    call<void>(object, slots::kIHostMemory_destroyAndFree); // The same slot in every shell.
}

constexpr int32_t kFloat{0};
constexpr int32_t kRelu{0};

class Slots : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        library = ::dlopen("libnvinfer.so.10", RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << ::dlerror();
    }
    Object create(char const* function)
    {
        auto* const make = reinterpret_cast<Object (*)(void*, int32_t)>(::dlsym(library, function));
        EXPECT_NE(make, nullptr);
        return make == nullptr ? nullptr : make(&logger, 101600);
    }
    //! y = relu(conv(x)) with a 1×1 kernel, x [n, 2, 3, 3].
    //! `monitor` and `writer` are objects of the user's; with a writer the plan goes there, and null is answered.
    Object buildPlan(Object monitor = nullptr, Object writer = nullptr)
    {
        Object const builder = create("createInferBuilder_INTERNAL");
        Object const slotsOfBuilder = inner(builder, slots::kIBuilder_mImpl);
        if (prepareBuilder)
            prepareBuilder(slotsOfBuilder);
        Object const network = call<Object>(slotsOfBuilder, slots::kVBuilder_createNetworkV2, uint32_t{0});
        Object const net = inner(network, slots::kINetworkDefinition_mImpl);
        RawDims const shape{4, {-1, 2, 3, 3}};
        Object const x = call<Object>(net, slots::kVNetworkDefinition_addInput, "x", kFloat, &shape);
        RawDims const size{2, {1, 1}};
        Object const conv = call<Object>(net, slots::kVNetworkDefinition_addConvolutionNd, x, int64_t{2}, &size,
            RawWeights{kFloat, kernel.data(), 4}, RawWeights{kFloat, bias.data(), 2});
        Object const convLayer = inner(conv, slots::kILayer_mLayer);
        RawDims const stride{2, {1, 1}};
        call<void>(inner(conv, slots::kIConvolutionLayer_mImpl), slots::kVConvolutionLayer_setStrideNd, &stride);
        Object const between = call<Object>(convLayer, slots::kVLayer_getOutput, int32_t{0});
        Object const relu = call<Object>(net, slots::kVNetworkDefinition_addActivation, between, kRelu);
        Object const y = call<Object>(inner(relu, slots::kILayer_mLayer), slots::kVLayer_getOutput, int32_t{0});
        call<void>(inner(between, slots::kITensor_mImpl), slots::kVTensor_setName, "between");
        call<void>(inner(y, slots::kITensor_mImpl), slots::kVTensor_setName, "y");
        call<void>(net, slots::kVNetworkDefinition_markOutput, y);
        RawDims const known = call<RawDims>(inner(y, slots::kITensor_mImpl), slots::kVTensor_getDimensions);
        EXPECT_EQ(known.rank, 4);
        EXPECT_EQ(known.extents[0], -1);
        EXPECT_EQ(known.extents[1], 2);
        Object const config = call<Object>(slotsOfBuilder, slots::kVBuilder_createBuilderConfig);
        addProfile(slotsOfBuilder, config);
        EXPECT_TRUE(call<bool>(net, slots::kVNetworkDefinition_markDebug, between));
        if (prepare)
            prepare(net, inner(config, slots::kIBuilderConfig_mImpl));
        if (monitor != nullptr)
            call<void>(inner(config, slots::kIBuilderConfig_mImpl), slots::kVBuilderConfig_setProgressMonitor, monitor);
        Object plan{nullptr};
        if (writer == nullptr)
            plan = call<Object>(slotsOfBuilder, slots::kVBuilder_buildSerializedNetwork, network, config);
        else
            EXPECT_TRUE(
                call<bool>(slotsOfBuilder, slots::kVBuilder_buildSerializedNetworkToStream, network, config, writer));
        if (afterwards)
            afterwards(inner(config, slots::kIBuilderConfig_mImpl));
        for (Object const object : {builder, network, config}) // Parents first, as nobody should.
            destroy(object);
        return plan;
    }
    void addProfile(Object slotsOfBuilder, Object config)
    {
        Object const profile = call<Object>(slotsOfBuilder, slots::kVBuilder_createOptimizationProfile);
        Object const set = inner(profile, slots::kIOptimizationProfile_mImpl);
        for (int32_t select = 0; select < 3; ++select)
        {
            RawDims const shape{4, {batches[static_cast<size_t>(select)], 2, 3, 3}};
            EXPECT_TRUE(call<bool>(set, slots::kVOptimizationProfile_setDimensions, "x", select, &shape));
        }
        EXPECT_EQ(call<int32_t>(inner(config, slots::kIBuilderConfig_mImpl),
                      slots::kVBuilderConfig_addOptimizationProfile, profile),
            0);
    }

    //! What the network makes of x [n, 2, 3, 3].
    void expectResult(std::vector<float> const& x, std::vector<float> const& y) const
    {
        for (size_t n = 0; n < x.size() / 18; ++n)
            for (size_t m = 0; m < 2; ++m)
                for (size_t i = 0; i < 9; ++i)
                {
                    float const sum = bias[m] + kernel[2 * m] * x[n * 18 + i] + kernel[2 * m + 1] * x[n * 18 + 9 + i];
                    ASSERT_NEAR(y[(n * 2 + m) * 9 + i], std::max(sum, 0.0F), 1e-5F);
                }
    }

    void* library{nullptr};
    std::string errors;
    std::function<void(Object builder)> prepareBuilder;
    std::function<void(Object net, Object config)> prepare; //!< Before a build: flags and names.
    std::function<void(Object config)> afterwards;
    std::array<void const*, 5> table{nullptr, nullptr, reinterpret_cast<void const*>(&takeMessage),
        reinterpret_cast<void const*>(&neverDestroyed), reinterpret_cast<void const*>(&neverDestroyed)};
    RawLogger logger{table.data() + 2, &errors};
    std::vector<float> kernel{0.5F, -1.25F, 2.0F, 0.75F};
    std::vector<float> bias{0.1F, -0.3F};
    std::array<int64_t, 3> batches{1, 2, 3}; //!< Of the profile: min, opt, max.
};

//! An object of the user's with a virtual table of its own. A slot that nobody filled fails the test.
class UserObject
{
    struct Head
    {
        void const* const* table;
        UserObject* owner;
    };

  public:
    //! Every interface but the profiler begins with language, information and the two destructors.
    explicit UserObject(size_t slotCount, RawInfo info)
        : UserObject{slotCount, 2}
    {
        mInfo = info;
        set(0, &language);
        set(1, &information);
    }
    UserObject(size_t slotCount, size_t firstDestructor)
        : mTable(2 + slotCount, reinterpret_cast<void const*>(&unexpected))
    {
        mTable[0] = mTable[1] = nullptr; // Offset to top, type information: a program may be built without it.
        set(firstDestructor, &destroyed);
        set(firstDestructor + 1, &destroyed);
        mHead = {mTable.data() + 2, this};
    }
    UserObject(UserObject const&) = delete;
    UserObject& operator=(UserObject const&) = delete;

    template <typename Function>
    void set(size_t slot, Function function)
    {
        mTable.at(2 + slot) = reinterpret_cast<void const*>(function);
    }
    Object object()
    {
        return &mHead;
    }
    template <typename T>
    static T& of(void* self)
    {
        return static_cast<T&>(*static_cast<Head*>(self)->owner);
    }

  private:
    static int32_t language(void*)
    {
        return 0;
    }
    static RawInfo information(void* self)
    {
        return of<UserObject>(self).mInfo;
    }
    static void destroyed(void*)
    {
        ADD_FAILURE() << "the library destroyed an object of the user's";
    }
    static void* unexpected(void*)
    {
        ADD_FAILURE() << "a slot was called that the interface does not have in 10.0";
        return nullptr;
    }

    Head mHead{};
    std::vector<void const*> mTable;
    RawInfo mInfo{};
};
} // namespace raw
