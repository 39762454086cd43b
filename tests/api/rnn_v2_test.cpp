// The recurrent layer of 8.x: its properties, what it refuses, and a stack of both ways against plain loops.
#include "fixture.h"

#include <cmath>

namespace apitest
{

namespace
{
constexpr int32_t kBatch{2};
constexpr int32_t kSteps{3};
constexpr int32_t kInputs{4};
constexpr int32_t kHidden{5};

//! Matrices and biases of an LSTM's four gates; of the input and of the hidden state.
struct Cell
{
    std::vector<std::vector<float>> matrices[2];
    std::vector<std::vector<float>> biases[2];
};

Cell randomCell(int64_t columns, unsigned seed)
{
    Cell cell;
    for (size_t which = 0; which < 2; ++which)
        for (unsigned gate = 0; gate < 4; ++gate)
        {
            int64_t const width = which == 0 ? columns : kHidden;
            unsigned const own = seed + 10 * static_cast<unsigned>(which) + gate;
            cell.matrices[which].push_back(randomFloats(kHidden * width, own));
            cell.biases[which].push_back(randomFloats(kHidden, own + 100));
        }
    return cell;
}

constexpr RNNGateType kGates[]{RNNGateType::kINPUT, RNNGateType::kOUTPUT, RNNGateType::kFORGET, RNNGateType::kCELL};

void give(IRNNv2Layer& layer, int32_t index, Cell const& cell)
{
    for (bool const isW : {true, false})
        for (size_t gate = 0; gate < 4; ++gate)
        {
            layer.setWeightsForGate(index, kGates[gate], isW, weights(cell.matrices[isW ? 0 : 1][gate]));
            layer.setBiasForGate(index, kGates[gate], isW, weights(cell.biases[isW ? 0 : 1][gate]));
        }
}

double gateOf(Cell const& cell, size_t gate, size_t unit, std::vector<double> const& x, std::vector<double> const& h)
{
    double sum = static_cast<double>(cell.biases[0][gate][unit]) + static_cast<double>(cell.biases[1][gate][unit]);
    for (size_t c = 0; c < x.size(); ++c)
        sum += static_cast<double>(cell.matrices[0][gate][unit * x.size() + c]) * x[c];
    for (size_t c = 0; c < h.size(); ++c)
        sum += static_cast<double>(cell.matrices[1][gate][unit * h.size() + c]) * h[c];
    return sum;
}

//! One sequence through one cell; the hidden state of each step.
std::vector<std::vector<double>> walked(Cell const& cell, std::vector<std::vector<double>> const& x, bool isBackward)
{
    std::vector<std::vector<double>> y(x.size());
    std::vector<double> h(kHidden, 0.0);
    std::vector<double> c(kHidden, 0.0);
    for (size_t i = 0; i < x.size(); ++i)
    {
        size_t const step = isBackward ? x.size() - 1 - i : i;
        std::vector<double> next(kHidden);
        for (size_t j = 0; j < kHidden; ++j)
        {
            auto const sigmoid = [&](size_t gate) {
                return 1.0 / (1.0 + std::exp(-gateOf(cell, gate, j, x[step], h)));
            };
            c[j] = sigmoid(2) * c[j] + sigmoid(0) * std::tanh(gateOf(cell, 3, j, x[step], h));
            next[j] = sigmoid(1) * std::tanh(c[j]);
        }
        y[step] = h = next;
    }
    return y;
}

std::vector<std::vector<double>> sideBySide(
    std::vector<std::vector<double>> first, std::vector<std::vector<double>> const& second)
{
    for (size_t i = 0; i < first.size(); ++i)
        first[i].insert(first[i].end(), second[i].begin(), second[i].end());
    return first;
}
} // namespace

class RnnV2 : public ApiTest
{
  protected:
    ITensor* x{network->addInput("x", DataType::kFLOAT, dims({kBatch, kSteps, kInputs}))};
    IRNNv2Layer* add(int32_t layers, RNNOperation operation)
    {
        return network->addRNNv2(*x, layers, kHidden, kSteps, operation);
    }
};

TEST_F(RnnV2, startsAsItWasAdded)
{
    IRNNv2Layer* layer = add(2, RNNOperation::kGRU);
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(layer->getType(), LayerType::kRNN_V2);
    EXPECT_EQ(layer->getLayerCount(), 2);
    EXPECT_EQ(layer->getHiddenSize(), kHidden);
    EXPECT_EQ(layer->getMaxSeqLength(), kSteps);
    EXPECT_EQ(layer->getDataLength(), kInputs);
    EXPECT_EQ(layer->getOperation(), RNNOperation::kGRU);
    EXPECT_EQ(layer->getInputMode(), RNNInputMode::kLINEAR);
    EXPECT_EQ(layer->getDirection(), RNNDirection::kUNIDIRECTION);
    EXPECT_EQ(layer->getSequenceLengths(), nullptr);
    EXPECT_EQ(layer->getHiddenState(), nullptr);
    EXPECT_EQ(layer->getCellState(), nullptr);
    EXPECT_EQ(layer->getNbOutputs(), 2);
    EXPECT_EQ(layer->getWeightsForGate(0, RNNGateType::kRESET, true).count, 0);
    std::vector<float> const matrix = randomFloats(kHidden * kInputs, 3);
    layer->setWeightsForGate(0, RNNGateType::kRESET, true, weights(matrix));
    EXPECT_EQ(layer->getWeightsForGate(0, RNNGateType::kRESET, true).values, matrix.data());
    EXPECT_EQ(layer->getWeightsForGate(0, RNNGateType::kRESET, false).count, 0);
    ITensor* states = network->addInput("h", DataType::kFLOAT, dims({kBatch, 2, kHidden}));
    ITensor* lengths = network->addInput("l", DataType::kINT32, dims({kBatch}));
    layer->setHiddenState(*states);
    layer->setSequenceLengths(*lengths);
    EXPECT_EQ(layer->getHiddenState(), states);
    EXPECT_EQ(layer->getSequenceLengths(), lengths);
}

TEST_F(RnnV2, refusesWhatItsCellsHaveNot)
{
    IRNNv2Layer* layer = add(1, RNNOperation::kGRU);
    layer->setWeightsForGate(0, RNNGateType::kFORGET, true, {});
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "its cells have no gate 2"), 1) << logger.errors();
    layer->setBiasForGate(2, RNNGateType::kRESET, true, {});
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "there is no layer 2 in a stack of 1"), 1) << logger.errors();
    layer->setCellState(*x);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "only an LSTM has a cell state"), 1) << logger.errors();
    layer->setOperation(RNNOperation::kLSTM);
    EXPECT_EQ(layer->getOperation(), RNNOperation::kGRU);
    EXPECT_EQ(add(0, RNNOperation::kGRU), nullptr);
    EXPECT_EQ(add(1, static_cast<RNNOperation>(4)), nullptr);
    EXPECT_LT(layer->getOutput(0)->getDimensions().nbDims, 0);
    EXPECT_EQ(
        logger.count(ILogger::Severity::kERROR, "has no recurrent weights for gate 3: call setWeightsForGate()"), 1)
        << logger.errors();
}

TEST_F(RnnV2, twoLayersOfBothWaysAsPlainLoops)
{
    Cell const cells[]{
        randomCell(kInputs, 1), randomCell(kInputs, 31), randomCell(2 * kHidden, 61), randomCell(2 * kHidden, 91)};
    IRNNv2Layer* layer = add(2, RNNOperation::kLSTM);
    layer->setDirection(RNNDirection::kBIDIRECTION);
    for (int32_t i = 0; i < 4; ++i)
        give(*layer, i, cells[i]);
    EXPECT_EQ(extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{kBatch, kSteps, 2 * kHidden}));
    EXPECT_EQ(extents(layer->getOutput(2)->getDimensions()), (std::vector<int64_t>{kBatch, 4, kHidden}));
    for (int32_t i = 0; i < 2; ++i)
    {
        layer->getOutput(i)->setName(i == 0 ? "y" : "last");
        network->markOutput(*layer->getOutput(i));
    }
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const given = randomFloats(kBatch * kSteps * kInputs, 7);
    DeviceArray<float> in{given};
    DeviceArray<float> y{kBatch * kSteps * 2 * kHidden};
    DeviceArray<float> last{kBatch * 4 * kHidden};
    ASSERT_TRUE(context->setTensorAddress("x", in.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    ASSERT_TRUE(context->setTensorAddress("last", last.data()));
    ASSERT_TRUE(runToEnd(*context));
    std::vector<float> expectedY, expectedLast;
    for (size_t b = 0; b < kBatch; ++b)
    {
        std::vector<std::vector<double>> running;
        for (size_t s = 0; s < kSteps; ++s)
        {
            auto const* row = given.data() + (b * kSteps + s) * kInputs;
            running.emplace_back(row, row + kInputs);
        }
        for (size_t i = 0; i < 2; ++i)
        {
            auto const forward = walked(cells[2 * i], running, false);
            auto const backward = walked(cells[2 * i + 1], running, true);
            expectedLast.insert(expectedLast.end(), forward.back().begin(), forward.back().end());
            expectedLast.insert(expectedLast.end(), backward.front().begin(), backward.front().end());
            running = sideBySide(forward, backward);
        }
        for (std::vector<double> const& step : running)
            expectedY.insert(expectedY.end(), step.begin(), step.end());
    }
    expectNear(y.read(), expectedY);
    expectNear(last.read(), expectedLast);
}

TEST_F(RnnV2, theInputEntersAsItIs)
{
    ITensor* wide = network->addInput("wide", DataType::kFLOAT, dims({kBatch, kSteps, kHidden}));
    IRNNv2Layer* layer = network->addRNNv2(*wide, 1, kHidden, kSteps, RNNOperation::kRELU);
    layer->setInputMode(RNNInputMode::kSKIP);
    std::vector<float> const none(kHidden * kHidden, 0.0F);
    layer->setWeightsForGate(0, RNNGateType::kINPUT, false, weights(none));
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    network->removeTensor(*x);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const given = randomFloats(kBatch * kSteps * kHidden, 9);
    DeviceArray<float> in{given};
    DeviceArray<float> y{given.size()};
    ASSERT_TRUE(context->setTensorAddress("wide", in.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    ASSERT_TRUE(runToEnd(*context));
    std::vector<float> expected = given;
    for (float& each : expected)
        each = std::max(each, 0.0F);
    expectNear(y.read(), expected);
}

} // namespace apitest
