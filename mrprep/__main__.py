"""``python -m mrprep``."""

from mrprep.cli import main

if __name__ == "__main__":
    main()
