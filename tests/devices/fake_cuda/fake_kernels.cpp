// The fake driver: modules are shared objects that the fake compiler has made, and kernels run thread after thread;
// those with barriers have a stack for each thread of a block.
#include "devices/fake_cuda/fake_state.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <string>
#include <ucontext.h>

namespace fake
{

namespace
{
struct Index
{
    unsigned x, y, z;
};

//! As in emulated_cuda.h.
struct Thread
{
    Index thread, block, blockSize, gridSize;
    void (*barrier)();
};

struct Function
{
    void (*call)(void* params){nullptr};
    std::vector<size_t> sizes; //!< Of its parameters.
    Thread** thread{nullptr};
    bool hasBarriers{false};
    unsigned sharedBytes{48U << 10}; //!< The most that it may be launched with.
};

std::mutex gOneKernel;

//! Functions of modules by their names: as a driver's, each is the same whenever it is asked for, with its attributes.
struct Functions
{
    std::mutex mutex;
    std::map<std::pair<void*, std::string>, Function*> all; //!< As long as the process: modules are few.
};

Functions& functions()
{
    static auto* const instance = new Functions;
    return *instance;
}

//! The threads of one block, each on its own stack, from barrier to barrier.
class Block
{
  public:
    Block(Function const& function, void* params, Thread const& first)
        : mFunction{function},
          mParams{params}
    {
        size_t const count = size_t{first.blockSize.x} * first.blockSize.y * first.blockSize.z;
        if (stacks().size() < count)
            stacks().resize(count);
        mFibers.resize(count);
        for (size_t i = 0; i < count; ++i)
        {
            Fiber& fiber = mFibers[i];
            fiber.place = first;
            fiber.place.barrier = &yield;
            auto const at = static_cast<unsigned>(i);
            fiber.place.thread = {at % first.blockSize.x, at / first.blockSize.x % first.blockSize.y,
                at / first.blockSize.x / first.blockSize.y};
            stacks()[i].resize(kStack);
        }
    }
    void run()
    {
        gRunning = this;
        for (size_t i = 0; i < mFibers.size(); ++i)
            start(mFibers[i].context, stacks()[i]);
        for (bool isAnyLeft = true; isAnyLeft;)
        {
            isAnyLeft = false;
            for (mCurrent = 0; mCurrent < mFibers.size(); ++mCurrent)
            {
                Fiber& fiber = mFibers[mCurrent];
                if (fiber.isDone)
                    continue;
                *mFunction.thread = &fiber.place;
                swapcontext(&mMain, &fiber.context);
                isAnyLeft = isAnyLeft || !fiber.isDone;
            }
        }
    }

  private:
    static constexpr size_t kStack{64 << 10};

    struct Fiber
    {
        ucontext_t context{};
        Thread place{};
        bool isDone{false};
    };
    void start(ucontext_t& context, std::vector<char>& stack)
    {
        getcontext(&context);
        context.uc_stack.ss_sp = stack.data();
        context.uc_stack.ss_size = kStack;
        context.uc_link = &mMain;
        makecontext(&context, &enter, 0);
    }
    static std::vector<std::vector<char>>& stacks()
    {
        static std::vector<std::vector<char>> all;
        return all;
    }
    static void enter()
    {
        gRunning->mFunction.call(gRunning->mParams);
        gRunning->mFibers[gRunning->mCurrent].isDone = true;
    }
    static void yield()
    {
        swapcontext(&gRunning->mFibers[gRunning->mCurrent].context, &gRunning->mMain);
    }

    inline static Block* gRunning{nullptr};

    Function const& mFunction;
    void* mParams;
    std::vector<Fiber> mFibers;
    ucontext_t mMain{};
    size_t mCurrent{0};
};

void runBlock(Function const& function, void* params, Thread place)
{
    if (function.hasBarriers)
        return Block{function, params, place}.run();
    *function.thread = &place;
    for (place.thread.z = 0; place.thread.z < place.blockSize.z; ++place.thread.z)
        for (place.thread.y = 0; place.thread.y < place.blockSize.y; ++place.thread.y)
            for (place.thread.x = 0; place.thread.x < place.blockSize.x; ++place.thread.x)
                function.call(params);
}
} // namespace

unsigned mostShared(void* function)
{
    return static_cast<Function*>(function)->sharedBytes;
}

std::vector<size_t> const& paramSizes(void* function)
{
    return static_cast<Function*>(function)->sizes;
}

void runKernel(void* handle, Shape const& shape, void* params)
{
    std::scoped_lock const lock{gOneKernel};
    Thread place{};
    place.blockSize = {shape.block[0], shape.block[1], shape.block[2]};
    place.gridSize = {shape.grid[0], shape.grid[1], shape.grid[2]};
    for (place.block.z = 0; place.block.z < shape.grid[2]; ++place.block.z)
        for (place.block.y = 0; place.block.y < shape.grid[1]; ++place.block.y)
            for (place.block.x = 0; place.block.x < shape.grid[0]; ++place.block.x)
                runBlock(*static_cast<Function*>(handle), params, place);
}
} // namespace fake

using namespace fake;

//! The image is what the fake compiler gave: a word, and the path of a shared object. In PTX, which plugins bring, that
//! stands in a comment.
TENON_FAKE_CUDA int cuModuleLoadDataEx(void** module, void const* image, unsigned, int*, void**)
{
    TENON_FAKE_ENTER(cuModuleLoadDataEx);
    constexpr char kWord[]{"emulated:"};
    auto const* text = static_cast<char const*>(image);
    if (std::strncmp(text, "// ", 3) == 0)
        text += 3;
    std::string const path{text, std::strcspn(text, "\n")};
    if (std::strncmp(text, kWord, sizeof kWord - 1) != 0)
        return 200;
    *module = dlopen(path.c_str() + sizeof kWord - 1, RTLD_NOW | RTLD_LOCAL);
    if (*module == nullptr)
        return 200;
    std::scoped_lock const lock{state().mutex};
    if (spoilsCaptures())
        return kCaptureUnsupported;
    state().modules.insert(*module);
    return kSuccess;
}

TENON_FAKE_CUDA int cuModuleUnload(void* module)
{
    TENON_FAKE_ENTER(cuModuleUnload);
    std::scoped_lock const lock{state().mutex};
    return state().modules.erase(module) == 1 ? kSuccess : kInvalidHandle; // Left open: its statics may be in use.
}

TENON_FAKE_CUDA int cuModuleGetFunction(void** function, void* module, char const* name)
{
    TENON_FAKE_ENTER(cuModuleGetFunction);
    void* const call = dlsym(module, name);
    void* const bytes = dlsym(module, (std::string{name} + "Bytes").c_str());
    void* const sizes = dlsym(module, (std::string{name} + "Sizes").c_str()); // Of a plugin's: ends with a 0.
    void* const thread = dlsym(module, "tenonThread");
    void* const barriers = dlsym(module, "tenonHasBarriers");
    if (call == nullptr || (bytes == nullptr && sizes == nullptr) || thread == nullptr || barriers == nullptr)
        return kNotFound;
    std::scoped_lock const lock{functions().mutex};
    Function*& found = functions().all[{module, name}];
    *function = found;
    if (found != nullptr)
        return kSuccess;
    found = new Function;
    found->call = reinterpret_cast<void (*)(void*)>(call);
    if (bytes != nullptr)
        found->sizes.push_back(*static_cast<unsigned long*>(bytes));
    else
        for (auto const* each = static_cast<unsigned long const*>(sizes); *each != 0; ++each)
            found->sizes.push_back(*each);
    found->thread = static_cast<Thread**>(thread);
    found->hasBarriers = *static_cast<int*>(barriers) != 0;
    *function = found;
    return kSuccess;
}

TENON_FAKE_CUDA int cuFuncSetAttribute(void* function, int attribute, int value)
{
    TENON_FAKE_ENTER(cuFuncSetAttribute);
    constexpr int kDynamicSharedBytes{8};
    constexpr int kSharedShare{9};
    constexpr int kMax{227 << 10};
    if (attribute == kSharedShare)
        return value >= -1 && value <= 100 ? kSuccess : kInvalidValue;
    if (attribute != kDynamicSharedBytes || value < 0 || value > kMax)
        return kInvalidValue;
    static_cast<Function*>(function)->sharedBytes = static_cast<unsigned>(value);
    return kSuccess;
}

TENON_FAKE_CUDA int cuFuncGetParamInfo(void* function, size_t index, size_t* offset, size_t* bytes)
{
    TENON_FAKE_ENTER(cuFuncGetParamInfo);
    std::vector<size_t> const& sizes = paramSizes(function);
    if (index >= sizes.size())
        return kInvalidValue;
    *offset = 0;
    for (size_t i = 0; i < index; ++i)
        *offset += 8;
    *bytes = sizes[index];
    return kSuccess;
}

//! Bytes of an element of a type, 0: it is none that is known here; those of a box's rows that a swizzle exchanges.
static unsigned elementBytes(int type)
{
    constexpr int kByte{0};
    constexpr int kHalf{6};
    constexpr int kBfloat{9};
    return type == kByte ? 1 : type == kHalf || type == kBfloat ? 2 : 0;
}
static unsigned swizzledBytes(int swizzle)
{
    constexpr int kSwizzle64{2};
    constexpr int kSwizzle128{3};
    return swizzle == kSwizzle128 ? 128 : swizzle == kSwizzle64 ? 64 : 0;
}

//! Of matrices and images; what emulated kernels read of a map is the address, extents from
//! the last axis on, and bytes from each to the next of all but the last axis.
TENON_FAKE_CUDA int cuTensorMapEncodeTiled(uint64_t* map, int type, unsigned rank, void* address,
    uint64_t const* extents, uint64_t const* strides, unsigned const* box, unsigned const* elementStrides,
    int interleave, int swizzle, int, int)
{
    TENON_FAKE_ENTER(cuTensorMapEncodeTiled);
    constexpr uint64_t kGrain{16};
    constexpr unsigned kMaxBox{256};
    unsigned const bytes = elementBytes(type);
    bool isRight = (rank == 2 || rank == 4) && bytes > 0 && box[0] * bytes == swizzledBytes(swizzle)
        && reinterpret_cast<uintptr_t>(address) % kGrain == 0 && reinterpret_cast<uintptr_t>(map) % 64 == 0
        && interleave == 0;
    for (unsigned axis = 0; isRight && axis < rank; ++axis)
        isRight = extents[axis] > 0 && box[axis] > 0 && box[axis] <= kMaxBox && elementStrides[axis] == 1
            && (axis + 1 == rank || strides[axis] % kGrain == 0);
    if (!isRight)
        return kInvalidValue;
    std::fill_n(map, 16, 0);
    map[0] = reinterpret_cast<uint64_t>(address);
    std::copy_n(extents, rank, map + 1);
    std::copy_n(strides, rank - 1, map + 1 + rank);
    return kSuccess;
}

//! Of images; what emulated kernels read of a map: engine_windows.cpp.
TENON_FAKE_CUDA int cuTensorMapEncodeIm2col(uint64_t* map, int type, unsigned rank, void* address,
    uint64_t const* extents, uint64_t const* strides, int const* lowerCorner, int const* upperCorner, unsigned channels,
    unsigned pixels, unsigned const* elementStrides, int interleave, int swizzle, int, int)
{
    TENON_FAKE_ENTER(cuTensorMapEncodeIm2col);
    constexpr uint64_t kGrain{16};
    constexpr unsigned kRank{4};
    constexpr unsigned kMaxPixels{256};
    constexpr unsigned kMaxStride{8};
    unsigned const bytes = elementBytes(type);
    if (rank != kRank || bytes == 0 || std::count(extents, extents + rank, 0U) != 0)
        return kInvalidValue;
    bool isRight = reinterpret_cast<uintptr_t>(address) % kGrain == 0 && reinterpret_cast<uintptr_t>(map) % 64 == 0
        && channels * bytes == swizzledBytes(swizzle) && pixels > 0 && pixels <= kMaxPixels && interleave == 0;
    for (unsigned axis = 0; axis < kRank - 1; ++axis)
        isRight = isRight && strides[axis] % kGrain == 0;
    for (unsigned axis = 0; axis < kRank; ++axis)
        isRight = isRight && elementStrides[axis] >= 1 && elementStrides[axis] <= kMaxStride;
    for (unsigned axis = 0; axis < 2; ++axis)
        isRight = isRight && lowerCorner[axis] >= -128 && lowerCorner[axis] <= 127 && upperCorner[axis] >= -128
            && upperCorner[axis] <= 127
            && lowerCorner[axis] < static_cast<int64_t>(extents[1 + axis]) + upperCorner[axis]; // A box of some pixels.
    if (!isRight)
        return kInvalidValue;
    std::fill_n(map, 16, 0);
    map[0] = reinterpret_cast<uint64_t>(address);
    std::copy_n(extents, kRank, map + 1);
    std::copy_n(strides, kRank - 1, map + 5);
    for (unsigned axis = 0; axis < 2; ++axis)
    {
        map[8 + axis] = static_cast<uint64_t>(int64_t{lowerCorner[axis]});
        map[10 + axis] = static_cast<uint64_t>(int64_t{upperCorner[axis]});
        map[12 + axis] = elementStrides[1 + axis];
    }
    return kSuccess;
}
