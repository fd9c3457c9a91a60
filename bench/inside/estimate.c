/* PyTorch's autograd asks which accelerator there is, and then for the streams of its devices. A
 * build for CUDA on a machine without a GPU says CUDA, finds no device, and fails. gamut.estimate
 * loads this library before PyTorch. Then there is no accelerator, and the backward pass of fake
 * tensors runs in the thread that asks for it, as that of the CPU does. */
#include <stdbool.h>
#include <stdint.h>

#define EXPORTED(name) __asm__(name) __attribute__((visibility("default")))

/* at::accelerator::isAccelerator(c10::DeviceType) */
bool gamut_is_accelerator(int8_t device)
    EXPORTED("_ZN2at11accelerator13isAcceleratorEN3c1010DeviceTypeE");
/* at::accelerator::getAccelerator(bool). Its std::optional of one byte comes back in a register:
 * the second byte says whether there is one. */
uint16_t gamut_accelerator(bool checked) EXPORTED("_ZN2at11accelerator14getAcceleratorEb");

bool gamut_is_accelerator(int8_t device)
{
    return false;
}

uint16_t gamut_accelerator(bool checked)
{
    return 0;
}
