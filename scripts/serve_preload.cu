// A program of the CUDA runtime that knows nothing of gamut: allocations by cudaMalloc and in the order of streams, checked.
#include <cstdio>
__global__ void fill(int *to, int value, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) to[i] = value; }
__global__ void count(const int *from, int value, int n, int *wrong) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && from[i] != value) atomicAdd(wrong, 1); }
#define ASK(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorString(e)); return 1; } } while (0)
int main() {
    cudaStream_t streams[2]; int *wrong, host = 0;
    for (auto &s : streams) ASK(cudaStreamCreate(&s));
    ASK(cudaMalloc(&wrong, sizeof *wrong)); ASK(cudaMemset(wrong, 0, sizeof *wrong));
    for (int i = 0; i < 2000; i++) {
        int n = 1000 + i * 7919 % 300000, *a, *b; cudaStream_t s = streams[i % 2];
        ASK(cudaMallocAsync(&a, n * sizeof *a, s));
        fill<<<(n + 255) / 256, 256, 0, s>>>(a, i, n); count<<<(n + 255) / 256, 256, 0, s>>>(a, i, n, wrong);
        ASK(cudaFreeAsync(a, s));
        if (i % 10 == 0) { ASK(cudaMalloc(&b, n * sizeof *b)); fill<<<(n + 255) / 256, 256>>>(b, -i, n); count<<<(n + 255) / 256, 256>>>(b, -i, n, wrong); ASK(cudaFree(b)); }
    }
    ASK(cudaDeviceSynchronize()); ASK(cudaMemcpy(&host, wrong, sizeof host, cudaMemcpyDeviceToHost));
    printf("%d wrong\n", host);
    return host != 0;
}
