"""Where shards begin, and the tokens that go into one: arrays in, arrays out."""
