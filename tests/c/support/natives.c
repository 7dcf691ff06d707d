#include "natives.h"

fd_status
native_merge(const char *from, const char *to, fd_timeline_input *input)
{
    fd_timeline_request request = {.output = to, .align = FD_ALIGN_NONE};
    *input = (fd_timeline_input){.path = from};
    return fd_timeline_merge(&request, input, 1, NULL);
}

fd_status
native_round(const char *text, bool copy, fd_timeline_input *input,
             fd_buffer *back)
{
    fd_timeline_input unused;
    const char *from = "native.pftrace";
    fd_status status = fixture_write_text("in.json", text);
    status = status == FD_OK ? native_merge("in.json", from, input) : status;
    if (status == FD_OK && copy) {
        status = native_merge(from, "again.pftrace", &unused);
        from = "again.pftrace";
    }
    status =
        status == FD_OK ? native_merge(from, "out.json", &unused) : status;
    status = status == FD_OK ? fixture_read("out.json", back) : status;
    fd_buffer_bytes(back, "", 1);
    return status == FD_OK ? back->status : status;
}

uint64_t
native_number(const fd_proto_field *message, uint32_t field)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (fd_proto_next(&r, &f)) {
        if (f.number == field) {
            return f.value;
        }
    }
    return 0;
}
