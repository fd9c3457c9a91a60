#pragma once

#include <cuda.h>
#include <stddef.h>

/* How often the driver was asked for the bytes of an argument. */
unsigned fake_cuda_questions(void);
/* How many calls had a callback. */
unsigned fake_cuda_entered(void);
/* A command that ends the process unless all these bytes have this value when it is carried out. */
void fake_check(CUstream stream, CUdeviceptr address, size_t bytes, unsigned char value);
/* Bytes of a device's memory that are taken. */
size_t fake_held(int device);
/* A context of the device that is not its primary one. */
CUcontext fake_other_context(int device);
/* What the driver finds when it looks behind itself. */
void *fake_next(const char *name);
/* A function that takes memory, of a later driver. */
CUresult cuMemAllocBeyond(CUdeviceptr *address, size_t bytes);
