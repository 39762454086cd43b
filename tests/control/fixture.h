// What the tests of loops and conditionals share: constants, and runs of a network by name.
#pragma once

#include "api/fixture.h"

#include <list>
#include <map>

namespace apitest
{

//! A tensor of one of the types that these tests use, as doubles.
struct Array
{
    std::vector<int64_t> shape;
    std::vector<double> values;
    DataType type{DataType::kFLOAT};
};

inline int64_t countOf(std::vector<int64_t> const& shape)
{
    int64_t count{1};
    for (int64_t const extent : shape)
        count *= extent;
    return count;
}

template <typename T>
std::vector<T> cast(std::vector<double> const& values)
{
    return {values.begin(), values.end()};
}

//! Takes what it is offered, and keeps the extents.
class ShapeListener final : public IOutputAllocator
{
  public:
    void* reallocateOutputAsync(char const*, void* current, uint64_t, uint64_t, cudaStream_t) override
    {
        return current;
    }
    void notifyShape(char const*, Dims const& shape) noexcept override
    {
        told = shape;
    }
    Dims told{-1, {}};
};

class ControlTest : public ApiTest
{
  protected:
    ITensor* floats(std::vector<int64_t> const& shape, std::vector<float> values)
    {
        mFloats.push_back(std::move(values));
        return network->addConstant(dims(shape), weights(mFloats.back()))->getOutput(0);
    }
    ITensor* integer(int64_t value)
    {
        mIntegers.push_back(value);
        return network->addConstant(dims({}), {DataType::kINT64, &mIntegers.back(), 1})->getOutput(0);
    }
    ITensor* input(char const* name, std::vector<int64_t> const& shape, DataType type = DataType::kFLOAT)
    {
        return network->addInput(name, type, dims(shape));
    }
    ITensor* add(ITensor* a, ITensor* b, ElementWiseOperation op = ElementWiseOperation::kSUM)
    {
        return network->addElementWise(*a, *b, op)->getOutput(0);
    }
    void mark(ITensor* tensor, char const* name)
    {
        tensor->setName(name);
        network->markOutput(*tensor);
    }
    //! Builds; an error is in the logger.
    bool build()
    {
        engine = buildEngine();
        context.reset(engine == nullptr ? nullptr : engine->createExecutionContext());
        return context != nullptr;
    }
    bool fails(std::string const& why)
    {
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        EXPECT_NE(logger.errors().find(why), std::string::npos) << logger.errors();
        return plan == nullptr;
    }

    //! Runs on the test's stream. Outputs have at most `most` elements.
    std::map<std::string, Array> run(std::map<std::string, Array> const& inputs, size_t most = 4096)
    {
        std::list<DeviceArray<uint8_t>> memory;
        for (auto const& [name, array] : inputs)
        {
            EXPECT_TRUE(context->setInputShape(name.c_str(), dims(array.shape))) << logger.errors();
            memory.emplace_back(bytesOf(array));
            EXPECT_TRUE(context->setTensorAddress(name.c_str(), memory.back().data()));
        }
        std::map<std::string, DeviceArray<uint8_t>*> made;
        for (int32_t i = 0; i < engine->getNbIOTensors(); ++i)
        {
            char const* const name = engine->getIOTensorName(i);
            if (engine->getTensorIOMode(name) != TensorIOMode::kOUTPUT)
                continue;
            memory.emplace_back(std::vector<uint8_t>(most * 8, 0xAB));
            made[name] = &memory.back();
            EXPECT_TRUE(context->setTensorAddress(name, memory.back().data()));
            Dims const known = engine->getTensorShape(name);
            if (std::count(known.d, known.d + known.nbDims, -1) > 0)
            {
                EXPECT_TRUE(context->setOutputAllocator(name, &mListeners[name]));
            }
        }
        isRun = runToEnd(*context);
        std::map<std::string, Array> results;
        for (auto const& [name, array] : made)
        {
            auto const listener = mListeners.find(name);
            Dims const shape =
                listener == mListeners.end() ? context->getTensorShape(name.c_str()) : listener->second.told;
            results[name] = arrayOf(array->read(), extents(shape), engine->getTensorDataType(name.c_str()));
        }
        return results;
    }
    //! The same, which must succeed.
    std::map<std::string, Array> results(std::map<std::string, Array> const& inputs)
    {
        auto made = run(inputs);
        EXPECT_TRUE(isRun) << logger.errors();
        return made;
    }

    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;
    bool isRun{false};

  private:
    template <typename T>
    static std::vector<uint8_t> rawOf(std::vector<double> const& values)
    {
        std::vector<T> const typed = cast<T>(values);
        auto const* const first = reinterpret_cast<uint8_t const*>(typed.data());
        return {first, first + typed.size() * sizeof(T)};
    }
    static std::vector<uint8_t> bytesOf(Array const& array)
    {
        switch (array.type)
        {
        case DataType::kFLOAT: return rawOf<float>(array.values);
        case DataType::kINT32: return rawOf<int32_t>(array.values);
        case DataType::kINT64: return rawOf<int64_t>(array.values);
        default: return rawOf<uint8_t>(array.values);
        }
    }
    template <typename T>
    static std::vector<double> valuesOf(std::vector<uint8_t> const& bytes, int64_t count)
    {
        auto const* const first = reinterpret_cast<T const*>(bytes.data());
        return {first, first + count};
    }
    static Array arrayOf(std::vector<uint8_t> const& bytes, std::vector<int64_t> const& shape, DataType type)
    {
        Array array{shape, {}, type};
        int64_t const count = std::max<int64_t>(countOf(shape), 0);
        switch (type)
        {
        case DataType::kFLOAT: array.values = valuesOf<float>(bytes, count); break;
        case DataType::kINT32: array.values = valuesOf<int32_t>(bytes, count); break;
        case DataType::kINT64: array.values = valuesOf<int64_t>(bytes, count); break;
        default: array.values = valuesOf<uint8_t>(bytes, count); break;
        }
        return array;
    }

    std::map<std::string, ShapeListener> mListeners;
    std::list<std::vector<float>> mFloats;
    std::list<int64_t> mIntegers;
};

using Values = std::vector<double>;

} // namespace apitest
