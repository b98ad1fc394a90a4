"""`python -m evals` is the same program as `compactor`."""

from evals.cli import main

if __name__ == "__main__":
    main()
