// The fake cuDNN: takes graphs of convolutions and what follows them, as strictly as the real one, and has the fake
// driver's streams compute them on the host. Its engines are few: one that sums in half precision, one without tensor
// cores, one that wants more memory than anybody gives it.
#include "devices/fake_cuda/fake_cuda.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace
{
constexpr int kSuccess{0};
constexpr int kBadParameter{2000};
constexpr int kNotFinalized{2004};
constexpr int kUnsupported{3000};
constexpr int kUnsupportedPattern{3001};

enum Kind : int
{
    kPointwise = 0,
    kConvolution = 1,
    kEngine = 2,
    kEngineConfig = 3,
    kHeuristic = 4,
    kPlan = 5,
    kForward = 10,
    kBackwardData = 12,
    kPointwiseOperation = 13,
    kGraph = 15,
    kVariant = 16,
    kTensor = 17,
    kMatmulOperation = 19,
    kAttention = 41,
};

struct Object;
using ObjectPointer = std::shared_ptr<Object>;

struct Engine
{
    int id;
    std::vector<int> notes;
    int64_t workspace;
};

struct Object
{
    int kind{0};
    bool isFinal{false};
    std::map<int, std::vector<uint8_t>> values;
    std::map<int, std::vector<ObjectPointer>> objects;
    Engine const* engine{nullptr}; //!< Of engines, their configurations and plans.

    template <typename T>
    std::vector<T> all(int attribute) const
    {
        auto const found = values.find(attribute);
        std::vector<T> list(found == values.end() ? 0 : found->second.size() / sizeof(T));
        if (!list.empty())
            std::memcpy(list.data(), found->second.data(), list.size() * sizeof(T));
        return list;
    }
    template <typename T>
    T one(int attribute, T otherwise = {}) const
    {
        std::vector<T> const list = all<T>(attribute);
        return list.empty() ? otherwise : list.front();
    }
    ObjectPointer object(int attribute) const
    {
        auto const found = objects.find(attribute);
        return found == objects.end() || found->second.empty() ? nullptr : found->second.front();
    }
};

ObjectPointer& at(void* object)
{
    return *static_cast<ObjectPointer*>(object);
}

//! Bytes of an element of an attribute's type; 0: none of those that it knows.
size_t sizeOf(int type)
{
    constexpr std::array<std::pair<int, size_t>, 11> kSizes{
        {{0, 8}, {1, 4}, {2, 1}, {3, 8}, {4, 4}, {5, 8}, {6, 8}, {7, 4}, {8, 4}, {11, 4}, {14, 4}}};
    auto const* const found = std::ranges::find(kSizes, type, &std::pair<int, size_t>::first);
    return found == kSizes.end() ? 0 : found->second;
}

//! The type that an attribute takes besides descriptors; −1: unknown.
int typeOf(int attribute)
{
    switch (attribute)
    {
    case 0: return 14; // Mode of a pointwise operation,
    case 1:
    case 100:
    case 901:
    case 1500: return 1; // types,
    case 4:
    case 5:
    case 6:
    case 8: return 5; // parameters of activations,
    case 101: return 7;
    case 102:
    case 103:
    case 104:
    case 105:
    case 106: return 3; // windows,
    case 200: return 8;
    case 400:
    case 800: return 0; // handles,
    case 700:
    case 701:
    case 706:
    case 707: return 4; // factors,
    case 900:
    case 902:
    case 903:
    case 906:
    case 1000: return 3; // extents and ids,
    case 907:
    case 908: return 2;
    case 1001:
    case 1003: return 6; // addresses.
    default: return -1;
    }
}

constexpr int kTypeObject{15};

struct Tensor
{
    int type;
    std::vector<int64_t> extents, strides;
    int64_t id;
    bool isVirtual;
    bool isByValue; //!< Its address is the host's.
};

Tensor tensorOf(ObjectPointer const& object)
{
    return {object->one<int>(901), object->all<int64_t>(902), object->all<int64_t>(903), object->one<int64_t>(906),
        object->one<uint8_t>(907) != 0, object->one<uint8_t>(908) != 0};
}

//! With three spatial axes; of matrices as images whose rows and columns are the last two axes.
std::array<int64_t, 5> widened(std::vector<int64_t> const& from, int64_t missing)
{
    if (from.size() == 3)
        return {from[0], missing, missing, from[1], from[2]};
    std::array<int64_t, 5> to{from[0], from[1], missing, from[from.size() - 2], from[from.size() - 1]};
    if (from.size() == 5)
        to[2] = from[2];
    return to;
}

std::array<int64_t, 3> spatial(std::vector<int64_t> const& from, int64_t missing)
{
    return from.size() == 3 ? std::array<int64_t, 3>{from[0], from[1], from[2]}
                            : std::array<int64_t, 3>{missing, from[0], from[1]};
}

double read(void const* data, int type, int64_t i)
{
    if (type == 0)
        return static_cast<double>(static_cast<float const*>(data)[i]);
    if (type == 2)
        return static_cast<double>(static_cast<_Float16 const*>(data)[i]);
    return static_cast<double>(std::bit_cast<float>(uint32_t{static_cast<uint16_t const*>(data)[i]} << 16));
}

void write(void* data, int type, int64_t i, double value)
{
    if (type == 0)
        static_cast<float*>(data)[i] = static_cast<float>(value);
    else if (type == 2)
        static_cast<_Float16*>(data)[i] = static_cast<_Float16>(value);
    else
    {
        auto const bits = std::bit_cast<uint32_t>(static_cast<float>(value));
        static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
    }
}

//! One element after the other, in the order of image, channel and spatial axes.
template <typename Visit>
void forEach(std::array<int64_t, 5> const& extents, Visit const& visit)
{
    std::array<int64_t, 5> at{};
    for (at[0] = 0; at[0] < extents[0]; ++at[0])
        for (at[1] = 0; at[1] < extents[1]; ++at[1])
            for (at[2] = 0; at[2] < extents[2]; ++at[2])
                for (at[3] = 0; at[3] < extents[3]; ++at[3])
                    for (at[4] = 0; at[4] < extents[4]; ++at[4])
                        visit(at);
}

int64_t offset(std::array<int64_t, 5> const& at, std::array<int64_t, 5> const& strides)
{
    int64_t sum{0};
    for (size_t i = 0; i < 5; ++i)
        sum += at[i] * strides[i];
    return sum;
}

//! A tensor while a graph is computed: numbers by place, from memory where it has some.
struct Numbers
{
    std::array<int64_t, 5> extents{};
    std::vector<double> values;

    double get(std::array<int64_t, 5> at) const
    {
        int64_t i{0};
        for (size_t axis = 0; axis < 5; ++axis)
            i = i * extents[axis] + (extents[axis] == 1 ? 0 : at[axis]);
        return values[static_cast<size_t>(i)];
    }
};

Numbers load(Tensor const& tensor, void const* data)
{
    Numbers numbers{widened(tensor.extents, 1), {}};
    auto const strides = widened(tensor.strides, 0);
    forEach(numbers.extents,
        [&](auto const& at) { numbers.values.push_back(read(data, tensor.type, offset(at, strides))); });
    return numbers;
}

double pointwise(Object const& about, double x, double b)
{
    switch (about.one<int>(0))
    {
    case 0: return x + b;
    case 1: return x * b;
    case 100:
    {
        double const y = x < 0.0 ? about.one<double>(5, 0.0) * x : x;
        return std::min(y, about.one<double>(4, HUGE_VAL));
    }
    case 101: return std::tanh(x);
    case 102: return 1.0 / (1.0 + std::exp(-x));
    case 103: return x < 0.0 ? about.one<double>(6, 1.0) * std::expm1(x) : x;
    case 104: return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case 106: return x / (1.0 + std::exp(-about.one<double>(8, 1.0) * x));
    case 107: return 0.5 * x * (1.0 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    default: return NAN;
    }
}

struct Windows
{
    std::array<int64_t, 3> stride, dilation, pre;

    explicit Windows(Object const& about)
        : stride{spatial(about.all<int64_t>(103), 1)},
          dilation{spatial(about.all<int64_t>(102), 1)},
          pre{spatial(about.all<int64_t>(105), 0)}
    {
    }
};

//! Of an image x of [n, c, …] by a filter [k, c / groups, …]; `isBack`: the sum of all products where x comes from y.
Numbers convolve(Windows const& windows, bool isBack, Numbers const& in, Numbers const& filter, Tensor const& out)
{
    Numbers y{widened(out.extents, 1), {}};
    auto const& w = filter.extents;
    Numbers const& image = isBack ? y : in; // The larger side of the convolution.
    Numbers const& maps = isBack ? in : y;
    int64_t const groups = image.extents[1] / w[1];
    int64_t const mapsPerGroup = w[0] / groups;
    std::vector<double> sums(
        static_cast<size_t>(y.extents[0] * y.extents[1] * y.extents[2] * y.extents[3] * y.extents[4]));
    auto const place = [](std::array<int64_t, 5> const& extents, std::array<int64_t, 5> const& at) {
        int64_t i{0};
        for (size_t axis = 0; axis < 5; ++axis)
            i = i * extents[axis] + at[axis];
        return static_cast<size_t>(i);
    };
    forEach(maps.extents, [&](std::array<int64_t, 5> const& map) {
        forEach({1, w[1], w[2], w[3], w[4]}, [&](std::array<int64_t, 5> const& tap) {
            std::array<int64_t, 5> pixel{map[0], map[1] / mapsPerGroup * w[1] + tap[1], 0, 0, 0};
            for (size_t k = 0; k < 3; ++k)
            {
                pixel[2 + k] = map[2 + k] * windows.stride[k] - windows.pre[k] + tap[2 + k] * windows.dilation[k];
                if (pixel[2 + k] < 0 || pixel[2 + k] >= image.extents[2 + k])
                    return;
            }
            double const by = filter.get({map[1], tap[1], tap[2], tap[3], tap[4]});
            if (isBack)
                sums[place(y.extents, pixel)] += in.get(map) * by;
            else
                sums[place(y.extents, map)] += in.get(pixel) * by;
        });
    });
    y.values = std::move(sums);
    return y;
}

//! One operation as a plan keeps it.
struct Step
{
    ObjectPointer about;
    int kind;
    Tensor x, b, y; //!< b: the filter, or the second operand.
    bool hasB;
    Tensor values, scale; //!< Of attention, whose x and b are queries and keys.

    std::vector<Tensor const*> tensors() const
    {
        std::vector<Tensor const*> all{&x, &y};
        if (hasB)
            all.push_back(&b);
        if (kind == kAttention)
            all.insert(all.end(), {&values, &scale});
        return all;
    }
};

//! Attributes of an operation that name its description, what it reads, and what it writes.
struct Names
{
    int about, x, b, y;
};
Names namesOf(int kind)
{
    switch (kind)
    {
    case kForward: return {702, 704, 703, 705};
    case kBackwardData: return {708, 711, 709, 710};
    case kMatmulOperation: return {1523, 1520, 1521, 1522};
    case kAttention: return {-1, 2800, 2801, 2803};
    default: return {750, 751, 752, 753};
    }
}

std::vector<Step> stepsOf(Object const& graph)
{
    std::vector<Step> steps;
    for (ObjectPointer const& operation : graph.objects.at(801))
    {
        Names const names = namesOf(operation->kind);
        ObjectPointer const b = operation->object(names.b);
        steps.push_back({operation->object(names.about), operation->kind, tensorOf(operation->object(names.x)),
            b ? tensorOf(b) : Tensor{}, tensorOf(operation->object(names.y)), b != nullptr, {}, {}});
        if (operation->kind == kAttention)
        {
            steps.back().values = tensorOf(operation->object(2802));
            steps.back().scale = tensorOf(operation->object(2805));
        }
    }
    return steps;
}

//! Of matrices, of which a batch of one serves all.
Numbers multiply(Numbers const& a, Numbers const& b, Tensor const& out)
{
    Numbers y{widened(out.extents, 1), {}};
    forEach(y.extents, [&](std::array<int64_t, 5> const& at) {
        double sum{0.0};
        for (int64_t k = 0; k < a.extents[4]; ++k)
            sum += a.get({at[0], 0, 0, at[3], k}) * b.get({at[0], 0, 0, k, at[4]});
        y.values.push_back(sum);
    });
    return y;
}

//! softmax(scale · q · kᵀ) · v, of [batch, head, row, column]; several heads of q may share one of k and v.
Numbers attend(Numbers const& q, Numbers const& k, Numbers const& v, double scale, Tensor const& out)
{
    Numbers y{widened(out.extents, 1), {}};
    int64_t const keys = k.extents[3];
    int64_t const share = q.extents[1] / k.extents[1];
    forEach({y.extents[0], y.extents[1], 1, y.extents[3], 1}, [&](std::array<int64_t, 5> const& at) {
        std::vector<double> weights;
        double sum{0.0};
        for (int64_t key = 0; key < keys; ++key)
        {
            double score{0.0};
            for (int64_t c = 0; c < q.extents[4]; ++c)
                score += q.get({at[0], at[1], 0, at[3], c}) * k.get({at[0], at[1] / share, 0, key, c});
            weights.push_back(std::exp(score * scale));
            sum += weights.back();
        }
        for (int64_t c = 0; c < v.extents[4]; ++c)
        {
            double value{0.0};
            for (int64_t key = 0; key < keys; ++key)
                value += weights[static_cast<size_t>(key)] / sum * v.get({at[0], at[1] / share, 0, key, c});
            y.values.push_back(value);
        }
    });
    return y;
}

void compute(std::vector<Step> const& steps, std::map<int64_t, void*> const& addresses)
{
    std::map<int64_t, Numbers> made;
    auto const get = [&](Tensor const& tensor) {
        auto const found = made.find(tensor.id);
        return found != made.end() ? found->second : load(tensor, addresses.at(tensor.id));
    };
    for (Step const& step : steps)
    {
        Numbers const x = get(step.x);
        Numbers y{widened(step.y.extents, 1), {}};
        if (step.kind == kAttention)
            y = attend(x, get(step.b), get(step.values), get(step.scale).values.front(), step.y);
        else if (step.kind == kMatmulOperation)
            y = multiply(x, get(step.b), step.y);
        else if (step.kind != kPointwiseOperation)
            y = convolve(Windows{*step.about}, step.kind == kBackwardData, x, get(step.b), step.y);
        else
        {
            Numbers const b = step.hasB ? get(step.b) : Numbers{};
            forEach(y.extents, [&](auto const& at) {
                y.values.push_back(pointwise(*step.about, x.get(at), step.hasB ? b.get(at) : 0.0));
            });
        }
        if (!step.y.isVirtual)
        {
            auto const strides = widened(step.y.strides, 0);
            size_t i{0};
            forEach(y.extents, [&](auto const& at) {
                write(addresses.at(step.y.id), step.y.type, offset(at, strides), y.values[i++]);
            });
        }
        made[step.y.id] = std::move(y);
    }
}

//! Whether the extents of a convolution, product or attention follow from each other.
bool isConsistent(Step const& step)
{
    if (step.kind == kAttention)
    {
        auto const& [q, k, v, y] = std::tie(step.x.extents, step.b.extents, step.values.extents, step.y.extents);
        return q.size() == 4 && k.size() == 4 && v.size() == 4 && y.size() == 4 && q[0] == k[0] && q[1] % k[1] == 0
            && k[1] == v[1] && k[2] == v[2] && q[3] == k[3] && y[2] == q[2] && y[3] == v[3] && step.scale.isByValue;
    }
    if (step.kind == kMatmulOperation)
        return step.x.extents.size() == 3 && step.x.extents[1] == step.y.extents[1]
            && step.x.extents[2] == step.b.extents[1] && step.b.extents[2] == step.y.extents[2];
    bool const isBack = step.kind == kBackwardData;
    auto const image = widened((isBack ? step.y : step.x).extents, 1);
    auto const maps = widened((isBack ? step.x : step.y).extents, 1);
    auto const w = widened(step.b.extents, 1);
    Windows const windows{*step.about};
    auto const post = spatial(step.about->all<int64_t>(104), 0);
    for (size_t k = 0; k < 3; ++k)
        if (post[k] < 0 || windows.pre[k] < 0
            || (image[2 + k] + windows.pre[k] + post[k] - windows.dilation[k] * (w[2 + k] - 1) - 1) / windows.stride[k]
                    + 1
                != maps[2 + k])
            return false;
    return image[0] == maps[0] && maps[1] == w[0] && w[1] > 0 && image[1] % w[1] == 0 && w[0] % (image[1] / w[1]) == 0;
}

//! Fused operations want channels in whole packs of 16 bytes.
bool isFusable(std::vector<Step> const& steps)
{
    return steps.size() == 1 || std::ranges::all_of(steps, [](Step const& step) {
        int64_t const pack = step.x.isVirtual || step.x.type == 0 ? 4 : 8;
        size_t const axis = step.x.extents.size() == 3 ? 2 : 1;
        return step.x.extents[axis] % pack == 0 && step.y.extents[axis] % pack == 0;
    });
}

int finalize(Object& object)
{
    for (auto const& [attribute, list] : object.objects)
        for (ObjectPointer const& each : list)
            if (!each->isFinal)
                return kNotFinalized;
    if (object.kind == kTensor)
    {
        Tensor const tensor{object.one<int>(901), object.all<int64_t>(902), object.all<int64_t>(903), 0, false, false};
        bool const isWhole = !object.all<int64_t>(906).empty() && object.one<int64_t>(900) > 0;
        return isWhole && tensor.extents.size() >= 3 && tensor.extents.size() <= 5
                && tensor.strides.size() == tensor.extents.size() && std::ranges::min(tensor.extents) > 0
            ? kSuccess
            : kBadParameter;
    }
    if (object.kind == kGraph)
    {
        for (Step const& step : stepsOf(object))
            if (step.kind != kPointwiseOperation && !isConsistent(step))
                return kBadParameter;
        return object.objects[801].empty() || object.all<void*>(800).empty() ? kBadParameter : kSuccess;
    }
    if (object.kind == kPlan)
    {
        ObjectPointer const config = object.object(401);
        if (config == nullptr || object.all<void*>(400).empty())
            return kBadParameter;
        object.engine = config->engine;
        object.objects[801] = config->objects[801];
        return object.engine->id == 6 ? kUnsupported : kSuccess; // It cannot after all, as happens.
    }
    return kSuccess;
}

std::vector<Engine> const& engines()
{
    static auto const* const all = new std::vector<Engine>{
        {1, {0, 2}, 0}, // Sums in half precision: never taken.
        {2, {0}, 0},
        {3, {}, 4096},
        {4, {0}, int64_t{1} << 40}, // More memory than anybody gives it.
        {5, {}, 8192},
        {6, {}, 0},
    };
    return *all;
}

//! What a heuristic proposes: mode A all but the fifth, the fallback the fifth.
std::vector<Engine const*> proposals(Object const& heuristic)
{
    std::vector<Engine const*> found;
    ObjectPointer const graph = heuristic.object(201);
    bool const isFallback = heuristic.one<int>(200) == 2;
    if (graph == nullptr || !isFusable(stepsOf(*graph)))
        return found;
    for (Engine const& engine : engines())
        if ((engine.id == 5) == isFallback)
            found.push_back(&engine);
    return found;
}

struct Handle
{
    void* stream{nullptr};
};
} // namespace

#define TENON_FAKE_DNN(name)                                                                                           \
    if (int const refused = tenonFakeEnter(#name); refused != 0)                                                       \
    return refused

TENON_FAKE_CUDA char const* cudnnGetErrorString(int status)
{
    return status == kBadParameter ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_OTHER";
}

TENON_FAKE_CUDA size_t cudnnGetVersion()
{
    return 91501;
}

TENON_FAKE_CUDA int cudnnCreate(void** handle)
{
    TENON_FAKE_DNN(cudnnCreate);
    *handle = new Handle;
    return kSuccess;
}

TENON_FAKE_CUDA int cudnnSetStream(void* handle, void* stream)
{
    TENON_FAKE_DNN(cudnnSetStream);
    static_cast<Handle*>(handle)->stream = stream;
    return kSuccess;
}

TENON_FAKE_CUDA int cudnnBackendCreateDescriptor(int kind, void** descriptor)
{
    TENON_FAKE_DNN(cudnnBackendCreateDescriptor);
    auto object = std::make_shared<Object>();
    object->kind = kind;
    *descriptor = new ObjectPointer{std::move(object)};
    return kSuccess;
}

TENON_FAKE_CUDA int cudnnBackendDestroyDescriptor(void* descriptor)
{
    delete static_cast<ObjectPointer*>(descriptor);
    return kSuccess;
}

TENON_FAKE_CUDA int cudnnBackendSetAttribute(
    void* descriptor, int attribute, int type, int64_t count, void const* elements)
{
    TENON_FAKE_DNN(cudnnBackendSetAttribute);
    Object& object = *at(descriptor);
    if (object.isFinal || count < 1 || elements == nullptr)
        return kBadParameter;
    if (type == kTypeObject)
    {
        std::vector<ObjectPointer>& list = object.objects[attribute];
        list.clear();
        for (int64_t i = 0; i < count; ++i)
            list.push_back(at(static_cast<void* const*>(elements)[i]));
        return kSuccess;
    }
    if (type != typeOf(attribute))
        return kBadParameter;
    auto const* const bytes = static_cast<uint8_t const*>(elements);
    object.values[attribute].assign(bytes, bytes + static_cast<size_t>(count) * sizeOf(type));
    return kSuccess;
}

TENON_FAKE_CUDA int cudnnBackendFinalize(void* descriptor)
{
    TENON_FAKE_DNN(cudnnBackendFinalize);
    Object& object = *at(descriptor);
    int const status = object.isFinal ? kBadParameter : finalize(object);
    object.isFinal = status == kSuccess;
    return status;
}

TENON_FAKE_CUDA int cudnnBackendGetAttribute(
    void* descriptor, int attribute, int type, int64_t wanted, int64_t* count, void* elements)
{
    TENON_FAKE_DNN(cudnnBackendGetAttribute);
    Object& object = *at(descriptor);
    if (object.kind == kHeuristic && attribute == 202 && type == kTypeObject && object.isFinal)
    {
        std::vector<Engine const*> const found = proposals(object);
        *count = static_cast<int64_t>(found.size());
        for (size_t i = 0; elements != nullptr && i < found.size() && i < static_cast<size_t>(wanted); ++i)
        {
            Object& config = *at(static_cast<void**>(elements)[i]);
            config.engine = found[i];
            config.objects[801] = {object.object(201)};
            config.isFinal = true;
        }
        return found.empty() ? kUnsupportedPattern : kSuccess;
    }
    if (object.kind == kEngineConfig && attribute == 300 && type == kTypeObject && wanted == 1)
    {
        at(*static_cast<void**>(elements))->engine = object.engine;
        return *count = 1, kSuccess;
    }
    if (object.kind == kEngine && attribute == 1303 && type == 11 && object.engine != nullptr)
    {
        *count = std::min<int64_t>(wanted, static_cast<int64_t>(object.engine->notes.size()));
        std::copy_n(object.engine->notes.begin(), *count, static_cast<int*>(elements));
        return kSuccess;
    }
    if (object.kind == kPlan && attribute == 402 && type == 3 && object.isFinal)
    {
        *static_cast<int64_t*>(elements) = object.engine->workspace;
        return *count = 1, kSuccess;
    }
    return kBadParameter;
}

TENON_FAKE_CUDA int cudnnBackendExecute(void* handle, void* planned, void* packed)
{
    TENON_FAKE_DNN(cudnnBackendExecute);
    Object const& plan = *at(planned);
    Object const& variant = *at(packed);
    std::vector<Step> const steps = stepsOf(*plan.object(801));
    std::vector<int64_t> const ids = variant.all<int64_t>(1000);
    std::vector<void*> const pointers = variant.all<void*>(1001);
    void* const workspace = variant.one<void*>(1003);
    int64_t const used = plan.engine->workspace;
    if (!plan.isFinal || !variant.isFinal || ids.size() != pointers.size() || (used > 0 && workspace == nullptr))
        return kBadParameter;
    std::map<int64_t, void*> addresses;
    for (size_t i = 0; i < ids.size(); ++i)
        addresses[ids[i]] = pointers[i];
    for (Step const& step : steps)
        for (Tensor const* const tensor : step.tensors())
            if (!tensor->isVirtual
                && (!addresses.contains(tensor->id) || addresses[tensor->id] == nullptr
                    || (!tensor->isByValue && reinterpret_cast<uintptr_t>(addresses[tensor->id]) % 16 != 0)))
                return kBadParameter;
    return tenonFakeEnqueue(static_cast<Handle*>(handle)->stream, [=] {
        if (used > 0)
            std::memset(workspace, 0x5A, static_cast<size_t>(used));
        compute(steps, addresses);
    });
}
