#include "et/tools/link_files.h"

#include "et/et_file.h"
#include "et/process_group_table.h"

fd_status
fd_et_link_files(fd_et *et, const char *path, const char *kineto,
                 fd_et_link_options options, fd_et_link *link, fd_kineto *read,
                 fd_error *error)
{
    fd_et_format format;
    fd_et_identity identity = {.rank = -1};
    *read = (fd_kineto){.events = 0};
    fd_status status = fd_et_read(et, path, &format, error);
    if (status == FD_OK && format != FD_ET_PYTORCH) {
        status = fd_fail(error, FD_EINVAL,
                         "%s: a %s: give PyTorch's execution trace to link",
                         path, fd_et_format_name(format));
    }
    if (status == FD_OK) {
        status = fd_et_find_groups(et);
    }
    if (status == FD_OK) {
        status = fd_et_identity_of(&identity, et);
    }
    if (status == FD_OK) {
        status = fd_kineto_read(read, et, kineto, error);
    }
    fd_et_identity other = fd_et_identity_of_kineto(read);
    if (status == FD_OK && !options.forced) {
        status = fd_et_compare_identity(&identity, &other, kineto, error);
    }
    if (status == FD_OK) {
        status = fd_et_link_kineto(et, read, link);
        link->compared = (identity.pid != 0 && other.pid != 0)
                      || (identity.rank >= 0 && other.rank >= 0);
    }
    fd_et_identity_clear(&identity);
    return status == FD_OK ? fd_et_complete(et, options.kinds) : status;
}

fd_status
fd_et_read_identity(const char *path, fd_et_identity *identity,
                    fd_error *error)
{
    fd_et et;
    fd_kineto kineto = {.events = 0};
    fd_et_format format;
    *identity = (fd_et_identity){.rank = -1};
    fd_status status = fd_et_read(&et, path, &format, error);
    if (status == FD_OK && format == FD_ET_KINETO) {
        fd_et_clear(&et);
        status = fd_kineto_read(&kineto, &et, path, error);
        *identity = fd_et_identity_of_kineto(&kineto);
    }
    else if (status == FD_OK) {
        status = fd_et_find_groups(&et);
        if (status == FD_OK) {
            status = fd_et_identity_of(identity, &et);
        }
    }
    fd_kineto_clear(&kineto);
    fd_et_clear(&et);
    return status;
}
