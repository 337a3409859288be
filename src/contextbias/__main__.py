"""`python -m contextbias` is `contextbias`."""

from contextbias.cli.main import main

if __name__ == "__main__":
    main()
