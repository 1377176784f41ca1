#include <nvshmem.h>
extern "C" __global__ void ring(int *data) {
  int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  nvshmem_int_p(data, me, (me + 1) % all);
}
