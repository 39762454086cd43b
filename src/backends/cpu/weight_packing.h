// WeightPacking: forms in which weights of four and eight bits are stored for products that read them as they are.
#pragma once

#include "backends/cpu/layer_kernel.h"

#include <memory>
#include <optional>
#include <string_view>

namespace tenon::cpu
{

//! "int4x16" and "int8x16": panels of WeightOnly made of [depth][columns]; with a "t" behind: of [columns][depth].
struct WeightPacking
{
    bool isInt4{false};
    bool isTransposed{false};

    static std::optional<WeightPacking> of(std::string_view name);
    std::string_view name() const noexcept;
    DType type() const noexcept
    {
        return isInt4 ? DType::kINT4 : DType::kINT8;
    }
    //! Bytes of the packed form; -1 when the extents do not fit it.
    int64_t bytes(std::vector<int64_t> const& extents) const;
    void pack(std::vector<int64_t> const& extents, void const* plain, void* packed) const;
    void unpack(std::vector<int64_t> const& extents, void const* packed, void* plain) const;
};

//! A constant operand in the packed form, for KernelSpec.
Result<PackedWeight> packFewBits(int32_t input, Constant const& constant, WeightPacking const& packing);

//! A constant operand in the packed form: the stored memory, or a copy packed at load.
class FewBitsOperand
{
  public:
    static Result<FewBitsOperand> load(LayerKernel const& kernel, size_t input, WeightPacking const& packing);
    void const* data() const noexcept
    {
        return mData;
    }

  private:
    void const* mData{nullptr};
    std::shared_ptr<void> mOwned;
};

} // namespace tenon::cpu
