// Bindings: the rule which of a tensor's addresses counts.
#include "runtime/bindings.h"

#include "runtime/shape_values.h"

#include <algorithm>
#include <utility>

namespace tenon
{

namespace
{
//! Of the values of a shape output; 0 where more are possible than a shape tensor has.
size_t spareBytes(PlanIO const& io) noexcept
{
    constexpr int64_t kLimit{64};
    int64_t const count = io.dims.nbDims == 0 ? 1 : io.dims.d[0];
    bool const fits = io.isShape && !io.isInput && count >= 0 && count <= kLimit;
    return fits ? sizeof(int64_t) * static_cast<size_t>(std::max<int64_t>(count, 1)) : 0;
}
} // namespace

Bindings::Bindings(EngineState const& engine)
    : mEngine{engine},
      mAddresses(engine.plan->io.size(), nullptr),
      mOwnValues(asSize(engine.inputs)),
      mAllocators(engine.plan->io.size(), nullptr)
{
    for (PlanIO const& io : engine.plan->io)
        mSpareValues.emplace_back(spareBytes(io));
}

void* Bindings::addressIn(void* const* given, size_t io)
{
    if (given == nullptr || hasOwnValues(io))
        return mAddresses[io];
    bool const isSpared = given[io] == nullptr && !mSpareValues[io].empty();
    return isSpared ? mSpareValues[io].data() : given[io];
}

void Bindings::setAddress(size_t io, void* data)
{
    if (io < mOwnValues.size())
        mOwnValues[io] = nullptr;
    mAddresses[io] = data;
}

void Bindings::setAllocator(size_t io, nvinfer1::IOutputAllocator* allocator)
{
    mAllocators[io] = allocator;
}

void Bindings::setOwnValues(size_t io, std::span<int64_t const> values)
{
    auto own = std::make_shared<std::vector<std::byte>>(std::max<size_t>(values.size(), 1) * sizeof(int64_t));
    writeShapeValues(mEngine.plan->io[io], own->data(), values, false);
    mAddresses[io] = own->data(); // Never written, as no input is.
    mOwnValues[io] = std::move(own);
}

void Bindings::forgetOwnValues()
{
    for (size_t i = 0; i < mOwnValues.size(); ++i)
        if (std::exchange(mOwnValues[i], nullptr) != nullptr)
            mAddresses[i] = nullptr;
}

} // namespace tenon
