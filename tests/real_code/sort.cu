#include <cub/cub.cuh>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
extern "C" __global__ void sorted(int *data, int count) { thrust::sort(thrust::seq, data, data + count); }
extern "C" __global__ void scan(int *out, const int *in) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage storage;
  Scan(storage).InclusiveSum(in[threadIdx.x], out[threadIdx.x]);
}
