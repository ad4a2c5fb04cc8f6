"""`python -m nmdp_pin` is `nmdp-pin`."""

from nmdp_pin._cli import main

if __name__ == "__main__":
    main()
