#include "fuzz.h"
#include "timelines.h"

#include "et/et_file.h"
#include "events/tools/timeline_merge.h"
#include "gpu/kernel_figures.h"
#include "recording/operator_log.h"
#include "trace/reader/recording_reader.h"

#include <string.h>

/* An aligned copy of the exact size. */
static char *
copy_of(const uint8_t *data, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, data, size);
    return copy;
}

/* As a timeline and as an execution trace, whose readers open the file
 * themselves. */
static void
use_file(void)
{
    static const char *const outputs[] = {"out.json", "out.pftrace"};
    uint64_t faults;
    fd_status status = fuzz_events("damaged.fd", &faults);
    for (int i = 0; i < 2 && status == FD_OK; i++) {
        fd_timeline_input input = FILE_INPUT("damaged.fd", 0);
        fd_timeline_request request = {.output = outputs[i]};
        fd_status merged = fd_timeline_merge(&request, &input, 1, NULL);
        must(merged == FD_OK || merged == FD_EFORMAT);
    }
    fd_et et;
    status = fd_et_from_recording(&et, "damaged.fd", false, NULL);
    must(status == FD_OK || status == FD_EFORMAT || status == FD_EVERSION);
    if (status == FD_OK && fd_et_complete(&et, FD_ET_ALL_KINDS) == FD_OK) {
        fuzz_use_et(&et);
    }
    fd_et_clear(&et);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_trace *trace = NULL;
    fd_error error;
    char *copy = copy_of(data, size);
    if (fd_reader_read_memory(&trace, copy, size, true, &error) == FD_OK) {
        fuzz_use(trace);
        must(fixture_write("damaged.fd", data, size) == FD_OK);
        use_file();
    }
    fd_trace_free(trace);
    free(copy);
    return 0;
}

/* An operator from a tensor of one float to itself. */
static fd_status
operate(fixture *f, const char *schema)
{
    const uint64_t words[] = {
        FD_OPERAND_TENSOR | 6 << 8 | UINT64_C(0xff) << 24, 0x100, 0x108, 0, 1};
    fd_op_call call = {
        .start = check_clock_now(),
        .id = 7,
        .torch_thread = 1,
        .schema =
            fd_strings_add(&f->recording->strings, schema, strlen(schema)),
    };
    fd_status status = FD_OK;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 5 && status == FD_OK; i++) {
            status = fd_vector_push(&f->main->ops.words, words[i]);
        }
        if (side == 0) {
            fd_op_calls_begin(f->main, &call, schema, 1);
        }
        else {
            fd_op_calls_end(f->main, schema, check_clock_now());
        }
    }
    fd_recording_schema(f->recording, schema,
                        "aten::mm.out(Tensor self) -> "
                        "Tensor");
    return status;
}

/* Add kernels, copies and fills, in the timeline, too. */
static void
add_kernels(fixture *f)
{
    static const int kinds[] = {FD_CUPTI_KERNEL, FD_CUPTI_COPY, FD_CUPTI_FILL};
    fd_kernel_figures figures;
    fd_kernel_figures_init(&figures, f->recording);
    for (uint32_t i = 0; i < 6; i++) {
        fd_kernel_sample sample = {
            .record = {.kind = kinds[i % 3],
                       .name = "gemm",
                       .stream = i,
                       .correlation = i + 1,
                       .bytes = 64,
                       .start = figures.anchor.realtime_ns + 1000 * i,
                       .end = figures.anchor.realtime_ns + 1000 * i + 500},
            .launcher = {.context = fd_tree_id(f->main, f->main->current),
                         .function = fd_launch_function(FD_CUDA_DRIVER, 307)},
            .launched = fd_clock_ticks(),
        };
        fd_kernel_figures_add(&figures, &sample);
    }
    fd_kernel_figures_clear(&figures);
}

fd_status
fuzz_seed(fd_buffer *to)
{
    fixture f;
    fd_timeline timeline = {.on = true, .max_bytes = 1 << 20};
    fd_status status = fixture_open_timeline(&f, &timeline);
    fd_then(status, fixture_train(&f, 0));
    fd_then(status, operate(&f, "aten::mm.out"));
    if (status == FD_OK) {
        add_kernels(&f);
        fixture_stop(&f);
        fd_buffer_bytes(to, f.recording->file.base, fixture_bytes(&f));
        status = to->status;
    }
    fixture_clear(&f);
    return status;
}
