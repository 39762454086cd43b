// Our declarations of cuBLASLt's calls, types and numbers against the toolkit's header, where there is one.
#include "backends/cuda/cublas_lt.h"

#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace tenon::test
{

namespace
{
using namespace tenon::cuda;

//! Parameters that are passed alike: as many, each as large, pointers where the other has pointers.
template <typename Ours, typename Theirs>
constexpr bool kIsSameCall{false};
template <typename... Ours, typename... Theirs>
constexpr bool kIsSameCall<int (*)(Ours...), cublasStatus_t (*)(Theirs...)>{sizeof...(Ours) == sizeof...(Theirs)
    && ((sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>)&&...)};
} // namespace

TEST(CublasHeaders, numbersAndTypesAreTheToolkits)
{
    EXPECT_EQ(sizeof(LtHeuristic), sizeof(cublasLtMatmulHeuristicResult_t));
    EXPECT_EQ(offsetof(LtHeuristic, workspaceBytes), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
    EXPECT_EQ(offsetof(LtHeuristic, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
    EXPECT_EQ(sizeof(LtHeuristic::algorithm), sizeof(cublasLtMatmulAlgo_t));
    EXPECT_EQ(int{kLtCompute32F}, CUBLAS_COMPUTE_32F);
    EXPECT_EQ(int{kLtComputeTf32}, CUBLAS_COMPUTE_32F_FAST_TF32);
    EXPECT_EQ(int{kLtReal32F}, CUDA_R_32F);
    EXPECT_EQ(int{kLtReal16F}, CUDA_R_16F);
    EXPECT_EQ(int{kLtReal16Bf}, CUDA_R_16BF);
    EXPECT_EQ(int{kLtTransposed}, CUBLAS_OP_T);
    EXPECT_EQ(int{kLtEpilogueRelu}, CUBLASLT_EPILOGUE_RELU);
    EXPECT_EQ(int{kLtEpilogueBias}, CUBLASLT_EPILOGUE_BIAS);
    EXPECT_EQ(int{kLtEpilogueGelu}, CUBLASLT_EPILOGUE_GELU);
    EXPECT_EQ(kLtEpilogueRelu + kLtEpilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS);
    EXPECT_EQ(kLtEpilogueGelu + kLtEpilogueBias, CUBLASLT_EPILOGUE_GELU_BIAS);
    EXPECT_EQ(int{kLtProductTransposeA}, CUBLASLT_MATMUL_DESC_TRANSA);
    EXPECT_EQ(int{kLtProductTransposeB}, CUBLASLT_MATMUL_DESC_TRANSB);
    EXPECT_EQ(int{kLtProductEpilogue}, CUBLASLT_MATMUL_DESC_EPILOGUE);
    EXPECT_EQ(int{kLtProductBiasPointer}, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
    EXPECT_EQ(int{kLtMatrixBatchCount}, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
    EXPECT_EQ(int{kLtMatrixBatchStride}, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
    EXPECT_EQ(int{kLtPreferenceWorkspace}, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
    EXPECT_EQ(int{kLtPreferenceAlignmentA}, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
    EXPECT_EQ(int{kLtPreferenceAlignmentB}, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
    EXPECT_EQ(int{kLtPreferenceAlignmentC}, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
    EXPECT_EQ(int{kLtPreferenceAlignmentD}, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
}

TEST(CublasHeaders, callsTakeWhatTheToolkitSays)
{
#define TENON_EXPECT_CALL(name, parameters)                                                                            \
    EXPECT_TRUE((kIsSameCall<decltype(LtApi::name), decltype(&::name)>)) << #name;
    TENON_CUBLAS_LT(TENON_EXPECT_CALL)
#undef TENON_EXPECT_CALL
}

} // namespace tenon::test
#endif
