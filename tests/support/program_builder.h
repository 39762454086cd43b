// ProgramBuilder: small plans made by hand, for tests of plan and runtime.
#pragma once

#include "plan/plan.h"

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenon::test
{

//! A register while the plan is being built; becomes a position at the end.
struct Reg
{
    bool isSymbol{false};
    int32_t index{0};
};

class ProgramBuilder
{
  public:
    explicit ProgramBuilder(std::string device = "toy")
    {
        mProgram.device = std::move(device);
        mPlan.networkName = "by hand";
        mPlan.profiles.resize(1);
    }

    // ---- shape program
    Reg constant(int64_t value)
    {
        return instruction(PlanShapeOp::kConstant, {}, {}, value);
    }
    Reg compute(PlanShapeOp op, Reg a, Reg b)
    {
        return instruction(op, a, b, 0);
    }

    // ---- I/O
    //! −1 extents become symbols, bounded by `min` and `max` in profile 0.
    int32_t input(std::string const& name, std::vector<int64_t> const& extents, int64_t min = 1, int64_t max = 16,
        DType dtype = DType::kFLOAT)
    {
        int32_t const io = addIO(name, extents, dtype, true);
        PlanProfileInput bounds{io};
        bounds.min = bounds.opt = bounds.max = mPlan.io.back().dims;
        std::vector<Reg> registers;
        for (size_t i = 0; i < extents.size(); ++i)
        {
            if (extents[i] >= 0)
            {
                registers.push_back(constant(extents[i]));
                continue;
            }
            bounds.min.d[i] = min;
            bounds.opt.d[i] = (min + max) / 2;
            bounds.max.d[i] = max;
            auto const index = static_cast<int32_t>(i);
            registers.push_back(symbol({PlanSymbolKind::kInputExtent, io, index, min, max, -1, name}));
        }
        mPlan.profiles[0].inputs.push_back(bounds);
        return tensor(PlanTensorKind::kIO, io, dtype, registers, name);
    }
    //! A shape tensor of int64 values between min and max.
    std::vector<Reg> shapeInput(std::string const& name, int64_t count, int64_t min, int64_t max)
    {
        int32_t const io = addIO(name, {count}, DType::kINT64, true);
        mPlan.io.back().isShape = true;
        PlanProfileInput bounds{io};
        bounds.min = bounds.opt = bounds.max = mPlan.io.back().dims;
        bounds.minValues.assign(static_cast<size_t>(count), min);
        bounds.optValues = bounds.minValues;
        bounds.maxValues.assign(static_cast<size_t>(count), max);
        mPlan.profiles[0].inputs.push_back(bounds);
        std::vector<Reg> values;
        for (int32_t i = 0; i < count; ++i)
            values.push_back(symbol({PlanSymbolKind::kInputValue, io, i, min, max, -1, name}));
        return values;
    }
    int32_t output(std::string const& name, std::vector<Reg> const& extents, DType dtype = DType::kFLOAT)
    {
        int32_t const io = addIO(name, std::vector<int64_t>(extents.size(), -1), dtype, false);
        return tensor(PlanTensorKind::kIO, io, dtype, extents, name);
    }

    // ---- tensors and steps
    int32_t activation(std::vector<Reg> const& extents, DType dtype = DType::kFLOAT)
    {
        return tensor(PlanTensorKind::kActivation, -1, dtype, extents, "t" + std::to_string(mProgram.tensors.size()));
    }
    int32_t view(int32_t of, std::vector<Reg> const& extents)
    {
        DType const dtype = mProgram.tensors[static_cast<size_t>(of)].dtype;
        return tensor(PlanTensorKind::kView, of, dtype, extents, "view of " + std::to_string(of));
    }
    int32_t values(std::vector<Reg> const& registers)
    {
        return tensor(PlanTensorKind::kValues, -1, DType::kINT64, registers, "values");
    }
    int32_t weight(std::vector<float> const& data, std::vector<int64_t> const& extents)
    {
        auto const owner = std::make_shared<std::vector<float>>(data);
        PlanWeight weight{DType::kFLOAT, extents, "", data.size() * sizeof(float), owner->data(), owner};
        weight.name = "w" + std::to_string(mPlan.weights.size());
        mPlan.weights.push_back(weight);
        std::vector<Reg> registers;
        for (int64_t const extent : extents)
            registers.push_back(constant(extent));
        return tensor(PlanTensorKind::kWeight, static_cast<int32_t>(mPlan.weights.size()) - 1, DType::kFLOAT, registers,
            weight.name);
    }
    PlanStep& step(std::string const& kernel, std::vector<int32_t> inputs, std::vector<int32_t> outputs)
    {
        PlanStep step;
        step.kernel = kernel;
        step.inputs = std::move(inputs);
        step.outputs = std::move(outputs);
        step.name = kernel + std::to_string(mProgram.steps.size());
        step.candidate = "toy";
        mProgram.steps.push_back(std::move(step));
        return mProgram.steps.back();
    }
    template <typename T>
    static Bytes args(T value)
    {
        Bytes bytes(sizeof(T));
        std::memcpy(bytes.data(), &value, sizeof(T));
        return bytes;
    }
    //! The one symbol that the step made next tells: set that step's `produces` to its index.
    Reg dataSymbol(Reg upper)
    {
        auto const source = static_cast<int32_t>(mProgram.steps.size());
        Reg const reg = symbol({PlanSymbolKind::kData, source, 0, 0, 0, -1, "data"});
        mUppers.emplace_back(reg.index, upper);
        return reg;
    }
    //! Extents of a tensor.
    std::vector<Reg> const& extentsOf(int32_t tensor) const
    {
        return mExtents[static_cast<size_t>(tensor)];
    }

    void setExtents(int32_t tensor, std::vector<Reg> const& extents)
    {
        mExtents[static_cast<size_t>(tensor)] = extents;
    }
    Plan& plan()
    {
        return mPlan;
    }
    //! Registers become positions, outputs' known extents become those of the plan.
    std::shared_ptr<Plan> finish()
    {
        auto const symbols = static_cast<int32_t>(mProgram.symbols.size());
        auto const position = [&](Reg reg) { return reg.isSymbol ? reg.index : symbols + reg.index; };
        for (size_t i = 0; i < mOperands.size(); ++i)
        {
            mProgram.shapes[i].a = position(mOperands[i].first);
            mProgram.shapes[i].b = position(mOperands[i].second);
        }
        for (size_t i = 0; i < mExtents.size(); ++i)
        {
            mProgram.tensors[i].extents.clear();
            for (Reg const reg : mExtents[i])
                mProgram.tensors[i].extents.push_back(position(reg));
        }
        for (auto const& [symbol, upper] : mUppers)
            mProgram.symbols[static_cast<size_t>(symbol)].upper = position(upper);
        mPlan.programs = {mProgram};
        return std::make_shared<Plan>(mPlan);
    }

  private:
    int32_t addIO(std::string const& name, std::vector<int64_t> const& extents, DType dtype, bool isInput)
    {
        PlanIO io;
        io.name = name;
        io.isInput = isInput;
        io.dtype = dtype;
        io.dims.nbDims = static_cast<int32_t>(extents.size());
        for (size_t i = 0; i < extents.size(); ++i)
            io.dims.d[i] = extents[i];
        mPlan.io.push_back(io);
        return static_cast<int32_t>(mPlan.io.size()) - 1;
    }
    Reg symbol(PlanSymbol symbol)
    {
        mProgram.symbols.push_back(std::move(symbol));
        return {true, static_cast<int32_t>(mProgram.symbols.size()) - 1};
    }
    Reg instruction(PlanShapeOp op, Reg a, Reg b, int64_t value)
    {
        mProgram.shapes.push_back({op, -1, -1, value});
        mOperands.emplace_back(a, b);
        return {false, static_cast<int32_t>(mProgram.shapes.size()) - 1};
    }
    int32_t tensor(PlanTensorKind kind, int32_t index, DType dtype, std::vector<Reg> const& extents, std::string name)
    {
        PlanTensor tensor;
        tensor.kind = kind;
        tensor.index = index;
        tensor.dtype = dtype;
        tensor.name = std::move(name);
        mProgram.tensors.push_back(std::move(tensor));
        mExtents.push_back(extents);
        return static_cast<int32_t>(mProgram.tensors.size()) - 1;
    }

    Plan mPlan;
    Program mProgram;
    std::vector<std::pair<Reg, Reg>> mOperands;
    std::vector<std::vector<Reg>> mExtents;
    std::vector<std::pair<int32_t, Reg>> mUppers;
};

} // namespace tenon::test
