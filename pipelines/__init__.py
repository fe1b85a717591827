"""Runnable pipelines: options in, transforms of `beam_wordpiece` out."""

import os
import platform

# Where Arrow takes memory from, unless the environment says so: read when pyarrow is imported, so before that, and by
# workers that are started from here. Its own allocator holds more of it, in huge pages: a job over eight files of 34 MB
# held 335 MB at its peak and holds 275, and of 4 s of CPU time the system spent 0.55 on memory and spends 0.35.
if platform.libc_ver()[0] == "glibc":
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
# numpy, which Beam imports, starts a thread for each further processor, for products of matrices: there are none here,
# and it waits for work at full speed for 0.05 to 0.1 s, in every process.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
