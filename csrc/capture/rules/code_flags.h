/* The bits of fd_code.special: why calls of a code object are special. */
#ifndef FD_CODE_FLAGS_H
#define FD_CODE_FLAGS_H

/* Anything that excludes a call from the shortest path. */
enum {
    FD_CODE_GENERATOR = 1, /* calls and resumes have separate counts */
    FD_CODE_RECEIVER = 2,  /* any receiver except NONE and LOCAL */
    FD_CODE_FORWARD = 4,   /* a method `forward`, perhaps of an nn.Module */
    FD_CODE_PLUMBING = 8,  /* of fastdispatch or PyTorch; never a node */
    FD_CODE_BODY = 16,     /* body of a module; recorded if it is the user's */
    FD_CODE_CHANGES = 32,  /* its end may call on_change */
    FD_CODE_OPTIMIZER = 64, /* Optimizer.step: its end may end a step */
    FD_CODE_ENGINE = 128,   /* train_batch of an engine: its end may end a
                               step */
    FD_CODE_ENTERS = 256,   /* __enter__, __aenter__: see
                               recording/open_entries.h */
    FD_CODE_MUTED = 512,    /* not recorded, nor are its callees */
    FD_CODE_NVTX = 1024,    /* see ranges.h */
    FD_CODE_JOB = 2048,     /* job of an engine: see job_rules.h */
    FD_CODE_WAITS = 4096, /* in torch.distributed; may wait for a collective */
    FD_CODE_SCALER = 8192,    /* GradScaler.step(optimizer), with OPTIMIZER */
    FD_CODE_BACKWARD = 16384, /* a backward pass: see step_calls.h */
    FD_CODE_STEP = 32768,     /* the user's function: its end ends a step; with
                                 SCALER, that of torch.profiler */
    FD_CODE_EVENTS = FD_CODE_CHANGES | FD_CODE_OPTIMIZER | FD_CODE_ENGINE
                   | FD_CODE_WAITS | FD_CODE_BACKWARD | FD_CODE_STEP,
    /* only for calls that are recorded */
    FD_CODE_LOOKED_UP = FD_CODE_GENERATOR | FD_CODE_RECEIVER | FD_CODE_FORWARD
                      | FD_CODE_BODY | FD_CODE_ENTERS | FD_CODE_NVTX
                      | FD_CODE_JOB
};

#endif
