// Calls of Tenon's: looked up where the library is loaded, so that the parser needs the public API alone.
#include "own_calls.h"

#include <dlfcn.h>

namespace tenon::onnx
{
namespace
{

using FreeText = void (*)(char* text);

template <typename Function>
Function lookUp(char const* name)
{
    // Python loads the library for itself alone.
    static void* const library = dlopen("libtenon.so.0", RTLD_LAZY | RTLD_NOLOAD);
    void* const found = dlsym(library != nullptr ? library : RTLD_DEFAULT, name);
    return reinterpret_cast<Function>(found);
}

template <typename... Args>
std::string textFrom(char* (*give)(Args...), Args... args)
{
    static auto const release = lookUp<FreeText>("tenonFree");
    char* const given = give == nullptr || release == nullptr ? nullptr : give(args...);
    std::string text = given == nullptr ? "" : given;
    if (given != nullptr)
    {
        release(given);
    }
    return text;
}

} // namespace

std::string reportedInFull()
{
    static auto const give = lookUp<char* (*)()>("tenonReportedError");
    return textFrom(give);
}

std::string takeExplanation()
{
    static auto const give = lookUp<char* (*)()>("tenonTakeExplanation");
    return textFrom(give);
}

std::string missingPlugin(nvinfer1::IPluginRegistry const& registry, std::string const& type,
    std::string const& version, std::string const& nameSpace)
{
    using Give = char* (*)(nvinfer1::IPluginRegistry const*, char const*, char const*, char const*);
    static auto const give = lookUp<Give>("tenonMissingPlugin");
    return textFrom(give, &registry, type.c_str(), version.c_str(), nameSpace.c_str());
}

std::string kindOfFile(std::span<char const> bytes)
{
    static auto const give = lookUp<char* (*)(void const*, size_t, int32_t)>("tenonKindOfFile");
    return textFrom(give, static_cast<void const*>(bytes.data()), bytes.size(), int32_t{1});
}

namespace
{
using AddRecurrentNetwork = void* (*)(void* network, TenonRecurrentNetwork const* recurrence);

AddRecurrentNetwork addRecurrentNetworkCall()
{
    static auto const add = lookUp<AddRecurrentNetwork>("tenonAddRecurrentNetwork");
    return add;
}
} // namespace

bool hasRecurrentNetworks()
{
    return addRecurrentNetworkCall() != nullptr;
}

nvinfer1::ILayer* addRecurrentNetwork(nvinfer1::INetworkDefinition& network, TenonRecurrentNetwork const& recurrence)
{
    AddRecurrentNetwork const add = addRecurrentNetworkCall();
    return add == nullptr ? nullptr : static_cast<nvinfer1::ILayer*>(add(&network, &recurrence));
}

namespace
{
using AddOwnLayer = void* (*)(void* network, void* x);

nvinfer1::ILayer* addedBy(AddOwnLayer add, nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& x)
{
    return add == nullptr ? nullptr : static_cast<nvinfer1::ILayer*>(add(&network, &x));
}
} // namespace

nvinfer1::ILayer* addDeterminant(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& x)
{
    static auto const add = lookUp<AddOwnLayer>("tenonAddDeterminant");
    return addedBy(add, network, x);
}

nvinfer1::ILayer* addRowOrder(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& x)
{
    static auto const add = lookUp<AddOwnLayer>("tenonAddRowOrder");
    return addedBy(add, network, x);
}

nvinfer1::ILayer* addRemainder(
    nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& a, nvinfer1::ITensor& b, bool isFloored)
{
    static auto const add = lookUp<void* (*)(void*, void*, void*, int32_t)>("tenonAddRemainder");
    return add == nullptr ? nullptr : static_cast<nvinfer1::ILayer*>(add(&network, &a, &b, isFloored ? 1 : 0));
}

nvinfer1::ILayer* addBitCast(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& x, nvinfer1::DataType toType)
{
    static auto const add = lookUp<void* (*)(void*, void*, int32_t)>("tenonAddBitCast");
    return add == nullptr ? nullptr : static_cast<nvinfer1::ILayer*>(add(&network, &x, static_cast<int32_t>(toType)));
}

namespace
{
AddOwnLayer addByteScaleCall()
{
    static auto const add = lookUp<AddOwnLayer>("tenonAddByteScale");
    return add;
}
} // namespace

bool hasByteScales()
{
    return addByteScaleCall() != nullptr;
}

nvinfer1::ILayer* addByteScale(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& x)
{
    return addedBy(addByteScaleCall(), network, x);
}

namespace
{
using SetZeroPoint = int32_t (*)(void* layer, int32_t zeroPoint);

SetZeroPoint setZeroPointCall()
{
    static auto const set = lookUp<SetZeroPoint>("tenonSetZeroPoint");
    return set;
}
} // namespace

bool hasZeroPoints()
{
    return setZeroPointCall() != nullptr;
}

bool setZeroPoint(nvinfer1::ILayer& layer, int32_t zeroPoint)
{
    SetZeroPoint const set = setZeroPointCall();
    return set != nullptr && set(&layer, zeroPoint) != 0;
}

bool takesWeightsAnywhere(nvinfer1::INetworkDefinition const& network)
{
    static auto const takes = lookUp<int32_t (*)(void const*)>("tenonTakesWeightsAnywhere");
    return takes != nullptr && takes(&network) != 0;
}

bool keepsDouble()
{
    static auto const keeps = lookUp<int32_t (*)()>("tenonKeepsFloat64");
    return keeps != nullptr && keeps() != 0;
}

char const* noteOfDouble()
{
    return keepsDouble() ? "the model has elements of type double: they are computed in double, which is slow; "
                           "TENON_DOUBLE=float computes them in float"
                         : "the model has elements of type double: they become float";
}

std::string shownMessage(std::string const& message)
{
    static auto const give = lookUp<char* (*)(char const*, int32_t)>("tenonShown");
    std::string const text = textFrom(give, message.c_str(), int32_t{0});
    return text.empty() ? message : text;
}

} // namespace tenon::onnx
