/* What a plugin's kernel for the CPU gets when it is compiled into a plan (aot_impl of tensorrt.plugin). Plain C.

   extern "C" (in C++)
   void NAME(struct tenon_launch const* launch, void const* const* inputs, void* const* outputs, int32_t const* arguments)

   is called once in a run, by one thread; calls of several execution contexts may overlap. It does the work of the whole
   grid: where a kernel for CUDA asks which block and thread it is, this one loops over those that it finds useful. */
#ifndef TENON_PLUGIN_KERNEL_H
#define TENON_PLUGIN_KERNEL_H

#include <stdint.h>

/* The numbers of KernelLaunchParams for the shapes at hand, in the order x, y, z. Later versions append members. */
struct tenon_launch
{
    uint32_t grid[3];
    uint32_t block[3];
    void* shared; /* shared_bytes bytes of memory for the kernel's own use, of unknown contents; else null */
    uint64_t shared_bytes;
};

/* inputs[i], outputs[i]: the address of each tensor's first element, in the order of the registered function; of empty
   tensors an address that must not be used. arguments[i]: the extra arguments, in order. */
typedef void (*tenon_kernel)(
    struct tenon_launch const* launch, void const* const* inputs, void* const* outputs, int32_t const* arguments);

#endif
