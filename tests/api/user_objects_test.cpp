// Objects of the user's that were compiled elsewhere for 10.x, behind runtime, builder and context: the library calls
// the slots that their headers have, with the arguments that their headers say, and destroys none of them.
#include "raw_objects.h"

#include <atomic>
#include <cstring>
#include <map>

namespace raw
{
namespace
{
using tenon::test::DeviceArray;
using tenon::test::deviceUnderTest;

class UserRecorder : public UserObject
{
  public:
    UserRecorder()
        : UserObject{12, RawInfo{"IErrorRecorder", 1, 0}}
    {
        set(
            slots::kIErrorRecorder_getNbErrors, +[](void* self) { return of<UserRecorder>(self).errors.load(); });
        set(
            slots::kIErrorRecorder_getErrorCode, +[](void*, int32_t) { return int32_t{1}; });
        set(
            slots::kIErrorRecorder_getErrorDesc, +[](void*, int32_t) { return ""; });
        set(
            slots::kIErrorRecorder_hasOverflowed, +[](void*) { return false; });
        set(
            slots::kIErrorRecorder_clear, +[](void*) {});
        set(
            slots::kIErrorRecorder_reportError, +[](void* self, int32_t code, char const* text) {
                auto& mine = of<UserRecorder>(self);
                ++mine.errors;
                mine.code = code;
                mine.text = text;
                return true;
            });
        set(
            slots::kIErrorRecorder_incRefCount, +[](void* self) { return ++of<UserRecorder>(self).references; });
        set(
            slots::kIErrorRecorder_decRefCount, +[](void* self) { return --of<UserRecorder>(self).references; });
    }
    std::atomic<int32_t> errors{0};
    std::atomic<int32_t> references{0};
    int32_t code{0};
    std::string text;
};

class UserAllocator : public UserObject
{
  public:
    UserAllocator()
        : UserObject{9, RawInfo{"IGpuAllocator", 1, 0}}
    {
        set(
            slots::kIGpuAllocator_allocate, +[](void* self, uint64_t size, uint64_t alignment, uint32_t) {
                return of<UserAllocator>(self).give(size, alignment);
            });
        set(
            slots::kIGpuAllocator_reallocate, +[](void*, void*, uint64_t, uint64_t) -> void* { return nullptr; });
        set(
            slots::kIGpuAllocator_deallocate,
            +[](void* self, void* memory) { return of<UserAllocator>(self).take(memory); });
        set(
            slots::kIGpuAllocator_allocateAsync, +[](void* self, uint64_t size, uint64_t alignment, uint32_t, void*) {
                return of<UserAllocator>(self).give(size, alignment);
            });
        set(
            slots::kIGpuAllocator_deallocateAsync,
            +[](void* self, void* memory, void*) { return of<UserAllocator>(self).take(memory); });
    }
    void* give(uint64_t size, uint64_t alignment)
    {
        EXPECT_GT(size, 0U);
        EXPECT_TRUE((alignment & (alignment - 1)) == 0) << alignment;
        ++given;
        void* const memory = deviceUnderTest().allocate(size);
        live[memory] = size;
        return memory;
    }
    bool take(void* memory)
    {
        if (memory == nullptr)
            return true;
        EXPECT_EQ(live.erase(memory), 1U);
        deviceUnderTest().release(memory);
        return true;
    }
    std::map<void*, uint64_t> live;
    int32_t given{0};
};

//! IGpuAsyncAllocator: has the asynchronous calls, and its headers made the others call those.
class UserAsyncAllocator : public UserObject
{
  public:
    UserAsyncAllocator()
        : UserObject{9, RawInfo{"IGpuAllocator", 1, 0}}
    {
        set(
            slots::kIGpuAsyncAllocator_allocateAsync,
            +[](void* self, uint64_t size, uint64_t alignment, uint32_t, void* stream) {
                auto& mine = of<UserAsyncAllocator>(self);
                mine.streams.push_back(stream);
                return mine.memory.give(size, alignment);
            });
        set(
            slots::kIGpuAsyncAllocator_deallocateAsync,
            +[](void* self, void* memory, void*) { return of<UserAsyncAllocator>(self).memory.take(memory); });
        set(
            slots::kIGpuAsyncAllocator_allocate, +[](void* self, uint64_t size, uint64_t alignment, uint32_t flags) {
                return call<void*>(self, slots::kIGpuAsyncAllocator_allocateAsync, size, alignment, flags, Object{});
            });
        set(
            slots::kIGpuAsyncAllocator_deallocate, +[](void* self, void* memory) {
                return call<bool>(self, slots::kIGpuAsyncAllocator_deallocateAsync, memory, Object{});
            });
        set(
            slots::kIGpuAsyncAllocator_reallocate, +[](void*, void*, uint64_t, uint64_t) -> void* { return nullptr; });
    }
    UserAllocator memory; //!< Only what it counts.
    std::vector<Object> streams;
};

class UserReader : public UserObject
{
  public:
    //! The reader of 10.0, or the one of 10.7 that can be sought in.
    UserReader(std::vector<uint8_t> const& from, bool isV2)
        : UserObject{isV2 ? size_t{6} : size_t{5}, RawInfo{isV2 ? "IStreamReaderV2" : "IStreamReader", 1, 0}},
          bytes{from}
    {
        if (isV2)
        {
            set(
                slots::kIStreamReaderV2_read,
                +[](void* self, void* to, int64_t count, void*) { return of<UserReader>(self).read(to, count); });
            set(
                slots::kIStreamReaderV2_seek, +[](void*, int64_t, int32_t) { return false; });
        }
        else
            set(
                slots::kIStreamReader_read,
                +[](void* self, void* to, int64_t count) { return of<UserReader>(self).read(to, count); });
    }
    int64_t read(void* to, int64_t count)
    {
        if (fails)
            return -1;
        size_t const most = std::min({static_cast<size_t>(count), bytes.size() - at, piece});
        std::memcpy(to, bytes.data() + at, most);
        at += most;
        return static_cast<int64_t>(most);
    }
    std::vector<uint8_t> const& bytes;
    size_t at{0};
    size_t piece{SIZE_MAX};
    bool fails{false};
};

class UserWriter : public UserObject
{
  public:
    UserWriter()
        : UserObject{5, RawInfo{"IStreamWriter", 1, 0}}
    {
        set(
            slots::kIStreamWriter_write, +[](void* self, void const* from, int64_t count) {
                auto const* const first = static_cast<uint8_t const*>(from);
                auto& mine = of<UserWriter>(self).bytes;
                mine.insert(mine.end(), first, first + count);
                return count;
            });
    }
    std::vector<uint8_t> bytes;
};

class UserMonitor : public UserObject
{
  public:
    UserMonitor()
        : UserObject{7, RawInfo{"IProgressMonitor", 1, 0}}
    {
        set(
            slots::kIProgressMonitor_phaseStart, +[](void* self, char const* phase, char const*, int32_t steps) {
                EXPECT_GT(steps, 0);
                of<UserMonitor>(self).open.emplace_back(phase);
            });
        set(
            slots::kIProgressMonitor_stepComplete, +[](void* self, char const*, int32_t) {
                ++of<UserMonitor>(self).steps;
                return true;
            });
        set(
            slots::kIProgressMonitor_phaseFinish,
            +[](void* self, char const* phase) { EXPECT_EQ(std::erase(of<UserMonitor>(self).open, phase), 1U); });
    }
    std::vector<std::string> open;
    int32_t steps{0};
};

class UserProfiler : public UserObject
{
  public:
    UserProfiler()
        : UserObject{3, size_t{1}}
    {
        set(
            slots::kIProfiler_reportLayerTime, +[](void* self, char const* layer, float milliseconds) {
                EXPECT_GE(milliseconds, 0.0F);
                EXPECT_LT(milliseconds, 1e5F);
                of<UserProfiler>(self).layers.emplace_back(layer);
            });
    }
    std::vector<std::string> layers;
};

class UserListener : public UserObject
{
  public:
    UserListener()
        : UserObject{5, RawInfo{"IDebugListener", 1, 0}}
    {
        set(
            slots::kIDebugListener_processDebugTensor,
            +[](void* self, void const* address, int32_t location, int32_t type, RawDims const* shape, char const* name,
                 void*) {
                EXPECT_NE(address, nullptr);
                EXPECT_EQ(location, 0);
                EXPECT_EQ(type, kFloat);
                auto& mine = of<UserListener>(self);
                mine.names.emplace_back(name);
                mine.shape = *shape;
                return true;
            });
    }
    std::vector<std::string> names;
    RawDims shape{};
};

class UserOutput : public UserObject
{
  public:
    UserOutput()
        : UserObject{7, RawInfo{"IOutputAllocator", 1, 0}}
    {
        set(
            slots::kIOutputAllocator_reallocateOutput,
            +[](void* self, char const* name, void*, uint64_t size, uint64_t) {
                return of<UserOutput>(self).give(name, size);
            });
        set(
            slots::kIOutputAllocator_reallocateOutputAsync,
            +[](void* self, char const* name, void*, uint64_t size, uint64_t, void*) {
                return of<UserOutput>(self).give(name, size);
            });
        set(
            slots::kIOutputAllocator_notifyShape, +[](void* self, char const* name, RawDims const* shape) {
                EXPECT_STREQ(name, "y");
                of<UserOutput>(self).shape = *shape;
            });
    }
    void* give(char const* name, uint64_t size)
    {
        EXPECT_STREQ(name, "y");
        memory = std::make_unique<DeviceArray<float>>(size / sizeof(float));
        return memory->data();
    }
    std::unique_ptr<DeviceArray<float>> memory;
    RawDims shape{};
};

//! Overrides the synchronous call alone; its headers made the other one call it.
class UserSyncOutput : public UserOutput
{
  public:
    UserSyncOutput()
    {
        set(
            slots::kIOutputAllocator_reallocateOutputAsync,
            +[](void* self, char const* name, void* current, uint64_t size, uint64_t alignment, void*) {
                ++of<UserSyncOutput>(self).forwarded;
                return call<void*>(self, slots::kIOutputAllocator_reallocateOutput, name, current, size, alignment);
            });
    }
    int32_t forwarded{0};
};

class UserObjects : public Slots
{
  protected:
    std::vector<uint8_t> plan()
    {
        UserWriter writer;
        EXPECT_EQ(buildPlan(nullptr, writer.object()), nullptr);
        EXPECT_FALSE(writer.bytes.empty()) << errors;
        return writer.bytes;
    }
    //! y = x · xᵀ of x [3, 5], which the CPU makes with memory of the run's own.
    std::vector<uint8_t> productPlan()
    {
        Object const builder = create("createInferBuilder_INTERNAL");
        Object const make = inner(builder, slots::kIBuilder_mImpl);
        Object const network = call<Object>(make, slots::kVBuilder_createNetworkV2, uint32_t{0});
        Object const net = inner(network, slots::kINetworkDefinition_mImpl);
        RawDims const shape{2, {3, 5}};
        Object const x = call<Object>(net, slots::kVNetworkDefinition_addInput, "x", kFloat, &shape);
        Object const product =
            call<Object>(net, slots::kVNetworkDefinition_addMatrixMultiply, x, int32_t{0}, x, int32_t{1});
        Object const y = call<Object>(inner(product, slots::kILayer_mLayer), slots::kVLayer_getOutput, int32_t{0});
        call<void>(inner(y, slots::kITensor_mImpl), slots::kVTensor_setName, "y");
        call<void>(net, slots::kVNetworkDefinition_markOutput, y);
        Object const config = call<Object>(make, slots::kVBuilder_createBuilderConfig);
        UserWriter writer;
        EXPECT_TRUE(call<bool>(make, slots::kVBuilder_buildSerializedNetworkToStream, network, config, writer.object()))
            << errors;
        for (Object const object : {network, config, builder})
            destroy(object);
        return writer.bytes;
    }
    Object load(Object runtime, std::vector<uint8_t> const& bytes)
    {
        return call<Object>(inner(runtime, slots::kIRuntime_mImpl), slots::kVRuntime_deserializeCudaEngine,
            static_cast<void const*>(bytes.data()), bytes.size());
    }
    Object contextOf(Object engine)
    {
        return call<Object>(
            inner(engine, slots::kICudaEngine_mImpl), slots::kVCudaEngine_createExecutionContext, int32_t{0});
    }
    //! Shape and addresses of two images; y from the allocator when there is one.
    void bind(Object context, DeviceArray<float> const& x, DeviceArray<float> const* y)
    {
        Object const run = inner(context, slots::kIExecutionContext_mImpl);
        RawDims const shape{4, {2, 2, 3, 3}};
        ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setInputShape, "x", &shape)) << errors;
        ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, "x", static_cast<void*>(x.data())));
        if (y == nullptr)
            return;
        ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, "y", static_cast<void*>(y->data())));
    }
    bool enqueue(Object context)
    {
        return call<bool>(inner(context, slots::kIExecutionContext_mImpl), slots::kVExecutionContext_enqueueV3,
            deviceUnderTest().stream());
    }

    std::vector<float> const values = tenon::test::randomFloats(2 * 2 * 9, 17);
};

TEST_F(UserObjects, aMonitorAndAWriterServeABuild)
{
    UserMonitor monitor;
    UserWriter writer;
    EXPECT_EQ(buildPlan(monitor.object(), writer.object()), nullptr);
    EXPECT_GT(monitor.steps, 3);
    EXPECT_TRUE(monitor.open.empty()); // Every phase was finished.
    EXPECT_FALSE(writer.bytes.empty());
    EXPECT_EQ(errors, "");
}

TEST_F(UserObjects, O3_readersOfBothGenerationsLoadAPlanAndFailByName)
{
    std::vector<uint8_t> bytes = plan();
    size_t const whole = bytes.size();
    bytes.insert(bytes.end(), 100, 0x5A); // What else the stream holds.
    Object const runtime = create("createInferRuntime_INTERNAL");
    Object const loads = inner(runtime, slots::kIRuntime_mImpl);
    for (bool const isV2 : {false, true})
    {
        int32_t const slot = isV2 ? slots::kVRuntime_deserializeCudaEngineV2 : slots::kVRuntime_deserializeCudaEngine_2;
        for (size_t const piece : {size_t{7}, SIZE_MAX})
        {
            UserReader reader{bytes, isV2};
            reader.piece = piece;
            Object const engine = call<Object>(loads, slot, reader.object());
            ASSERT_NE(engine, nullptr) << errors;
            EXPECT_EQ(reader.at, whole); // Not a byte of what stands behind the plan.
            destroy(engine);
        }
        UserReader broken{bytes, isV2};
        broken.fails = true;
        errors.clear();
        EXPECT_EQ(call<Object>(loads, slot, broken.object()), nullptr);
        EXPECT_NE(errors.find("stream reader answered -1"), std::string::npos) << errors;
        std::vector<uint8_t> const half(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole / 2));
        UserReader shortened{half, isV2};
        EXPECT_EQ(call<Object>(loads, slot, shortened.object()), nullptr);
        errors.clear();
    }
    destroy(runtime);
}

TEST_F(UserObjects, O10_aRecorderAndAnAllocatorOfTheRuntimeServeEngineAndContext)
{
    std::vector<uint8_t> const bytes = plan();
    UserRecorder recorder;
    UserAllocator allocator;
    Object const runtime = create("createInferRuntime_INTERNAL");
    Object const set = inner(runtime, slots::kIRuntime_mImpl);
    call<void>(set, slots::kVRuntime_setErrorRecorder, recorder.object());
    call<void>(set, slots::kVRuntime_setGpuAllocator, allocator.object());
    EXPECT_GT(recorder.references, 0);
    Object const engine = load(runtime, bytes);
    ASSERT_NE(engine, nullptr) << errors;
    Object const context = contextOf(engine);
    ASSERT_NE(context, nullptr) << errors;
    DeviceArray<float> const x{values};
    DeviceArray<float> const y{values.size()};
    EXPECT_FALSE(enqueue(context)); // Nothing is set yet.
    EXPECT_EQ(recorder.errors, 1);
    EXPECT_NE(recorder.text.find("'x'"), std::string::npos) << recorder.text;
    bind(context, x, &y);
    ASSERT_TRUE(enqueue(context)) << errors;
    expectResult(values, y.read());
    EXPECT_GT(allocator.given, 0);
    for (Object const object : {context, engine, runtime})
        destroy(object);
    EXPECT_TRUE(allocator.live.empty()); // Every block came back.
    EXPECT_EQ(recorder.references, 0);
    EXPECT_EQ(recorder.errors, 1);
}

TEST_F(UserObjects, aProfilerAListenerAndAnOutputAllocatorServeAContext)
{
    Object const runtime = create("createInferRuntime_INTERNAL");
    Object const engine = load(runtime, plan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const context = contextOf(engine);
    Object const run = inner(context, slots::kIExecutionContext_mImpl);
    UserProfiler profiler;
    UserListener listener;
    UserOutput output;
    call<void>(run, slots::kVExecutionContext_setProfiler, profiler.object());
    EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_setDebugListener, listener.object()));
    EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_setAllTensorsDebugState, true));
    EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_setOutputAllocator, "y", output.object()));
    DeviceArray<float> const x{values};
    bind(context, x, nullptr);
    ASSERT_TRUE(enqueue(context)) << errors;
    EXPECT_EQ(profiler.layers.size(),
        static_cast<size_t>(call<int32_t>(inner(engine, slots::kICudaEngine_mImpl), slots::kVCudaEngine_getNbLayers)));
    EXPECT_EQ(listener.names, std::vector<std::string>{"between"});
    EXPECT_EQ(listener.shape.rank, 4);
    EXPECT_EQ(listener.shape.extents[0], 2);
    EXPECT_EQ(output.shape.rank, 4);
    EXPECT_EQ(output.shape.extents[0], 2);
    ASSERT_NE(output.memory, nullptr);
    expectResult(values, output.memory->read(values.size()));
    call<void>(run, slots::kVExecutionContext_setEnqueueEmitsProfile, false);
    ASSERT_TRUE(enqueue(context)) << errors;
    size_t const before = profiler.layers.size();
    EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_reportToProfiler));
    EXPECT_EQ(profiler.layers.size(), 2 * before);
    for (Object const object : {context, engine, runtime})
        destroy(object);
    EXPECT_EQ(errors, "");
}

TEST_F(UserObjects, O10_anAsynchronousAllocatorIsAskedWithStreams)
{
    UserAsyncAllocator allocator;
    Object const runtime = create("createInferRuntime_INTERNAL");
    call<void>(inner(runtime, slots::kIRuntime_mImpl), slots::kVRuntime_setGpuAllocator, allocator.object());
    Object const engine = load(runtime, plan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const context = contextOf(engine);
    ASSERT_NE(context, nullptr) << errors;
    DeviceArray<float> const x{values};
    DeviceArray<float> const y{values.size()};
    bind(context, x, &y);
    ASSERT_TRUE(enqueue(context)) << errors;
    expectResult(values, y.read());
    EXPECT_GT(allocator.memory.given, 0);
    for (Object const object : {context, engine, runtime})
        destroy(object);
    EXPECT_TRUE(allocator.memory.live.empty());
    EXPECT_EQ(errors, "");
}

TEST_F(UserObjects, S9_aTemporaryAllocatorServesWithinRunsOnly)
{
    Object const runtime = create("createInferRuntime_INTERNAL");
    Object const engine = load(runtime, productPlan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const context = contextOf(engine);
    Object const run = inner(context, slots::kIExecutionContext_mImpl);
    std::vector<float> const given = tenon::test::randomFloats(15, 18);
    DeviceArray<float> const x{given};
    DeviceArray<float> const y{9};
    for (auto const& [name, array] : {std::pair{"x", &x}, std::pair{"y", &y}})
        ASSERT_TRUE(
            call<bool>(run, slots::kVExecutionContext_setTensorAddress, name, static_cast<void*>(array->data())));
    UserAllocator plain;
    UserAsyncAllocator async;
    for (Object const allocator : {plain.object(), async.object()})
    {
        EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_setTemporaryStorageAllocator, allocator));
        ASSERT_TRUE(enqueue(context)) << errors;
        std::vector<float> const products = y.read();
        for (size_t i = 0; i < 9; ++i)
        {
            float sum{0.0F};
            for (size_t k = 0; k < 5; ++k)
                sum += given[i / 3 * 5 + k] * given[i % 3 * 5 + k];
            EXPECT_NEAR(products[i], sum, 1e-5F);
        }
    }
    EXPECT_GT(plain.given, 0);
    EXPECT_GT(async.memory.given, 0);
    EXPECT_EQ(async.streams, std::vector<Object>(async.streams.size(), deviceUnderTest().stream()));
    EXPECT_TRUE(plain.live.empty() && async.memory.live.empty());
    for (Object const object : {context, engine, runtime})
        destroy(object);
}

TEST_F(UserObjects, aSynchronousOutputAllocatorIsReachedThroughTheOtherCall)
{
    Object const runtime = create("createInferRuntime_INTERNAL");
    Object const engine = load(runtime, plan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const context = contextOf(engine);
    UserSyncOutput output;
    EXPECT_TRUE(call<bool>(inner(context, slots::kIExecutionContext_mImpl),
        slots::kVExecutionContext_setOutputAllocator, "y", output.object()));
    DeviceArray<float> const x{values};
    bind(context, x, nullptr);
    ASSERT_TRUE(enqueue(context)) << errors;
    EXPECT_EQ(output.forwarded, 1);
    ASSERT_NE(output.memory, nullptr);
    expectResult(values, output.memory->read(values.size()));
    for (Object const object : {context, engine, runtime})
        destroy(object);
    EXPECT_EQ(errors, "");
}

TEST_F(UserObjects, anInspectorSpeaksThroughItsSlots)
{
    Object const runtime = create("createInferRuntime_INTERNAL");
    Object const engine = load(runtime, plan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const queries = inner(engine, slots::kICudaEngine_mImpl);
    EXPECT_TRUE(call<bool>(queries, slots::kVCudaEngine_isDebugTensor, "between"));
    Object const inspector = call<Object>(queries, slots::kVCudaEngine_createEngineInspector);
    ASSERT_NE(inspector, nullptr);
    Object const asks = inner(inspector, slots::kIEngineInspector_mImpl);
    UserRecorder recorder;
    call<void>(asks, slots::kVEngineInspector_setErrorRecorder, recorder.object());
    auto const* const first = call<char const*>(asks, slots::kVEngineInspector_getLayerInformation, 0, 0);
    ASSERT_NE(first, nullptr);
    EXPECT_NE(std::string{first}, "");
    EXPECT_EQ(call<char const*>(asks, slots::kVEngineInspector_getLayerInformation, 99, 0), nullptr);
    EXPECT_EQ(recorder.errors, 1);
    auto const* const all = call<char const*>(asks, slots::kVEngineInspector_getEngineInformation, 1);
    ASSERT_NE(all, nullptr);
    EXPECT_NE(std::string{all}.find("\"Layers\""), std::string::npos);
    for (Object const object : {engine, runtime, inspector})
        destroy(object);
    EXPECT_EQ(recorder.references, 0);
}

} // namespace
} // namespace raw
