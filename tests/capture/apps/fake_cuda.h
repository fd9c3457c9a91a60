#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

/* How often the driver was asked for the bytes of an argument. */
unsigned fake_cuda_questions(void);
/* How many calls had a callback. */
unsigned fake_cuda_entered(void);

#endif
