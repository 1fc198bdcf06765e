"""From sources to what stands at OUT: the phases in order. The only room that knows every stage."""
