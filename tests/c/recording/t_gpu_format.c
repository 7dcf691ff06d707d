#include "check.h"

#include "recording/gpu_format.h"

TEST(names_functions)
{
    SAME(fd_launch_name(fd_launch_function(FD_CUDA_DRIVER, 307)),
         "cuLaunchKernel");
    SAME(fd_launch_name(fd_launch_function(FD_CUDA_RUNTIME, 225)),
         "cudaMemcpyAsync");
    CHECK(fd_launch_name(0) == NULL);
    CHECK(fd_launch_name(fd_launch_function(FD_CUDA_RUNTIME, 307)) == NULL);
}

/* No function is there twice. */
TEST(functions_are_unique)
{
    for (size_t i = 0; fd_launch_function_at(i) != 0; i++) {
        for (size_t j = 0; j < i; j++) {
            CHECK(fd_launch_function_at(i) != fd_launch_function_at(j));
        }
    }
}
