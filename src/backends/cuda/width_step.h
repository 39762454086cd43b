// WidthStep: a step of one kernel over items, which are packs of elements where addresses allow it, else elements.
#pragma once

#include "backends/cuda/modules.h"
#include "device/cuda/cuda_kernel.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tenon::cuda
{

//! Bytes of the widest access.
inline constexpr int64_t kWideBytes{16};

//! How many elements of so many bytes such an access moves.
constexpr int64_t elementsAtOnce(int64_t bytes) noexcept
{
    return std::max<int64_t>(kWideBytes / std::max<int64_t>(bytes, 1), 1);
}

//! A kernel, its parameters without addresses, and what the addresses of its packs must be multiples of. `count` of the
//! parameters is how many items there are.
template <typename Params>
struct KernelForm
{
    Params params{};
    void* code{nullptr};
    uintptr_t alignment{1};
};

//! Whether output 0 and the inputs with a bit in `inputs` lie at multiples of `alignment`.
inline bool areAligned(Call const& call, uint32_t inputs, uintptr_t alignment) noexcept
{
    auto all = reinterpret_cast<uintptr_t>(call.outputs[0]);
    for (size_t i = 0; inputs >> i != 0; ++i)
        if ((inputs >> i & 1U) != 0)
            all |= reinterpret_cast<uintptr_t>(call.inputs[i]);
    return all % alignment == 0;
}

template <typename Params>
class WidthStep final : public CudaPrepared
{
  public:
    //! Puts the addresses of a call into parameters.
    using Bind = void (*)(Params& params, Call const& call);

    //! `packedInputs`: a bit for each input that is read in packs, as output 0 is written.
    WidthStep(KernelForm<Params> narrow, std::optional<KernelForm<Params>> wide, uint32_t packedInputs, Bind bind)
        : mNarrow{narrow},
          mWide{wide},
          mPackedInputs{packedInputs},
          mBind{bind}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        bool const isWide = mWide && areAligned(at.call, mPackedInputs, mWide->alignment);
        KernelForm<Params> const& form = isWide ? *mWide : mNarrow;
        Params params = form.params;
        mBind(params, at.call);
        return launchKernel(at, form.code, gridFor(at.device, static_cast<int64_t>(params.count)), params);
    }

  private:
    KernelForm<Params> mNarrow;
    std::optional<KernelForm<Params>> mWide;
    uint32_t mPackedInputs;
    Bind mBind;
};

//! A step in two forms.
template <typename Params>
std::shared_ptr<Prepared const> widthStep(KernelForm<Params> const& narrow,
    std::optional<KernelForm<Params>> const& wide, uint32_t packedInputs, typename WidthStep<Params>::Bind bind)
{
    return std::make_shared<WidthStep<Params>>(narrow, wide, packedInputs, bind);
}

//! A step in one form.
template <typename Params>
std::shared_ptr<Prepared const> widthStep(Params const& params, void* code, typename WidthStep<Params>::Bind bind)
{
    return std::make_shared<WidthStep<Params>>(KernelForm<Params>{params, code}, std::nullopt, 0U, bind);
}

} // namespace tenon::cuda
