"""The five published contracts, statement by statement, and where failwell differs from them on purpose."""
