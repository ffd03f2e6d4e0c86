"""``python -m tenon.driver.tvmc``: the command."""

from .main import main

if __name__ == "__main__":
    main()
