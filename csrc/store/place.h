/* The place of a recording: a name in a folder, with the side file that has
 * `.events` behind it, and the recording that was there before.
 *
 *   rank00000.fd            a recording         rank00000.fd.events
 *   rank00000.fd.previous   the one before it   rank00000.fd.previous.events
 *
 * A new recording appears under its name whole, with a header and with its
 * lock; the one that had the name becomes the previous one, unless that has a
 * call and it has none. The previous one goes when the new one has ended and
 * has recorded a call. Only recordings are ever moved or removed. */
#ifndef FD_PLACE_H
#define FD_PLACE_H

#include "base/folder.h"
#include "base/lock.h"
#include "store/format.h"

#define FD_PREVIOUS_SUFFIX ".previous"

typedef enum fd_writer {
    FD_WRITER_GONE,    /* it has finished, or was killed */
    FD_WRITER_LIVES,
    FD_WRITER_UNKNOWN, /* it has not finished, and nothing more can be seen */
    FD_WRITER_NONE     /* there is no file */
} fd_writer;

/* Of an open recording: first the lock, then the header, which is filled in
 * as far as the file goes. */
fd_writer fd_writer_of(int fd, fd_header *header);

/* Of the recording at a name. FD_EFORMAT: what is there is none. */
fd_status fd_place_look(const fd_folder *folder, const char *name,
                        fd_writer *writer, fd_error *error);

/* Give a finished temporary file the name. FD_ECONFLICT while another process
 * records there, or may do so; FD_EFORMAT where something else is. `magic` is
 * that of a recording, or of a side file, which has no previous one. */
fd_status fd_place_take(const fd_folder *folder, const char *temporary,
                        const char *name, const char *magic, fd_error *error);

/* Undo that: `name` goes, the previous recording gets its name back. */
void fd_place_leave(const fd_folder *folder, const char *name);

/* The recording at this name is final: if it has a call the previous one
 * goes. */
void fd_place_settle(const fd_folder *folder, const char *name);

/* Give a finished recording and its side file another place, which may be in
 * another folder and on another file system. */
fd_status fd_place_move(const fd_folder *from, const char *name,
                        const fd_folder *to, const char *target,
                        fd_error *error);

#endif
