// The 8.x side of the API tests: this file alone sees the headers under TRT_COMPAT_MAJOR=8.
#define TRT_COMPAT_MAJOR 8
#include "as_in_8.h"

#include "NvInfer.h"

namespace apitest
{

bool executeV2AsIn8(void* context, void* const* bindings)
{
    return static_cast<nvinfer1::IExecutionContext*>(context)->executeV2(bindings);
}

} // namespace apitest
