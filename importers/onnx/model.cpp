// A model in memory: parsing, external data, and tensors as constants.
#include "model.h"

#include "failure.h"
#include "held.h"
#include "own_calls.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <limits>

namespace tenon::onnx
{
namespace
{

using nvinfer1::DataType;
using nvonnxparser::ErrorCode;
using ::onnx::TensorProto;

Shape dimsOfTensor(TensorProto const& tensor)
{
    Shape dims(tensor.dims().begin(), tensor.dims().end());
    static_cast<void>(dimsOf(dims)); // Checks the rank.
    return dims;
}

std::string shown(TensorProto const& tensor)
{
    return fmt::format("tensor '{}'", tensor.name());
}

//! Copies a repeated field of a wider type into elements of type T.
template <typename T, typename Field>
std::vector<T> narrowed(Field const& field)
{
    std::vector<T> result;
    result.reserve(static_cast<size_t>(field.size()));
    for (auto const element : field)
    {
        result.push_back(static_cast<T>(element));
    }
    return result;
}

void checkCount(TensorProto const& tensor, int64_t found, int64_t wanted, char const* unit = "elements")
{
    if (found != wanted)
    {
        fail(ErrorCode::kINVALID_GRAPH,
            fmt::format("{} has {} {} where its shape asks for {}", shown(tensor), found, unit, wanted));
    }
}

} // namespace

DataType typeOfOnnx(int32_t onnxType)
{
    switch (onnxType)
    {
    case TensorProto::FLOAT: return DataType::kFLOAT;
    case TensorProto::DOUBLE: return keepsDouble() ? kFloat64 : DataType::kFLOAT;
    case TensorProto::FLOAT16: return DataType::kHALF;
    case TensorProto::BFLOAT16: return DataType::kBF16;
    case TensorProto::INT8: return DataType::kINT8;
    case TensorProto::UINT8: return DataType::kUINT8;
    case TensorProto::INT32: return DataType::kINT32;
    case TensorProto::INT64: return DataType::kINT64;
    case TensorProto::BOOL: return DataType::kBOOL;
    case TensorProto::FLOAT8E4M3FN: return DataType::kFP8;
    default: break;
    }
    if (Held const* const held = heldBy(onnxType))
    {
        return held->type;
    }
    fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, fmt::format("data type {} is not supported", nameOfOnnx(onnxType)));
}

std::string nameOfOnnx(int32_t onnxType)
{
    return TensorProto::DataType_IsValid(onnxType)
        ? TensorProto::DataType_Name(static_cast<TensorProto::DataType>(onnxType))
        : std::to_string(onnxType);
}

namespace
{

[[noreturn]] void failAsNoModel(std::span<char const> bytes, std::string const& path, std::string const& otherwise)
{
    std::string const kind = kindOfFile(bytes);
    fail(ErrorCode::kMODEL_DESERIALIZE_FAILED,
        fmt::format("{} bytes{} are {}", bytes.size(), path.empty() ? "" : " of '" + path + "'",
            kind.empty() ? otherwise : "not an ONNX model but " + kind));
}

} // namespace

Model::Model(Warn warn, bool alignsWeights)
    : mWarn{std::move(warn)},
      mAlignsWeights{alignsWeights}
{
}

void Model::loadFile(std::string const& path)
{
    mFile = std::make_unique<FileMap>(path);
    parse(mFile->bytes(), path);
}

void Model::loadBytes(std::span<char const> bytes, std::string const& path)
{
    mBytes.assign(bytes.begin(), bytes.end()); // The caller's buffer may go when parsing ends, weights must not.
    parse(mBytes, path);
}

void Model::parse(std::span<char const> bytes, std::string const& path)
{
    mFolder = std::filesystem::path{path}.parent_path().string();
    std::optional<SlimModel> slim = takeOutWeights(bytes);
    mProto = google::protobuf::Arena::CreateMessage<::onnx::ModelProto>(&mArena);
    if (!slim || slim->bytes.size() > static_cast<size_t>(INT32_MAX)
        || !mProto->ParseFromArray(slim->bytes.data(), static_cast<int>(slim->bytes.size())))
    {
        failAsNoModel(bytes, path, "not an ONNX model");
    }
    mPath = path;
    mRawData = std::move(slim->rawData);
    if (!mProto->has_graph())
    {
        failAsNoModel(bytes, path, "a model without a graph"); // Any few bytes may be a message without known fields.
    }
    mRawData.resize(static_cast<size_t>(mProto->graph().initializer_size()));
}

Constant Model::keep(DataType type, Shape dims, void const* data, size_t bytes)
{
    constexpr size_t kUnit{sizeof(std::max_align_t)};
    int64_t const count = volumeOf(dims);
    auto memory = std::make_unique_for_overwrite<std::max_align_t[]>(bytes / kUnit + 1);
    if (bytes > 0)
    {
        std::memcpy(memory.get(), data, bytes);
    }
    mOwned.push_back(std::move(memory));
    return {type, std::move(dims), mOwned.back().get(), count};
}

//! Uses the bytes where they lie, unless their address is no address of such elements. Large weights stay in the file
//! all the same, three quarters of which lie so: a copy would take more time than all else that is done with them.
Constant Model::over(DataType type, Shape dims, std::span<char const> bytes, bool isInitializer)
{
    constexpr size_t kLarge{size_t{1} << 18};
    bool const isAligned = reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(bytesOf(type)) == 0;
    bool const staysThere = !mAlignsWeights && isInitializer && type == DataType::kFLOAT && bytes.size() >= kLarge;
    if (!isAligned && !staysThere)
    {
        return keep(type, std::move(dims), bytes.data(), bytes.size());
    }
    int64_t const count = volumeOf(dims);
    return {type, std::move(dims), bytes.data(), count};
}

Constant Model::reshaped(Constant constant, Shape dims)
{
    if (volumeOf(dims) != constant.count)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("cannot reshape {} to {}", shapeText(constant.dims), shapeText(dims)));
    }
    constant.dims = std::move(dims);
    return constant;
}

Constant Model::initializer(int index)
{
    TensorProto const& tensor = mProto->graph().initializer(index);
    if (auto const found = mReplacements.find(tensor.name()); found != mReplacements.end())
    {
        return read(tensor, found->second, true);
    }
    return read(tensor, mRawData[static_cast<size_t>(index)], true);
}

Constant Model::tensor(TensorProto const& tensor)
{
    return read(tensor, std::nullopt);
}

Constant Model::read(TensorProto const& tensor, std::optional<std::span<char const>> raw, bool isInitializer)
{
    if (tensor.has_segment())
    {
        fail(ErrorCode::kUNSUPPORTED_GRAPH, fmt::format("{} is stored in segments", shown(tensor)));
    }
    DataType const type = typeOfOnnx(tensor.data_type());
    Shape dims = dimsOfTensor(tensor);
    if (!raw && tensor.data_location() == TensorProto::EXTERNAL)
    {
        raw = external(tensor);
    }
    if (!raw && tensor.has_raw_data())
    {
        raw = std::span<char const>{tensor.raw_data()};
    }
    if (tensor.data_type() == TensorProto::DOUBLE && !std::exchange(mWarnedOfDouble, true))
    {
        mWarn(noteOfDouble());
    }
    if (tensor.data_type() == TensorProto::DOUBLE && !keepsDouble())
    {
        return narrowedDoubles(tensor, raw.value_or(std::span<char const>{}));
    }
    if (heldBy(tensor.data_type()) != nullptr)
    {
        return held(tensor, raw);
    }
    if (!raw)
    {
        return typed(tensor, type);
    }
    int64_t bytes{0};
    if (__builtin_mul_overflow(volumeOf(dims), bytesOf(type), &bytes) || static_cast<size_t>(bytes) != raw->size())
    {
        fail(ErrorCode::kINVALID_GRAPH,
            fmt::format("{} of type {} and shape {} has {} bytes of data", shown(tensor), nameOf(type), shapeText(dims),
                raw->size()));
    }
    return over(type, std::move(dims), *raw, isInitializer);
}

Constant Model::typed(TensorProto const& tensor, DataType type)
{
    Shape dims = dimsOfTensor(tensor);
    int64_t const count = volumeOf(dims);
    if (type == kFloat64)
    {
        checkCount(tensor, tensor.double_data_size(), count);
        return {type, std::move(dims), tensor.double_data().data(), count};
    }
    switch (type)
    {
    case DataType::kFLOAT:
        checkCount(tensor, tensor.float_data_size(), count);
        return {type, std::move(dims), tensor.float_data().data(), count};
    case DataType::kINT64:
        checkCount(tensor, tensor.int64_data_size(), count);
        return {type, std::move(dims), tensor.int64_data().data(), count};
    case DataType::kINT32:
        checkCount(tensor, tensor.int32_data_size(), count);
        return {type, std::move(dims), tensor.int32_data().data(), count};
    case DataType::kHALF:
    case DataType::kBF16:
        checkCount(tensor, tensor.int32_data_size(), count);
        return own(type, std::move(dims), narrowed<uint16_t>(tensor.int32_data()));
    default:
        checkCount(tensor, tensor.int32_data_size(), count);
        return own(type, std::move(dims), narrowed<uint8_t>(tensor.int32_data()));
    }
}

namespace
{

//! The bytes that so many elements take; the largest number where there are none as many.
int64_t packedBytesOf(int bits, size_t count)
{
    if (bits < 8)
    {
        auto const each = static_cast<size_t>(8 / bits);
        return static_cast<int64_t>(count / each + (count % each != 0 ? 1 : 0));
    }
    constexpr auto kMax = std::numeric_limits<int64_t>::max();
    auto const each = static_cast<int64_t>(bits / 8);
    return static_cast<int64_t>(count) > kMax / each ? kMax : static_cast<int64_t>(count) * each;
}

//! The elements of raw data, each of so many bits, lowest first.
std::vector<uint64_t> codesOf(std::span<char const> raw, int bits, size_t count)
{
    std::vector<uint64_t> codes(count);
    auto const width = static_cast<size_t>(bits);
    for (size_t i = 0; i < count; ++i)
    {
        if (width < 8)
        {
            auto const byte = static_cast<unsigned char>(raw[i * width / 8]);
            codes[i] = static_cast<uint64_t>(byte >> (i * width % 8)) & ((uint64_t{1} << width) - 1U);
            continue;
        }
        std::memcpy(&codes[i], raw.data() + i * (width / 8), width / 8);
    }
    return codes;
}

//! The same of the typed fields, whose elements are 32 or 64 bits wide; those of fewer than eight stand packed in them.
std::vector<uint64_t> codesOf(TensorProto const& tensor, int bits, size_t count)
{
    std::vector<uint64_t> codes = tensor.int32_data_size() > 0 ? narrowed<uint64_t>(tensor.int32_data())
                                                               : narrowed<uint64_t>(tensor.uint64_data());
    if (bits < 8)
    {
        std::string bytes;
        std::transform(codes.begin(), codes.end(), std::back_inserter(bytes),
            [](uint64_t code) { return static_cast<char>(code & 0xFFU); });
        checkCount(tensor, static_cast<int64_t>(bytes.size()), packedBytesOf(bits, count), "bytes");
        return codesOf(std::span<char const>{bytes}, bits, count);
    }
    uint64_t const mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1U;
    std::transform(codes.begin(), codes.end(), codes.begin(), [mask](uint64_t code) { return code & mask; });
    return codes;
}

} // namespace

Constant Model::held(TensorProto const& tensor, std::optional<std::span<char const>> const& raw)
{
    Held const& held = *heldBy(tensor.data_type());
    Shape dims = dimsOfTensor(tensor);
    auto const count = static_cast<size_t>(volumeOf(dims));
    if (raw)
    {
        checkCount(tensor, static_cast<int64_t>(raw->size()), packedBytesOf(held.bits, count), "bytes");
    }
    std::vector<uint64_t> const codes = raw ? codesOf(*raw, held.bits, count) : codesOf(tensor, held.bits, count);
    checkCount(tensor, static_cast<int64_t>(codes.size()), static_cast<int64_t>(count));
    Constant constant = held.bits == 64 ? own(held.type, std::move(dims), codes)
                                        : constantOf(*this, numbersOfHeld(held, codes), held.type, std::move(dims));
    constant.held = held.onnx;
    return constant;
}

Constant Model::narrowedDoubles(TensorProto const& tensor, std::span<char const> raw)
{
    Shape dims = dimsOfTensor(tensor);
    std::vector<double> wide(tensor.double_data().begin(), tensor.double_data().end());
    if (!raw.empty())
    {
        wide.resize(raw.size() / sizeof(double));
        std::memcpy(wide.data(), raw.data(), wide.size() * sizeof(double));
    }
    checkCount(tensor, static_cast<int64_t>(wide.size()), volumeOf(dims));
    return own(DataType::kFLOAT, std::move(dims), narrowed<float>(wide));
}

namespace
{

using Entries = std::map<std::string, std::string>;

//! A number of bytes among the entries of external data, or `otherwise` where there is none.
uint64_t bytesIn(TensorProto const& tensor, Entries const& entries, char const* key, uint64_t otherwise)
{
    auto const found = entries.find(key);
    if (found == entries.end())
    {
        return otherwise;
    }
    std::string const& text = found->second;
    uint64_t number{0};
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size())
    {
        fail(ErrorCode::kINVALID_VALUE,
            fmt::format("{}: the {} '{}' of its external data is no number of bytes", shown(tensor), key, text));
    }
    return number;
}

//! The file that a location names. Neither '..' nor a link may lead out of the folder: models are not trusted.
std::string fileInside(std::string const& folder, std::filesystem::path const& location, TensorProto const& tensor)
{
    namespace fs = std::filesystem;
    std::error_code problem;
    fs::path const root = fs::canonical(folder.empty() ? "." : folder, problem);
    fs::path const file = problem ? fs::path{} : fs::canonical(root / location, problem);
    if (problem)
    {
        fail(ErrorCode::kINVALID_VALUE,
            fmt::format("{}: cannot find its external data '{}': {}", shown(tensor),
                (fs::path{folder} / location).string(), problem.message()));
    }
    if (std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first != root.end())
    {
        fail(ErrorCode::kINVALID_VALUE,
            fmt::format("{}: external data at '{}' is a link to '{}', which is not below the model's folder",
                shown(tensor), location.string(), file.string()));
    }
    return file.string();
}

} // namespace

std::span<char const> Model::external(TensorProto const& tensor)
{
    Entries entries;
    for (auto const& entry : tensor.external_data())
    {
        entries[entry.key()] = entry.value();
    }
    std::filesystem::path const location = std::filesystem::path{entries["location"]}.lexically_normal();
    if (mPath.empty())
    {
        fail(ErrorCode::kINVALID_VALUE,
            fmt::format("{} lies in the external file '{}', which is relative to the model's path; give the path, or "
                        "use parseFromFile",
                shown(tensor), location.string()));
    }
    if (location.empty() || location.is_absolute() || *location.begin() == "..")
    {
        fail(ErrorCode::kINVALID_VALUE,
            fmt::format("{}: external data at '{}' is not below the model's folder", shown(tensor), location.string()));
    }
    std::string const path = fileInside(mFolder, location, tensor);
    std::unique_ptr<FileMap>& file = mExternalFiles[path];
    if (file == nullptr)
    {
        try
        {
            file = std::make_unique<FileMap>(path);
        }
        catch (Failure const& failure)
        {
            fail(failure.code, fmt::format("{}: its external data: {}", shown(tensor), failure.text));
        }
    }
    uint64_t const size = file->bytes().size();
    uint64_t const offset = bytesIn(tensor, entries, "offset", 0);
    uint64_t const rest = size - std::min(offset, size);
    uint64_t const length = bytesIn(tensor, entries, "length", rest);
    if (offset > size || length > size - offset)
    {
        fail(ErrorCode::kINVALID_VALUE,
            fmt::format("{}: bytes {} to {} are not in '{}', which has {}", shown(tensor), offset, offset + length,
                path, size));
    }
    return file->bytes().subspan(offset, length);
}

bool Model::replaceInitializer(std::string const& name, void const* data, size_t size)
{
    for (TensorProto const& tensor : mProto->graph().initializer())
    {
        if (tensor.name() != name)
        {
            continue;
        }
        Held const* const held = heldBy(tensor.data_type());
        int64_t const width = tensor.data_type() == TensorProto::DOUBLE ? 8
            : held != nullptr                                           ? std::max(held->bits / 8, 1)
                                                                        : bytesOf(typeOfOnnx(tensor.data_type()));
        int64_t bytes{0};
        if (__builtin_mul_overflow(volumeOf(dimsOfTensor(tensor)), width, &bytes) || static_cast<size_t>(bytes) != size)
        {
            return false;
        }
        mReplacements[name] = {static_cast<char const*>(data), size};
        return true;
    }
    return false;
}

} // namespace tenon::onnx
