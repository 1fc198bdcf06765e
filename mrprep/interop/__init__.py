"""At home elsewhere: mrprep as a library, builds for other programs, and shards of others into builds."""
