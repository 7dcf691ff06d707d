/* The files of a recording in its folder.
 *
 *   rank00000.fd            a recording
 *   rank00000.fd.previous   the one before it
 *
 * A new recording appears under its name atomically, with its header and its
 * lock. An existing recording with that name becomes the previous one, unless
 * it has no calls and the previous one has some. The previous recording is
 * removed when the new one has ended and contains a call. Files other than
 * recordings are never moved or removed. */
#ifndef FD_RECORDING_NAMES_H
#define FD_RECORDING_NAMES_H

#include "base/folder.h"
#include "base/lock.h"
#include "recording/recording_format.h"

#include <stdbool.h>

typedef enum fd_writer {
    FD_WRITER_GONE, /* the writer has finished, or was killed */
    FD_WRITER_LIVES,
    FD_WRITER_UNKNOWN, /* it has not finished, and there are no locks to tell
                          more */
    FD_WRITER_NONE     /* there is no file */
} fd_writer;

/* Return the state of the writer of an open recording. Queries the lock, then
 * reads the header, which is 0 past the end of the file. */
fd_writer fd_writer_of(int fd, fd_header *header);

/* Get the state of the writer of the recording with this name. Return
 * FD_EFORMAT if the entry is not a recording. */
fd_status fd_recording_lookup(const fd_folder *folder, const char *name,
                              fd_writer *writer, fd_error *error);

/* Rename a finished temporary file to `name`. Return FD_ECONFLICT if another
 * process records there or may do so, FD_EFORMAT if the existing entry is not
 * a recording. */
fd_status fd_recording_publish(const fd_folder *folder, const char *temporary,
                               const char *name, fd_error *error);

/* Remove the previous recording if the one with this name, which has ended,
 * contains a call. */
void fd_recording_drop_previous(const fd_folder *folder, const char *name);

/* Move a finished recording, possibly to another folder or
 * file system. */
fd_status fd_recording_move(const fd_folder *from, const char *name,
                            const fd_folder *to, const char *target,
                            fd_error *error);

/* Return whether an open recording, which may be damaged, contains at least
 * one call. Return true if the file cannot be read, because then it must not
 * be removed. */
bool fd_has_call(int fd);

#endif
