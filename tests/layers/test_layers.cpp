// Every case of every layer kind: types from the rules, with static and with symbolic extents, and golden values from
// the reference, from the body, and from the layer as it is stored in plans.
#include "layers/plugin.h"
#include "support/cases.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace tenon::test
{
namespace
{

//! What the rules see of a case's inputs.
class CaseInputs
{
  public:
    //! Extents along `symbolicAxes` of inputs that the build does not know become symbols, but for those of 1.
    CaseInputs(LayerCase const& one, uint32_t symbolicAxes)
    {
        std::vector<Input> views;
        mTypes.reserve(one.inputs.size());
        for (size_t i = 0; i < one.inputs.size(); ++i)
        {
            views.emplace_back();
            if (!one.inputs[i])
                continue;
            HostTensor const& tensor = one.inputs[i]->tensor;
            mTypes.push_back({tensor.dtype, shapeOf(tensor.extents)});
            if (one.inputs[i]->isConstant)
                mConstants.push_back(tensor.toConstant());
            else
                makeSymbolic(mTypes.back(), static_cast<int32_t>(i), symbolicAxes);
            views.back() = {
                &mTypes.back(), nullptr, one.inputs[i]->isConstant ? mConstants.back().get() : nullptr, "t"};
        }
        mKnown = mValues.size();
        mInputs.emplace(std::move(views), one.name, &mSymbols, static_cast<int32_t>(one.inputs.size()));
    }
    Inputs const& inputs() const
    {
        return *mInputs;
    }
    //! Concrete extents of an inferred shape.
    std::vector<int64_t> evaluate(Shape const& shape, std::vector<int64_t> const& golden)
    {
        std::vector<int64_t> extents;
        for (size_t axis = 0; axis < shape.size(); ++axis)
        {
            bool const known =
                shape[axis].symbols().empty() || static_cast<size_t>(shape[axis].symbols().back()) < mKnown;
            mValues.resize(static_cast<size_t>(mSymbols.size()), 0);
            if (!known && axis < golden.size()) // Only the data tells this one.
                mValues[static_cast<size_t>(shape[axis].symbols().back())] = golden[axis];
            extents.push_back(shape[axis].evaluate(mValues));
        }
        return extents;
    }

  private:
    void makeSymbolic(TensorType& type, int32_t input, uint32_t axes)
    {
        for (size_t axis = 0; axis < type.shape.size(); ++axis)
        {
            int64_t const extent = *type.shape[axis].constant();
            if ((axes >> axis & 1U) == 0 || extent == 1)
                continue;
            int32_t const id =
                mSymbols.find(SymbolKind::kInputExtent, input, static_cast<int32_t>(axis), {}, {0, extent + 5});
            type.shape[axis] = ShapeExpr::symbol(id);
            mValues.push_back(extent);
        }
    }

    std::vector<TensorType> mTypes;
    std::vector<std::shared_ptr<Constant const>> mConstants;
    SymbolTable mSymbols;
    std::vector<int64_t> mValues;
    size_t mKnown{0};
    std::optional<Inputs> mInputs;
};

std::vector<LayerCase> const& cases()
{
    static std::vector<LayerCase> const all = loadAllCases(TENON_LAYER_CASES);
    return all;
}

HostTensors operandsOf(LayerCase const& one)
{
    HostTensors operands;
    for (std::optional<CaseInput> const& input : one.inputs)
        operands.push_back(input ? &input->tensor : nullptr);
    return operands;
}

void expectTypes(LayerCase const& one, CaseInputs& in, std::vector<TensorType> const& types)
{
    ASSERT_EQ(types.size(), one.outputs.size());
    for (size_t i = 0; i < types.size(); ++i)
    {
        EXPECT_EQ(types[i].dtype, one.outputs[i].dtype);
        EXPECT_EQ(in.evaluate(types[i].shape, one.outputs[i].extents), one.outputs[i].extents) << show(types[i].shape);
    }
}

void expectGolden(LayerCase const& one, Result<std::vector<HostTensor>> const& got)
{
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(got->size(), one.outputs.size());
    for (size_t i = 0; i < got->size(); ++i)
    {
        std::optional<std::string> const difference = differenceOf((*got)[i], one.outputs[i]);
        EXPECT_FALSE(difference) << "output " << i << ": " << *difference;
    }
}

void checkStaticTypes(LayerCase const& one)
{
    CaseInputs in{one, 0};
    Result<std::vector<TensorType>> const types = one.layer->infer(in.inputs());
    ASSERT_TRUE(types) << types.error().message;
    expectTypes(one, in, *types);
}

void checkSymbolicTypes(LayerCase const& one)
{
    for (uint32_t const axes : {~0U, 1U, 4U})
    {
        CaseInputs in{one, axes};
        Result<std::vector<TensorType>> const types = one.layer->infer(in.inputs());
        if (types || axes == 1U) // Some axes must be known while building; the first never.
        {
            if (!types && axes == 1U) // Unless the layer is about just this axis.
                EXPECT_NE(types.error().message.find(one.name), std::string::npos) << types.error().message;
            else
                expectTypes(one, in, *types);
        }
    }
}

void checkReference(LayerCase const& one)
{
    expectGolden(one, one.layer->reference(operandsOf(one)));
}

void checkStoredAndLoaded(LayerCase const& one)
{
    Bytes const stored = one.layer->stored();
    Result<LayerPtr> const loaded = loadLayer(one.kind, stored);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ((*loaded)->stored(), stored);
    EXPECT_EQ((*loaded)->show(), one.layer->show());
    expectGolden(one, (*loaded)->reference(operandsOf(one)));
}

void checkBody(LayerCase const& one)
{
    HostTensors operands = operandsOf(one);
    while (!operands.empty() && operands.back() == nullptr)
        operands.pop_back();
    std::optional<Expr> const body = one.layer->body(static_cast<int32_t>(operands.size()));
    bool const isEmptyReduction = one.name.find("OfNothing") != std::string::npos;
    if (!body || isEmptyReduction)
        return; // The layer has its own algorithm, or its own answer for nothing.
    Result<Done> const verified = body->verify();
    ASSERT_TRUE(verified) << verified.error().message;
    Result<HostTensor> value = evaluate(*body, operands);
    ASSERT_TRUE(value) << value.error().message;
    std::vector<HostTensor> values;
    values.push_back(*std::move(value));
    expectGolden(one, values);
}

class LayerCases : public testing::TestWithParam<LayerCase>
{
};

TEST_P(LayerCases, agrees)
{
    checkStaticTypes(GetParam());
    checkSymbolicTypes(GetParam());
    checkReference(GetParam());
    checkStoredAndLoaded(GetParam());
    checkBody(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Golden, LayerCases, testing::ValuesIn(cases()), [](testing::TestParamInfo<LayerCase> const& info) {
        std::string name = info.param.fullName();
        std::replace(name.begin(), name.end(), '-', 'm');
        return name;
    });

TEST(Layers, everyKindHasACaseFile)
{
    std::set<std::string> covered;
    for (LayerCase const& one : cases())
        covered.insert(one.kind);
    covered.insert("Plugin");                // What it does is the user's: tests/plugins.
    covered.insert({"Loop", "Conditional"}); // Their bodies are graphs: tests/control.
    for (LayerEntry const& entry : allLayers())
        EXPECT_TRUE(covered.contains(std::string{entry.name})) << entry.name;
}

TEST(Layers, truncatedFieldsAreRefused)
{
    for (LayerCase const& one : cases())
    {
        Bytes stored = one.layer->stored();
        stored.pop_back();
        EXPECT_FALSE(loadLayer(one.kind, stored)) << one.fullName();
    }
}

//! A plan may hold any number there, and plugins are promised one that they can divide by.
TEST(Layers, customLayersHaveScalesAboveZero)
{
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (float const scale : {0.5F, 1.0F, 0.0F, -0.5F, kInfinity, std::numeric_limits<float>::quiet_NaN()})
    {
        CustomLayer layer{.type = "Any", .version = "1"};
        layer.ports = {{DType::kINT8, nvinfer1::TensorFormat::kCHW32, {}, scale}};
        Bytes const stored = makeLayer(std::move(layer))->stored();
        EXPECT_EQ(static_cast<bool>(loadLayer(CustomLayer::kName, stored)), scale == 0.5F || scale == 1.0F) << scale;
    }
}

} // namespace
} // namespace tenon::test
