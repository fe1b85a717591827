"""Documents whose chunks are scattered: over files, out of order, duplicated, lost. `transforms.py` has the PTransform.

Chunks are brought in order in one of two ways: `groups.py` has all of a document's, by way of a `spool.py`; `states.py`
takes them as they come, with Beam's state, in which `progress.py` keeps what it knows of a document.
"""
