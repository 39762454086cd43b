// Our declarations of cuDNN's calls and numbers against its headers, where there are any.
#include "backends/cuda/cudnn.h"

#include <gtest/gtest.h>

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>
#include <cudnn_version.h>

namespace tenon::test
{

namespace
{
using namespace tenon::cuda;

//! Parameters that are passed alike: as many, each as large, pointers where the other has pointers.
template <typename Ours, typename Theirs>
constexpr bool kIsSameDnnCall{false};
template <typename... Ours, typename... Theirs>
constexpr bool kIsSameDnnCall<int (*)(Ours...), cudnnStatus_t (*)(Theirs...)>{sizeof...(Ours) == sizeof...(Theirs)
    && ((sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>)&&...)};
} // namespace

TEST(CudnnHeaders, numbersAreTheLibrarys)
{
#define TENON_EXPECT_NUMBER(name, header, number)                                                                      \
    EXPECT_EQ(int{dnn::name}, static_cast<int>(CUDNN_##header)) << #header;
    TENON_CUDNN_NUMBERS(TENON_EXPECT_NUMBER)
#if CUDNN_VERSION >= 91400
    TENON_CUDNN_ATTENTION_NUMBERS(TENON_EXPECT_NUMBER)
#endif
#undef TENON_EXPECT_NUMBER
}

TEST(CudnnHeaders, callsTakeWhatTheLibrarySays)
{
#define TENON_EXPECT_DNN_CALL(name, parameters)                                                                        \
    EXPECT_TRUE((kIsSameDnnCall<decltype(CudnnApi::name), decltype(&::name)>)) << #name;
    TENON_CUDNN(TENON_EXPECT_DNN_CALL)
#undef TENON_EXPECT_DNN_CALL
}

} // namespace tenon::test
#endif
