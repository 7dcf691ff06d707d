"""The tests on other Pythons and PyTorches than the default one, in environments made of Debian's packages."""
