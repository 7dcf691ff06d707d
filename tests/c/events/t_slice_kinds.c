#include "check.h"
#include "spans.h"

#include "events/slice_kinds.h"

TEST(categories_of_torch)
{
    static const char *const profiled[] = {"cpu_op", "kernel", "gpu_memcpy",
                                           "cuda_runtime", "Runtime"};
    static const char *const others[] = {"", "op", "python", "gpu", "job"};
    for (size_t i = 0; i < sizeof profiled / sizeof *profiled; i++) {
        CHECK(fd_timeline_is_profiled(span(profiled[i])));
        CHECK(!fd_timeline_is_profiled(span(others[i])));
    }
}

TEST(kinds)
{
    static const struct {
        const char *cat;
        const char *name;
        uint32_t kind;
    } cases[] = {
        {"user_annotation", "ProfilerStep#12", FD_IS_STEP},
        {"gpu_user_annotation", "ProfilerStep#12", FD_IS_GPU_STEP},
        {"step", "step 12", FD_IS_STEP},
        {"Step", "step12", FD_IS_STEP},
        {"x.py", "step 12", 0},
        {"kernel", "gemm", FD_IS_KERNEL},
        {"kernel", "ncclDevKernel_AllReduce_Sum",
         FD_IS_KERNEL | FD_IS_COMMUNICATION | FD_IS_COLLECTIVE},
        {"kernel", "ncclKernel_SendRecv", FD_IS_KERNEL | FD_IS_COMMUNICATION},
        {"gpu_memcpy", "Memcpy HtoD", FD_IS_COPY},
        {"cuda_runtime", "cudaLaunchKernel", FD_IS_RUNTIME},
        {"cuda_driver", "cuLaunchKernel", FD_IS_RUNTIME},
        {"Runtime", "cudaLaunchKernel", FD_IS_RUNTIME},
        {"_runtime", "f", 0},
        {"cuda", "gemm", FD_IS_KERNEL},
        {"cuda", "ncclDevKernel_SendRecv", FD_IS_KERNEL | FD_IS_COMMUNICATION},
        {"cuda_api", "cudaLaunchKernel", FD_IS_RUNTIME},
        {"nvtx", "step", FD_IS_RANGE},
        {"nvtx-kernel", "step", FD_IS_AROUND},
        {"gpu_user_annotation", "nccl:all_reduce", FD_IS_AROUND},
        {"Trace", "PyTorch Profiler (0)", FD_IS_AROUND},
        {"phase", "phase: other", FD_IS_AROUND},
        {"phase", "other", 0},
        {"user_annotation", "gloo:all_reduce",
         FD_IS_COMMUNICATION | FD_IS_BACKEND | FD_IS_COLLECTIVE},
        {"cpu_op", "c10d::allreduce_",
         FD_IS_COMMUNICATION | FD_IS_CALL | FD_IS_COLLECTIVE},
        {"cpu_op", "c10d::send", FD_IS_COMMUNICATION | FD_IS_CALL},
        {"cpu_op", "aten::mm", FD_IS_OPERATOR},
        {"op", "aten::mm", FD_IS_OPERATOR},
        {"autograd", "MmBackward0", FD_IS_OPERATOR},
        {"forward", "forward_3", FD_IS_JOB},
        {"job", "anything mb4", FD_IS_JOB},
        {"job", "send_forward mb4", FD_IS_JOB | FD_IS_COMMUNICATION},
        {"range", "backward", FD_IS_JOB},
        {"user_annotation", "Optimizer.step#AdamW.step", FD_IS_OPTIMIZER},
        {"user_annotation", "batch 3", FD_IS_RANGE},
        {"user_annotation", "enumerate(DataLoader)#_S.__next__", 0},
        {"a.py", "backward", 0},
        {"a.py", "[GPT]:forward", 0},
        {"", "", 0},
        {"kernel", "triton_poi_fused_all_reduce_0", FD_IS_KERNEL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t step = 0;
        EQUAL(fd_timeline_kind_of(span(cases[i].cat), span(cases[i].name),
                                  (fd_span){NULL, NULL}, &step),
              cases[i].kind);
        if (cases[i].kind & (FD_IS_STEP | FD_IS_GPU_STEP)) {
            EQUAL(step, 12);
        }
    }
}

TEST(plain_names)
{
    static const char *const cases[][2] = {
        {"forward (12.3 ms)", "forward"},
        {"a b (1 s)", "a b"},
        {"f (ms)", "f (ms)"},
        {"(12.3 ms)", "(12.3 ms)"},
        {"f(12.3 ms)", "f(12.3 ms)"},
        {"f (3 us) x", "f (3 us) x"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(fd_span_is(fd_timeline_plain_name(span(cases[i][0])),
                         cases[i][1]));
    }
}

TEST(job_types)
{
    static const char *const cases[][2] = {
        {"forward_3", "forward"},
        {"forward mb12", "forward"},
        {"forward #3", "forward"},
        {"forward#3", "forward"},
        {"forward 3", "forward"},
        {"send_forward", "send_forward"},
        {"_3", "_3"},
        {"v2", "v2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(
            fd_span_is(fd_timeline_job_type(span(cases[i][0])), cases[i][1]));
    }
}

TEST(known_steps)
{
    static const struct {
        const char *cat;
        const char *name;
        int64_t step; /* -1: not a step */
    } cases[] = {
        {"", "ProfilerStep#12", 12}, {"", "ProfilerStep#12 (2 us)", 12},
        {"step", "step 7", 7},       {"step", "step 7 (2 us)", 7},
        {"op", "step 7", -1},        {"", "ProfilerStep#*", -1},
        {"", "ProfilerStep#1x", -1}, {"", "", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t number = 0;
        fd_span name = fd_timeline_plain_name(span(cases[i].name));
        uint32_t kind =
            fd_timeline_kind_of(span(cases[i].cat), name, span("{}"), &number);
        bool is_step = (kind & (FD_IS_STEP | FD_IS_GPU_STEP)) != 0;
        EQUAL(is_step ? (int64_t)number : -1, cases[i].step);
    }
}

/* Kernels that communicate by their name, by an argument, or without a
 * category. */
TEST(communication_of_other_programs)
{
    static const struct {
        const char *cat;
        const char *name;
        const char *args;
        uint32_t kind;
    } cases[] = {
        {"kernel", "strange", "{\"Collective name\":\"allreduce\"}",
         FD_IS_KERNEL | FD_IS_COMMUNICATION | FD_IS_COLLECTIVE},
        {"kernel", "oneccl_allreduce_small<float>", "{}",
         FD_IS_KERNEL | FD_IS_COMMUNICATION | FD_IS_COLLECTIVE},
        {"kernel", "void vllm::cross_device_reduce_1stage<bf16>", "{}",
         FD_IS_KERNEL | FD_IS_COMMUNICATION | FD_IS_COLLECTIVE},
        {"kernel", "two_shot_AllReduce", "{}",
         FD_IS_KERNEL | FD_IS_COMMUNICATION | FD_IS_COLLECTIVE},
        {"", "all-reduce-start.1", "{}",
         FD_IS_COMMUNICATION | FD_IS_BACKEND | FD_IS_COLLECTIVE},
        {"", "hcom_allReduce__558_0", "{}",
         FD_IS_KERNEL | FD_IS_COMMUNICATION | FD_IS_COLLECTIVE},
        {"", "MatMulV2", "{\"Task Type\":\"AI_CORE\"}", FD_IS_KERNEL},
        {"", "MEMCPY", "{\"Task Type\":\"MEMCPY_ASYNC\"}", FD_IS_COPY},
        {"", "EVENT", "{\"Task Type\":\"EVENT_WAIT\"}", 0},
        {"", "fusion.1", "{}", 0},
        {"", "train", "{\"step_num\":\"3\"}", FD_IS_RANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t step;
        EQUAL(fd_timeline_kind_of(span(cases[i].cat), span(cases[i].name),
                                  span(cases[i].args), &step),
              cases[i].kind);
    }
}
