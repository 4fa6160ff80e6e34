"""`python -m failwell`: the command line."""

from failwell.cli import main

if __name__ == "__main__":
    main()
