"""The stages of a pipeline, one file each: Options, VERSION, and how the work of the rooms is put together."""
