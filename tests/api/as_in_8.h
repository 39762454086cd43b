// Calls that a file compiled with TRT_COMPAT_MAJOR=8 makes.
#pragma once

namespace apitest
{

//! \param context an nvinfer1::IExecutionContext. \param bindings those of all profiles.
bool executeV2AsIn8(void* context, void* const* bindings);

} // namespace apitest
