/* One recording: the file and the tables in it, shared by all threads of the
 * process. The trees (context_tree.h) have the calls of each thread.
 *
 * Additions to a shared table take `lock` briefly; no Python code runs under
 * it and no other lock is acquired. The hot path takes no lock.
 */
#ifndef FD_RECORDING_H
#define FD_RECORDING_H

#include "recording/context_tree.h"

/* Return the limits that follow from max_mb. */
fd_limits fd_limits_of(size_t max_mb);

/* Start a recording under a name in a folder, or in memory if `name` is NULL.
 * An existing recording is kept as the previous one:
 * recording/recording_names.h. */
fd_status fd_recording_open_in(fd_recording **recording,
                               const fd_folder *folder, const char *name,
                               const fd_limits *limits, fd_error *error);

/* fd_recording_open_in with a path. */
fd_status fd_recording_open(fd_recording **recording, const char *path,
                            const fd_limits *limits, fd_error *error);

/* Set the timeline options, before the first thread is attached. The limit of
 * its size follows from the limits of the recording. */
void fd_recording_plan(fd_recording *recording, const fd_timeline *timeline);

/* Start or resume recording now; the file stores the time. */
void fd_recording_resume(fd_recording *recording);

/* Leave the open calls of all threads to the watch, until each of them starts
 * its clock again or follows calls. */
void fd_recording_watch(fd_recording *recording);

/* Pause recording now. With `settle`, every running thread is charged the time
 * up to now; no thread may write meanwhile. Without it, the time since the
 * last event of each thread is lost, as when the process is killed. */
void fd_recording_pause(fd_recording *recording, bool settle);

/* Stop recording for good; `settle` as above. fd_file_finish closes the
 * file. */
void fd_recording_stop(fd_recording *recording, bool settle);

/* Detach from the file: nothing more is written to it. For a forked child, and
 * before the next recording of this process replaces this one. */
void fd_recording_detach(fd_recording *recording);

/* Free the recording. No thread may hold a pointer into it. */
void fd_recording_free(fd_recording *recording);

#endif
