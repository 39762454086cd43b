// ONNX models written byte by byte: fields of protocol buffers, by number, without the library for them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace tenon::test::onnxbytes
{

inline std::string number(uint64_t value)
{
    std::string bytes;
    for (; value > 127; value >>= 7)
        bytes += static_cast<char>(value | 128);
    return bytes + static_cast<char>(value);
}

inline std::string field(uint32_t id, uint64_t value)
{
    return number(id << 3) + number(value);
}

inline std::string field(uint32_t id, std::string const& bytes)
{
    return number(id << 3 | 2) + number(bytes.size()) + bytes;
}

//! Attributes of a node.
inline std::string whole(std::string const& name, int64_t value)
{
    return field(5, field(1, name) + field(3, static_cast<uint64_t>(value)) + field(20, 2));
}

inline std::string wholes(std::string const& name, std::vector<int64_t> const& values)
{
    std::string bytes = field(1, name);
    for (int64_t const value : values)
        bytes += field(8, static_cast<uint64_t>(value));
    return field(5, bytes + field(20, 7));
}

inline std::string body(std::string const& name, std::string const& graph)
{
    return field(5, field(1, name) + field(6, graph + field(2, name)) + field(20, 5));
}

inline std::string node(std::string const& kind, std::vector<std::string> const& inputs, std::string const& output,
    std::string const& attributes = {})
{
    std::string bytes;
    for (std::string const& input : inputs)
        bytes += field(1, input);
    return field(1, bytes + field(2, output) + field(3, "the " + kind) + field(4, kind) + attributes);
}

enum class Type : uint64_t
{
    kFloat = 1,
    kInt64 = 7,
    kBool = 9,
};

//! A tensor of the graph's ends (11: an input, 12: an output).
inline std::string end(
    uint32_t id, std::string const& name, std::vector<uint64_t> const& extents, Type type = Type::kFloat)
{
    std::string shape;
    for (uint64_t const extent : extents)
        shape += field(1, field(1, extent));
    return field(id, field(1, name) + field(2, field(1, field(1, static_cast<uint64_t>(type)) + field(2, shape))));
}

template <typename T>
std::string initializer(std::string const& name, std::vector<uint64_t> const& extents, std::vector<T> const& values)
{
    std::string tensor;
    for (uint64_t const extent : extents)
        tensor += field(1, extent);
    std::string raw(values.size() * sizeof(T), '\0');
    std::memcpy(raw.data(), values.data(), raw.size());
    Type const type = std::is_same_v<T, float> ? Type::kFloat : Type::kInt64;
    return field(5, tensor + field(2, static_cast<uint64_t>(type)) + field(8, name) + field(9, raw));
}

inline std::string model(std::string const& graph)
{
    return field(1, 8) + field(7, graph + field(2, "written by hand")) + field(8, field(2, 17));
}

} // namespace tenon::test::onnxbytes
