/* The place of a recording: a name in a folder, with the side file that has
 * `.events` behind it, and the previous recording.
 *
 *   rank00000.fd            a recording         rank00000.fd.events
 *   rank00000.fd.previous   the one before it   rank00000.fd.previous.events
 *
 * A new recording appears under its name as a whole, with its header and its
 * lock. The recording that had the name becomes the previous one, unless it
 * has no call and the previous one has some. The previous recording is removed
 * when the new one has ended and has recorded a call. Only recordings are ever
 * moved or removed. */
#ifndef FD_RECORDING_PLACE_H
#define FD_RECORDING_PLACE_H

#include "base/folder.h"
#include "base/lock.h"
#include "recording/recording_format.h"

#include <stdbool.h>

#define FD_PREVIOUS_SUFFIX ".previous"

typedef enum fd_writer {
    FD_WRITER_GONE, /* it has finished, or was killed */
    FD_WRITER_LIVES,
    FD_WRITER_UNKNOWN, /* it has not finished; nothing else is known without
                          locks */
    FD_WRITER_NONE     /* there is no file */
} fd_writer;

/* The writer of an open recording. Queries the lock, then reads the header,
 * which is 0 past the end of the file. */
fd_writer fd_writer_of(int fd, fd_header *header);

/* The writer of the recording at a name. FD_EFORMAT if the entry is not a
 * recording. */
fd_status fd_place_look(const fd_folder *folder, const char *name,
                        fd_writer *writer, fd_error *error);

/* Give a finished temporary file the name. FD_ECONFLICT if another process
 * records there, or may do so; FD_EFORMAT if the entry is not a recording.
 * `magic` is that of a recording, or of a side file, which has no previous
 * one. */
fd_status fd_place_take(const fd_folder *folder, const char *temporary,
                        const char *name, const char *magic, fd_error *error);

/* Undo that: remove the recording and restore the previous one. */
void fd_place_leave(const fd_folder *folder, const char *name);

/* The recording at this name has ended: remove the previous one if it has a
 * call. */
void fd_place_settle(const fd_folder *folder, const char *name);

/* Move a finished recording and its side file, also to another folder and to
 * another file system. */
fd_status fd_place_move(const fd_folder *from, const char *name,
                        const fd_folder *to, const char *target,
                        fd_error *error);

/* Whether anything was recorded: one call in a file is enough. */

/* For an open recording, which may be damaged. True if the file cannot be
 * read: then it must not be removed. */
bool fd_has_call(int fd);

#endif
