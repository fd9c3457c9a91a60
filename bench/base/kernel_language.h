/* The two enums that the generator of kernels (program/generate.h) and the devices share. */
#ifndef GAMUT_BASE_KERNEL_LANGUAGE_H
#define GAMUT_BASE_KERNEL_LANGUAGE_H

/* The language that a device's kernels are written in. */
enum kernel_language { KERNEL_HOST_C, KERNEL_OPENCL_C, KERNEL_CUDA_C };

/* What a launch takes for granted, and so which form of the kernel runs: the text of a kernel for a
 * GPU is compiled anew, with GAMUT_FORM defined as the form's number, for each form that is asked
 * for. A device on a CPU has but one, KERNEL_ANY. program/generate.h says what forms mean. */
enum kernel_form { KERNEL_ANY, KERNEL_NEAR, KERNEL_APART, KERNEL_FORMS };

#endif
