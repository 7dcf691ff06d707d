/* One recording: the file and the tables in it, shared by all threads of the
 * process. The trees (context_tree.h) have the calls of each thread.
 *
 * Everything that adds to a shared table takes `lock` for a moment; under it
 * no Python runs and nothing waits for another lock. The hot path takes none.
 */
#ifndef FD_RECORDING_H
#define FD_RECORDING_H

#include "recording/context_tree.h"

/* The bounds that follow from max_mb. */
fd_limits fd_limits_of(size_t max_mb);

/* Start a recording under a name in a folder, or in memory when `name` is
 * NULL. The recording that was there before is kept:
 * recording/recording_place.h. */
fd_status fd_recording_open_in(fd_recording **recording,
                               const fd_folder *folder, const char *name,
                               const fd_limits *limits, fd_error *error);

/* The same by a path. */
fd_status fd_recording_open(fd_recording **recording, const char *path,
                            const fd_limits *limits, fd_error *error);

/* Set the timeline options, before the first thread is attached. Its share of
 * the file follows from the limits; a recording in memory has no side file.
 * After a failure the recording has no file: free it. */
fd_status fd_recording_plan(fd_recording *recording,
                            const fd_timeline *timeline, fd_error *error);

/* Start or resume recording at this instant; stored in the file. */
void fd_recording_resume(fd_recording *recording);

/* Stop recording at this instant. With `settle`, the time of every running
 * thread is charged up to it: no thread may write meanwhile. Without, the time
 * since the last event of each thread is lost, as when the process is killed.
 * */
void fd_recording_pause(fd_recording *recording, bool settle);

/* The same, finally. fd_file_finish closes the file. */
void fd_recording_stop(fd_recording *recording, bool settle);

/* Detach from the file: nothing is written to it any more. For a forked child
 * and before the next recording of this process replaces this one. */
void fd_recording_detach(fd_recording *recording);

/* Free everything; no thread may hold a pointer into it. */
void fd_recording_free(fd_recording *recording);

#endif
