// runElsewhere: a plan in a process of its own, whose plugins come from a library.
#pragma once

#include "support/device.h"
#include "support/temp_folder.h"

#include "NvInfer.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace plugintest
{

//! A tensor that goes there, or comes back (without its shape).
struct Elements
{
    std::vector<int64_t> shape;
    std::vector<char> bytes;

    template <typename T>
    static Elements of(std::vector<int64_t> shape, std::vector<T> const& values)
    {
        auto const* const first = reinterpret_cast<char const*>(values.data());
        return {std::move(shape), {first, first + values.size() * sizeof(T)}};
    }
    template <typename T>
    std::vector<T> as() const
    {
        std::vector<T> values(bytes.size() / sizeof(T));
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
        return values;
    }
};

//! Outputs named `wanted`; nothing and a failure of the test where the process fails.
inline std::map<std::string, Elements> runElsewhere(char const* library, nvinfer1::IHostMemory const& plan,
    std::map<std::string, Elements> const& inputs, std::vector<std::string> const& wanted)
{
    tenon::test::TempFolder const folder;
    auto const write = [&](std::string const& name, void const* data, size_t size) {
        std::ofstream{folder.file(name), std::ios::binary}.write(
            static_cast<char const*>(data), static_cast<std::streamsize>(size));
    };
    write("plan", plan.data(), plan.size());
    // The other process has the machine's own device, on which the plan runs as well.
    std::string command = std::string{tenon::test::isGuarded() ? "env -u LD_LIBRARY_PATH " : ""} + TENON_RUN_PLAN + " '"
        + library + "' '" + folder.file("plan") + "' '" + folder.path().string() + "'";
    for (auto const& [name, input] : inputs)
    {
        write(name, input.bytes.data(), input.bytes.size());
        command += " " + name + "=";
        for (size_t i = 0; i < input.shape.size(); ++i)
            command += (i == 0 ? "" : ",") + std::to_string(input.shape[i]);
    }
    std::map<std::string, Elements> outputs;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    for (std::string const& name : wanted)
    {
        std::ifstream file{folder.file(name), std::ios::binary};
        EXPECT_TRUE(file.good()) << name;
        outputs[name].bytes = {std::istreambuf_iterator<char>{file}, {}};
    }
    return outputs;
}

} // namespace plugintest
