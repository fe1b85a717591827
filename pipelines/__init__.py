"""Runnable pipelines: options in, transforms of `beam_wordpiece` out."""
