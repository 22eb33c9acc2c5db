"""`python -m loopspec`: the same as the command `loopspec`."""

from loopspec.cli import main

if __name__ == "__main__":
    main()
