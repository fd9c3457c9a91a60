/* What the phases of CUDA's applications (record_nvtx.c) ask of its recorder. */
#pragma once

/* A phase has ended: with the option `times` the device's times up to here go into the file. */
void record_cuda_phase_ended(void);
