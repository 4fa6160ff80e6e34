"""One page on loopback that shows which tools fail, whether agents recover, and the whole story of each failure."""
