// Packing: the named forms in which constant operands are stored, chosen from layer fields alone, and how to undo them.
#pragma once

#include "backend/candidate.h"
#include "backends/cpu/layer_kernel.h"

#include <memory>
#include <string>
#include <string_view>

namespace tenon::cpu
{

//! Forms of matrices of real numbers, all in panels of 16 columns, [columns / 16][depth][16], padded with zeros:
//!   "columns16"       [depth][columns]
//!   "columns16t"      [columns][depth]
//!   "convolution16/g" [g·maps][channels][y][x]: g matrices of depth y·x·channels (in this order) and `maps` columns
//!   "deconvolution16" [channels][maps][y][x]: y matrices of depth `channels` and x·maps columns (in this order)
//!   "depthwise"       [channels][1][y][x] as [y][x][channels], no panels
//!   "recurrence16/g"  [directions][g·hidden][depth]: per direction panels of 16 of each of the g parts in turn
//! Kernels of rank 3 lack y; matrices may have leading extents of 1.
struct Packing
{
    enum class Kind : uint8_t
    {
        kColumns,
        kColumnsTransposed,
        kConvolution,
        kDeconvolution,
        kDepthwise,
        kRecurrence,
    };
    Kind kind{Kind::kColumns};
    int64_t groups{1};

    std::string name() const;
    //! Elements of the packed form; −1 when the extents do not fit it.
    int64_t size(std::vector<int64_t> const& extents) const;
    //! Both buffers have the right size. Undoing goes from `packed` to `plain`.
    void pack(DType type, std::vector<int64_t> const& extents, void const* plain, void* packed) const;
    void unpack(DType type, std::vector<int64_t> const& extents, void const* packed, void* plain) const;

  private:
    template <typename Visit>
    void forEach(std::vector<int64_t> const& extents, Visit const& visit) const;
    template <typename Visit>
    void forEachRecurrent(std::vector<int64_t> const& extents, Visit const& visit) const;
};

//! Extents of a 1-D image or kernel as those of a 2-D one whose height is 1.
std::vector<int64_t> asImage(std::vector<int64_t> extents);

//! Extents without leading ones, as many as can go from a matrix.
std::vector<int64_t> asMatrix(std::vector<int64_t> extents);

//! The packing of a stored name.
Result<Packing> packingOf(std::string_view name);
//! A constant in the packed form, for KernelSpec.
Result<PackedWeight> packWeight(int32_t input, Constant const& constant, Packing const& packing);

//! A constant operand of a real type as a kernel wants it: the stored memory when it is packed that way, else a copy
//! packed at load.
class PackedOperand
{
  public:
    static Result<PackedOperand> load(LayerKernel const& kernel, size_t input, Packing const& packing);
    //! T: what elements of the constant's type are stored as.
    template <typename T>
    T const* data() const noexcept
    {
        return static_cast<T const*>(mData);
    }

  private:
    void const* mData{nullptr};
    std::shared_ptr<void> mOwned;
};

} // namespace tenon::cpu
