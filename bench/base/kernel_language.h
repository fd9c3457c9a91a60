/* The two enums that the generator of kernels (program/generate.h) and the devices share. */
#pragma once

/* The language that a device's kernels are written in. */
enum kernel_language { KERNEL_HOST_C, KERNEL_OPENCL_C, KERNEL_CUDA_C };

/* The variant of the kernel that a launch runs, by what the launch may assume. program/generate.h
 * describes the variants. The text of a kernel for a GPU is compiled anew for each variant that is
 * launched, with GAMUT_VARIANT defined as its number. A device on a CPU has KERNEL_ANY alone. */
enum kernel_variant { KERNEL_ANY, KERNEL_NEAR, KERNEL_APART, KERNEL_VARIANTS };
