// ProductShape: what a product of matrices looks like in memory, and our own kernel for it, which stands behind those
// of libraries.
#pragma once

#include "backends/cuda/epilogue.h"
#include "backends/cuda/layer_kernel.h"
#include "layers/matrix_multiply.h"

namespace tenon::cuda
{

//! Row-major matrices; strides in elements.
struct ProductShape
{
    int64_t rows{1};
    int64_t columns{1};
    int64_t depth{1};
    bool isTurnedA{false}; //!< Stored as [depth, rows].
    bool isTurnedB{false}; //!< Stored as [columns, depth].
    bool hasBias{false};
    std::vector<int64_t> extents; //!< Of the axes in front of the matrices.
    std::vector<int64_t> aBatch;  //!< 0: the same matrices along this axis.
    std::vector<int64_t> bBatch;
};

//! Of operands that fit the layer; an error where types or layouts are none that the kernels take.
Result<ProductShape> productShape(
    MatrixMultiply const& layer, std::span<TensorArg const> inputs, std::span<TensorArg const> outputs);

//! Why no kernel of this backend can do a problem's MatrixMultiply; empty: one can.
std::string productRefusal(Problem const& problem);
//! The same for kernels that take rows and columns of matrices, rows as they lie.
std::string plainProductRefusal(Problem const& problem);
//! Multiplications at the typical shape.
double productWork(Problem const& problem);

//! A kernel of ours that reads the step's a, b and bias, and as many operands of its epilogue.
template <typename Params>
class ProductStep final : public CudaPrepared
{
  public:
    using Adapt = void(Params&);

    //! `adapt`: to the addresses of a call; may be null. `gate`: the input with factors; 0: there are none. `hidden`:
    //! what of its time runs do not see.
    ProductStep(Params const& params, Grid const& grid, void* code, size_t extras = 0, Adapt* adapt = nullptr,
        size_t gate = 0, double hidden = 0.0)
        : mParams{params},
          mGrid{grid},
          mCode{code},
          mExtras{extras},
          mAdapt{adapt},
          mGate{gate},
          mHidden{hidden}
    {
    }
    double hidden() const noexcept override
    {
        return mHidden;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        Params params = mParams;
        params.a = at.call.inputs[0];
        params.b = at.call.inputs[1];
        params.bias = params.hasBias != 0 ? at.call.inputs[2] : nullptr;
        params.c = at.call.outputs[0];
        if constexpr (requires { params.extra; })
            for (size_t i = 0; i < mExtras; ++i)
                params.extra[i] = at.call.inputs[kFirstExtra + i];
        if constexpr (requires { params.gate; })
            params.gate = mGate == 0 ? nullptr : at.call.inputs[mGate];
        if (mAdapt != nullptr)
            mAdapt(params);
        return launchKernel(at, mCode, mGrid, params);
    }

  private:
    Params mParams;
    Grid mGrid;
    void* mCode;
    size_t mExtras;
    Adapt* mAdapt;
    size_t mGate;
    double mHidden;
};

//! By tiles in shared memory, without a library and without the epilogue.
Result<std::shared_ptr<Prepared const>> tiledProduct(
    CudaDevice const& device, DType type, ProductShape const& shape, float alpha);

} // namespace tenon::cuda
