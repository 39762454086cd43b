// Npy: reading and writing. The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "npy.h"

#include "elements.h"
#include "files.h"
#include "shapes.h"

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tenon::cli
{

namespace
{
using nvinfer1::DataType;

constexpr std::array<std::pair<DataType, char const*>, 10> kTypes{{{DataType::kFLOAT, "<f4"}, {kFloat64, "<f8"},
    {DataType::kHALF, "<f2"}, {DataType::kINT8, "|i1"}, {DataType::kINT32, "<i4"}, {DataType::kINT64, "<i8"},
    {DataType::kBOOL, "|b1"}, {DataType::kUINT8, "|u1"}, {DataType::kBF16, "<V2"}, {DataType::kBF16, "|V2"}}};

//! What stands in a header for the type; null when .npy has no form for it.
char const* descriptionOf(DataType type)
{
    for (auto const& [kind, name] : kTypes)
        if (kind == type)
            return name;
    return nullptr;
}

//! The text between `after` and the next of `ends` in the header.
std::string piece(std::string const& header, std::string const& after, char end, std::string const& path)
{
    size_t const from = header.find(after);
    size_t const to = from == std::string::npos ? from : header.find(end, from + after.size());
    if (to == std::string::npos)
        throw std::runtime_error("'" + path + "' has no readable .npy header");
    return header.substr(from + after.size(), to - from - after.size());
}
} // namespace

char const* typeName(DataType type)
{
    static constexpr char const* kNames[]{
        "FLOAT", "HALF", "INT8", "INT32", "BOOL", "UINT8", "FP8", "BF16", "INT64", "INT4", "FP4", "E8M0"};
    auto const index = static_cast<size_t>(type);
    if (type == kFloat64)
        return "FLOAT64";
    return index < std::size(kNames) ? kNames[index] : "unknown";
}

NpyArray readNpy(std::string const& path)
{
    std::vector<char> const bytes = readFile(path);
    if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
        throw std::runtime_error("'" + path + "' is not a .npy file");
    uint16_t length{0};
    std::memcpy(&length, bytes.data() + 8, 2);
    if (bytes[6] != 1 || bytes.size() < 10U + length)
        throw std::runtime_error("'" + path + "' is not a whole .npy file of version 1");
    std::string const header{bytes.data() + 10, length};
    if (header.find("'fortran_order': False") == std::string::npos)
        throw std::runtime_error("'" + path + "' is not row-major");
    NpyArray array;
    std::string const type = piece(header, "'descr': '", '\'', path);
    bool known{false};
    for (auto const& [kind, name] : kTypes)
        if (type == name)
        {
            array.type = kind;
            known = true;
        }
    if (!known)
        throw std::runtime_error("'" + path + "' has elements of type " + type + ", which no input has");
    std::string number;
    for (char const c : piece(header, "'shape': (", ')', path) + ",")
    {
        if (c >= '0' && c <= '9')
            number += c;
        else if (c == ',' && !number.empty() && array.dims.nbDims < nvinfer1::Dims::MAX_DIMS)
        {
            array.dims.d[array.dims.nbDims++] = std::stoll(number);
            number.clear();
        }
    }
    array.data.assign(bytes.begin() + 10 + length, bytes.end());
    if (array.data.size() != bytesOf(array.type, array.dims))
        throw std::runtime_error(
            "'" + path + "' has " + std::to_string(array.data.size()) + " bytes of data for shape " + show(array.dims));
    return array;
}

void writeNpy(std::string const& path, DataType type, nvinfer1::Dims const& dims, void const* data)
{
    char const* const description = descriptionOf(type);
    if (description == nullptr)
        throw std::runtime_error(
            "'" + path + "' cannot be written: .npy has no form for elements of type " + typeName(type));
    std::string header = std::string{"{'descr': '"} + description;
    header += "', 'fortran_order': False, 'shape': (";
    for (int32_t i = 0; i < dims.nbDims; ++i)
        header += std::to_string(dims.d[i]) + ",";
    header += "), }";
    header.append(63 - (10 + header.size()) % 64, ' '); // The data starts at a multiple of 64 bytes.
    header += '\n';
    std::string file{"\x93NUMPY\x01\x00", 8};
    auto const length = static_cast<uint16_t>(header.size());
    file.append(reinterpret_cast<char const*>(&length), 2);
    file += header;
    file.append(static_cast<char const*>(data), bytesOf(type, dims).value_or(0));
    writeFile(path, file.data(), file.size());
}

} // namespace tenon::cli
