// OnHost: the work of an enqueue() that is written for memory of the host, on devices that have memory of their own.
#pragma once

#include "NvInferRuntimeBase.h"
#include "support/device.h"

#include <vector>

namespace plugintest
{

//! A tensor's memory, or a workspace.
struct Room
{
    void* at{nullptr};
    size_t bytes{0};
};

//! Calls `work(x, y, workspace)` with memory of the host. On a GPU with copies: what enqueue() has put into the stream
//! is over when it returns, which a plugin may do anywhere but in a capture.
template <typename Work>
void onHost(cudaStream_t stream, void const* x, size_t xBytes, Room y, Room workspace, Work const& work)
{
    if (!tenon::test::isUnderTest("cuda")) // Elsewhere enqueue() has the host's memory, also in other programs.
        return work(x, y.at, workspace.at);
    tenon::test::DeviceUnderTest& device = tenon::test::deviceUnderTest();
    std::vector<char> input(xBytes);
    std::vector<char> output(y.bytes);
    std::vector<char> scratch(workspace.bytes);
    device.copyBehind(stream, input.data(), x, xBytes);
    work(input.data(), output.data(), scratch.data());
    device.copyBehind(stream, y.at, output.data(), y.bytes);
    device.copyBehind(stream, workspace.at, scratch.data(), workspace.bytes);
}

} // namespace plugintest
